# SPDX-License-Identifier: Apache-2.0
"""What the cases of compare_with_torch.py are made of: inputs that can be drawn again, places that
kernels write to, and the comparison, bit by bit on the GPU."""

import dataclasses
import typing

import torch

import nvfp4_definition
import torch_oracles as oracles

DEVICE = torch.device("cuda")
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
FP8 = tuple(oracles.FORMATS)
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
UNTOUCHED = 0x4D


def bits_of(tensor):
    return tensor.view(BITS[tensor.element_size()])


class Inputs:
    """Seeded inputs of one case. refill() draws new values into the same memory."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.fills = []

    def refill(self):
        for tensor, draw in self.fills:
            tensor.copy_(draw())

    def drawn(self, draw):
        tensor = draw()
        self.fills.append((tensor, draw))
        return tensor

    def random(self, shape):
        return torch.randn(shape, generator=self.generator, device=DEVICE)

    def normal(self, shape, dtype, spread=1.0, center=0.0):
        return self.drawn(lambda: (self.random(shape) * spread + center).to(dtype))

    def rows(self, shape, dtype):
        """Rows [..., rows, columns], each with a magnitude and a mean of its own."""

        def draw():
            per_row = (*shape[:-1], 1)
            exponent = torch.randint(-6, 5, per_row, generator=self.generator, device=DEVICE)
            values = self.random(shape) + 2 * self.random(per_row)
            return (values * torch.exp2(exponent.float())).to(dtype)

        return self.drawn(draw)

    def special_rows(self, shape, dtype):
        """Rows that leave the ordinary: constants, outliers, infinities, NaN, the smallest and the
        largest values. In turn, so that 16 rows have all."""

        def draw():
            values = self.random(shape)
            largest = torch.finfo(dtype).max
            values[..., 0::16, :] = 0.0
            values[..., 1::16, :] = -3.0
            values[..., 2::16, -1] = 3e4
            values[..., 3::16, 0] = float("inf")
            values[..., 4::16, 1] = -float("inf")
            values[..., 5::16, 2] = float("nan")
            values[..., 6::16, :] *= 1e-7
            values[..., 7::16, :] *= 6e4
            values[..., 8::16, 0::2] = largest
            values[..., 8::16, 1::2] = -largest
            values[..., 9::16, :] = largest
            values[..., 10::16, :] = values[..., 10::16, :] * 1e-3 + 100.0
            return values.to(dtype)

        return self.drawn(draw)

    def all_bits(self, shape, dtype, ordinary_columns=0):
        """Every bit pattern of a 16-bit type, in another order for every draw; but in the last
        `ordinary_columns` of every second row."""

        def draw():
            count = torch.Size(shape).numel()
            order = torch.randperm(1 << 16, generator=self.generator, device=DEVICE)
            repeated = order.repeat(-(-count // (1 << 16)))[:count]
            values = repeated.to(torch.int16).view(dtype).reshape(shape)
            if ordinary_columns:
                ordinary = values[..., 0::2, -ordinary_columns:]
                ordinary.copy_(self.random(ordinary.shape).to(dtype))
            return values

        return self.drawn(draw)

    def angles(self, shape):
        """cos and sin; the first token is at position 0, whose angles are 0."""
        angle = self.random(shape) * 100.0
        angle[0] = 0.0
        cos, sin = torch.cos(angle), torch.sin(angle)
        return cos, sin

    def scale(self, bits):
        """fp32 [1]; drawn again it is another one."""
        first = torch.tensor([bits], dtype=torch.int64, device=DEVICE).to(torch.int32)
        values = iter([first.view(torch.float32)])
        return self.drawn(lambda: next(values, first.view(torch.float32) * 1.37))


class Output:
    """Where a kernel writes: a view of a larger buffer, of which the rest must stay as it is."""

    def __init__(self, whole, view):
        self.whole, self.view = whole, view
        self.before = None

    def remember(self):
        self.before = bits_of(self.whole).clone()

    def compare(self, name, expected):
        """Raises where it cannot be compared."""
        actual = bits_of(self.view)
        if expected.shape != actual.shape or expected.element_size() != actual.element_size():
            raise ValueError(f"{name}: {tuple(actual.shape)} of {self.view.dtype}; the oracle has "
                             f"{tuple(expected.shape)} of {expected.dtype}")
        expected = bits_of(expected)
        place = self.before.as_strided(actual.shape, actual.stride(), actual.storage_offset())
        place.copy_(expected)
        differs = actual != expected
        mismatches = int(differs.sum())
        # All that differs, less what differs in the place itself, was not to be written.
        outside = int((bits_of(self.whole) != self.before).sum()) - mismatches
        self.before = None
        text = ""
        if mismatches:
            flat = int(differs.flatten().to(torch.uint8).argmax())
            index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), actual.shape))
            digits = 2 * actual.element_size()
            mask = (1 << 4 * digits) - 1
            text = (f"first at {list(index)}: {int(actual[index]) & mask:0{digits}X}, "
                    f"expected {int(expected[index]) & mask:0{digits}X}")
        if outside:
            text += f"{'; ' if text else ''}{outside} elements outside were written"
        return Comparison(name, expected.numel(), mismatches + outside, text)


@dataclasses.dataclass(frozen=True)
class Comparison:
    output: str
    elements: int
    mismatches: int
    text: str


@dataclasses.dataclass
class Prepared:
    """A case with its memory. `expected` computes from the inputs as they are when it is called."""

    arguments: dict
    outputs: dict
    expected: typing.Callable[[], dict]


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    template: typing.Any
    parameters: dict
    prepare: typing.Callable[[Inputs], Prepared]
    replay: bool = False  # once more, by a CUDA graph and with other inputs

    @property
    def spec(self):
        return self.template.spec(self.parameters)


@dataclasses.dataclass(frozen=True)
class Layout:
    """[batches, rows, columns] in a larger tensor: `rows_before` and `rows_after` make it a slice
    of a joint buffer, `columns_before` and `columns_after` one of a merged projection."""

    batches: int
    rows: int
    columns: int
    rows_before: int = 0
    rows_after: int = 0
    columns_before: int = 0
    columns_after: int = 0

    @property
    def row_stride(self):
        return self.columns_before + self.columns + self.columns_after

    @property
    def whole(self):
        return (self.batches, self.rows_before + self.rows + self.rows_after, self.row_stride)

    @property
    def numbers(self):
        """All that must be a multiple of the elements of one access: offset and strides."""
        offset = self.rows_before * self.row_stride + self.columns_before
        return (offset, self.row_stride, self.whole[1] * self.row_stride)

    def view(self, whole):
        return whole[:, self.rows_before:self.rows_before + self.rows,
                     self.columns_before:self.columns_before + self.columns]

    def output(self, dtype):
        whole = torch.empty(self.whole, dtype=dtype, device=DEVICE)
        whole.view(torch.uint8).fill_(UNTOUCHED)
        return Output(whole, self.view(whole))


def strides_of(name, tensor):
    return {f"{name}_row_stride": tensor.stride(-2), f"{name}_batch_stride": tensor.stride(0)}


def has_fp8(out):
    return not set(out).isdisjoint(FP8)


def row_scales(inputs, out, scale_bits):
    scales = {}
    if has_fp8(out):
        scales["input_scale"] = inputs.scale(scale_bits)
    if "nvfp4" in out:
        scales["input_global_scale"] = inputs.scale(oracles.float_bits(37.5))
    return scales


def row_outputs(out, dtype, layout):
    """Places for what `out` asks for of rows in that layout, by argument name."""
    outputs = {}
    if dtype in out:
        outputs["out"] = layout.output(DTYPES[dtype])
    outputs |= {f"out_{name}": layout.output(oracles.FORMATS[name][0]) for name in FP8
                if name in out}
    if "nvfp4" in out:
        half = dataclasses.replace(layout, columns=layout.columns // 2,
                                   columns_before=layout.columns_before // 2,
                                   columns_after=layout.columns_after // 2)
        outputs["out_nvfp4"] = half.output(torch.uint8)
        tiles = (-(-layout.batches * layout.rows // 128), -(-layout.columns // 64), 512)
        scales = torch.full(tiles, UNTOUCHED, dtype=torch.uint8, device=DEVICE)
        outputs["out_nvfp4_scales"] = Output(scales, scales)
    return outputs


def expected_rows(out, dtype, rows, scales, reciprocal):
    """What must be in those places."""
    expected = {"out": rows} if dtype in out else {}
    expected |= {f"out_{name}": oracles.quantize(rows, scales["input_scale"], name, reciprocal)
                 for name in FP8 if name in out}
    if "nvfp4" in out:
        expected["out_nvfp4"], expected["out_nvfp4_scales"] = nvfp4_definition.quantize(
            rows, scales["input_global_scale"])
    return expected
