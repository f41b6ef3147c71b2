# SPDX-License-Identifier: Apache-2.0
"""Cases of the templates that put columns side by side: token_cat, swiglu_token_cat,
gelu_tanh_token_cat, and static_quant, which has only one side."""

import dataclasses

import torch

import torch_oracles as oracles
from comparison import (DEVICE, DTYPES, FP8, Case, Layout, Prepared, expected_rows, has_fp8,
                        row_outputs, row_scales, strides_of)

SOURCES = {"token_cat": "mlp", "swiglu_token_cat": "gate_up", "gelu_tanh_token_cat": "mlp",
           "static_quant": "x"}


@dataclasses.dataclass(frozen=True)
class Cat:
    """One case. `projection`: columns before the MLP's in a merged projection, of which they are a
    view. `all_bits`: the MLP's inputs are all bit patterns there are."""

    template: str
    batches: int
    rows: int
    attention: int
    mlp: int
    dtype: str = "bf16"
    out: tuple = ("e4m3",)
    reciprocal: str = "rcp_rn"
    bias: bool = False
    projection: int = 0
    slices: bool = False
    offset: int = 0
    all_bits: bool = False
    telling: bool = False
    scale_bits: int = 0x3F5D37A7
    replay: bool = False

    @property
    def name(self):
        words = [self.template, f"{self.batches}x{self.rows}x({self.attention}+{self.mlp})",
                 self.dtype, "out=" + "+".join(self.out)]
        if has_fp8(self.out):
            words.append(f"{self.reciprocal} s{self.scale_bits:08x}")
        words += [word for word in ("bias", "slices", "all_bits", "telling", "replay")
                  if getattr(self, word)]
        words += [f"{word}={getattr(self, word)}" for word in ("projection", "offset")
                  if getattr(self, word)]
        return " ".join(words)

    def layout(self, columns, before=0):
        rows = (3, 2) if self.slices else (0, 0)
        return Layout(self.batches, self.rows, columns, *rows, before + self.offset)

    @property
    def source_columns(self):
        return 2 * self.mlp if self.template == "swiglu_token_cat" else self.mlp

    @property
    def layouts(self):
        return {"attention": self.layout(self.attention),
                "source": self.layout(self.source_columns, self.projection),
                "out": self.layout(self.attention + self.mlp)}

    def case(self, catalog):
        template = catalog[self.template]
        numbers = [n for layout in self.layouts.values() for n in layout.numbers]
        is_quant = self.template == "static_quant"
        parameters = {
            "dtype": self.dtype,
            "out": self.out,
            "reciprocal": self.reciprocal if has_fp8(self.out) else None,
            "attention": None if is_quant else self.attention > 0,
            "bias": None if self.template in ("static_quant", "token_cat") else self.bias,
            "vector": template.widest_vector(self.attention, self.mlp, *numbers),
        }
        return Case(self.name, template, parameters, lambda inputs: prepare(self, inputs),
                    self.replay)


def draw_source(cat, inputs, shape, dtype):
    if cat.telling:
        bits = oracles.TELLING_SCALES[cat.scale_bits][0]
        values = oracles.from_bits(bits, dtype, DEVICE)
        return values.repeat(-(-torch.Size(shape).numel() // len(bits)))[
            :torch.Size(shape).numel()].reshape(shape).clone()
    if cat.all_bits:
        is_swiglu = cat.template == "swiglu_token_cat"
        return inputs.all_bits(shape, dtype, ordinary_columns=cat.mlp if is_swiglu else 0)
    return inputs.normal(shape, dtype, spread=3.0)


def prepare(cat, inputs):
    dtype = DTYPES[cat.dtype]
    is_quant = cat.template == "static_quant"
    source_name = SOURCES[cat.template]
    layouts = cat.layouts
    source = layouts["source"].view(
        draw_source(cat, inputs, layouts["source"].whole, dtype))
    values = {"batches": cat.batches, "rows": cat.rows, source_name: source,
              **strides_of(source_name, source)}
    attention = None
    if is_quant:
        values["columns"] = cat.mlp
    else:
        values |= {"attention_width": cat.attention, "mlp_width": cat.mlp,
                   "attention_row_stride": 0, "attention_batch_stride": 0}
    if cat.attention:
        attention = layouts["attention"].view(inputs.normal(layouts["attention"].whole, dtype))
        values |= {"attention": attention, **strides_of("attention", attention)}
    if cat.bias:
        values["bias"] = inputs.normal((cat.source_columns + cat.offset,), dtype)[cat.offset:]
    values |= row_scales(inputs, cat.out, cat.scale_bits)
    outputs = row_outputs(cat.out, cat.dtype, layouts["out"])
    values |= {name: output.view for name, output in outputs.items()}
    values["out_row_stride"] = layouts["out"].row_stride
    values["out_batch_stride"] = layouts["out"].whole[1] * layouts["out"].row_stride

    def expected():
        bias = values.get("bias")
        if cat.template == "swiglu_token_cat":
            mlp = oracles.swiglu(source, bias=bias)
        elif cat.template == "gelu_tanh_token_cat":
            mlp = oracles.gelu_tanh(source, bias=bias)
        else:
            mlp = source
        joint = oracles.token_cat(attention, mlp)
        results = expected_rows(cat.out, cat.dtype, joint, values, cat.reciprocal)
        if cat.telling:
            check_telling(cat, results["out_e4m3"])
        return results

    return Prepared(values, outputs, expected)


def check_telling(cat, quantized):
    """The oracle itself, against the bytes that are known."""
    known = oracles.TELLING_SCALES[cat.scale_bits][1 + oracles.RECIPROCALS.index(cat.reciprocal)]
    bits = quantized[..., cat.attention:].contiguous().view(torch.uint8).flatten()
    found = bits[:len(known)].tolist()
    if found != known:
        raise ValueError(f"the oracle gives {found}; known are {known}")


# rows, attention, MLP, columns before the MLP's in the merged projection
FULL_SHAPES = {
    "token_cat": [(4608, 6144, 18432, 0), (512, 6144, 18432, 0), (4608, 3072, 9216, 0)],
    "swiglu_token_cat": [(4608, 6144, 18432, 18432), (4096, 0, 18432, 0),
                         (4608, 3072, 9216, 9216), (4608, 4096, 12288, 12288),
                         (4224, 0, 10240, 0)],
    "gelu_tanh_token_cat": [(4608, 3072, 12288, 9216), (4096, 0, 12288, 0), (32760, 0, 13824, 0)],
    "static_quant": [(4608, 0, 24576, 0), (512, 0, 6144, 0), (4096, 0, 3072, 0)],
}
QUICK_SHAPES = {
    "token_cat": [(1, 1, 1, 0), (3, 33, 95, 0), (129, 64, 192, 0)],
    "swiglu_token_cat": [(1, 0, 1, 0), (3, 33, 95, 7), (129, 64, 192, 192), (3, 0, 1027, 0)],
    "gelu_tanh_token_cat": [(1, 0, 1, 0), (3, 33, 95, 7), (129, 64, 192, 192), (3, 0, 1027, 0)],
    "static_quant": [(1, 0, 1, 0), (3, 0, 1027, 0), (129, 0, 192, 0)],
}


def output_sets(template, scale_bits):
    activation = template != "static_quant"
    bf16, f16 = (("bf16",), ("f16",)) if activation else ((), ())
    yield {"out": bf16 + ("e4m3", "e5m2"), "scale_bits": scale_bits}
    yield {"out": ("e4m3",), "reciprocal": "div_full", "scale_bits": scale_bits}
    yield {"out": ("e4m3",), "scale_bits": 0x3C23D70A}
    yield {"out": ("e5m2",), "reciprocal": "div_full", "scale_bits": 0x3B83126F}
    yield {"out": f16 + ("e4m3", "e5m2"), "dtype": "f16", "reciprocal": "div_full",
           "scale_bits": scale_bits}
    if activation:
        yield {"out": bf16}
        yield {"out": f16, "dtype": "f16"}
    if template == "token_cat":
        yield {"out": bf16 + ("nvfp4",), "needs": 16}
        yield {"out": ("e4m3", "nvfp4"), "needs": 16, "scale_bits": scale_bits}
        yield {"out": ("nvfp4",), "dtype": "f16", "needs": 16}


def features(template):
    activation = template != "static_quant"
    bf16, f16 = (("bf16",), ("f16",)) if activation else ((), ())
    both = bf16 + ("e4m3", "e5m2")
    yield {"batches": 2, "out": both, "slices": True}
    yield {"batches": 2, "out": both, "offset": 1}
    yield {"batches": 2, "out": both, "offset": 2, "slices": True}
    yield {"out": both, "offset": 4, "reciprocal": "div_full"}
    yield {"out": f16 + ("e4m3",), "dtype": "f16", "offset": 3}
    yield {"batches": 2, "out": both, "slices": True, "replay": True}
    if template == "token_cat":
        yield {"batches": 2, "out": bf16 + ("nvfp4",), "slices": True}
    if template in ("swiglu_token_cat", "gelu_tanh_token_cat"):
        yield {"batches": 2, "out": both, "bias": True}
        yield {"out": f16 + ("e4m3",), "dtype": "f16", "bias": True, "offset": 1}


def cases(quick):
    telling = list(oracles.TELLING_SCALES)
    for template, shapes in (QUICK_SHAPES if quick else FULL_SHAPES).items():
        for i, (rows, attention, mlp, projection) in enumerate(shapes):
            for options in output_sets(template, telling[i % len(telling)]):
                needs = options.pop("needs", 1)
                if attention % needs == 0 and mlp % needs == 0:
                    yield Cat(template, 1, rows, attention, mlp, projection=projection, **options)
        rows, attention, mlp, projection = shapes[-1] if quick else shapes[0]
        for i, options in enumerate(features(template)):
            options = {"batches": 1, "scale_bits": telling[i % len(telling)], **options}
            yield Cat(template, rows=rows, attention=attention, mlp=mlp, projection=projection,
                      **options)
        yield from exhaustive(template, telling)


def exhaustive(template, telling):
    """All 65,536 values, for every scale, and the values that tell the reciprocals apart."""
    attention = 0 if template == "static_quant" else 64
    activation = template != "static_quant"
    for reciprocal in oracles.RECIPROCALS:
        for bits in (*telling, oracles.float_bits(1.0), oracles.float_bits(300.0)):
            for dtype in DTYPES:
                out = ((dtype,) if activation else ()) + FP8
                yield Cat(template, 1, 64, attention, 4096, dtype, out, reciprocal, all_bits=True,
                          scale_bits=bits)
        for bits in telling:
            if template in ("token_cat", "static_quant"):
                yield Cat(template, 1, 8, attention, 1024, out=("e4m3",), reciprocal=reciprocal,
                          telling=True, scale_bits=bits)
