# SPDX-License-Identifier: Apache-2.0
"""Cases of the four templates that normalize and modulate rows."""

import dataclasses

import torch

import torch_oracles as oracles
from comparison import (DTYPES, Case, Layout, Output, Prepared, expected_rows, has_fp8, row_outputs,
                        row_scales, strides_of)

EPS = {"aten": 1e-6, "wan": 1e-6, "wan_affine": 1e-6, "zimage": 1e-5}
# Rows of the adaLN projection that modulation comes from: scale, shift and gate are three of them.
MODULATION_ROWS = 6


@dataclasses.dataclass(frozen=True)
class Norm:
    """One case. `slices` takes inputs and outputs as row slices of joint buffers and the inputs as
    columns of merged projections; `offset` moves all of them by that many elements."""

    batches: int
    rows: int
    hidden: int
    gated: bool = False
    recipe: str = "aten"
    dtype: str = "bf16"
    out: tuple = ("e4m3",)
    reciprocal: str = "rcp_rn"
    bias: bool = False
    clip: bool = False
    slices: bool = False
    offset: int = 0
    in_place: bool = False
    special: bool = False
    scale_bits: int = 0x3F5D37A7
    replay: bool = False

    @property
    def template(self):
        norm = "rmsnorm" if self.recipe == "zimage" else "layernorm"
        return f"{'gated_residual_' if self.gated else ''}{norm}_modulate"

    @property
    def name(self):
        words = [self.template, self.recipe, f"{self.batches}x{self.rows}x{self.hidden}",
                 self.dtype, "out=" + "+".join(self.out)]
        if has_fp8(self.out):
            words.append(f"{self.reciprocal} s{self.scale_bits:08x}")
        words += [word for word in ("bias", "clip", "slices", "in_place", "special", "replay")
                  if getattr(self, word)]
        if self.offset:
            words.append(f"offset={self.offset}")
        return " ".join(words)

    def layout(self, before=0, after=0):
        """Of an input with that many columns of a projection around it, or of an output."""
        if not self.slices:
            before = after = 0
        rows = (3, 2) if self.slices else (0, 0)
        return Layout(self.batches, self.rows, self.hidden, *rows, before + self.offset, after)

    def case(self, catalog):
        template = catalog[self.template]
        layouts = (self.layout(), self.layout(self.hidden, 2 * self.hidden))
        numbers = [n for layout in layouts for n in layout.numbers]
        modulation = Layout(1, self.batches, MODULATION_ROWS * self.hidden + self.offset)
        parameters = {
            "hidden": self.hidden,
            "dtype": self.dtype,
            "out": self.out,
            "recipe": self.recipe,
            "reciprocal": self.reciprocal if has_fp8(self.out) else None,
            "bias": self.bias,
            "clip": self.clip if self.gated else None,
            "vector": template.widest_vector(self.offset, modulation.row_stride, *numbers),
        }
        return Case(self.name, template, parameters, lambda inputs: prepare(self, inputs),
                    self.replay)


class Arguments:
    """Arguments of one case by name; the tensors among them are the oracle's inputs, too."""

    def __init__(self, norm, inputs):
        self.norm, self.inputs = norm, inputs
        self.dtype = DTYPES[norm.dtype]
        self.values = {"batches": norm.batches, "rows": norm.rows, "eps": EPS[norm.recipe],
                       **zero_strides(norm)}
        self.wholes = {}

    def rows(self, name, before, after):
        layout = self.norm.layout(before, after)
        draw = self.inputs.special_rows if self.norm.special else self.inputs.rows
        whole = draw(layout.whole, self.dtype)
        view = layout.view(whole)
        self.values[name] = view
        self.values |= strides_of(name, view)
        self.wholes[name] = whole

    def vector(self, name, spread=1.0, center=0.0):
        offset = self.norm.offset
        whole = self.inputs.normal((self.norm.hidden + offset,), self.dtype, spread, center)
        self.values[name] = whole[offset:]

    def modulation(self, names):
        """Neighbouring rows of one adaLN projection; of wan_affine the norm's own vectors, which
        all items share."""
        norm = self.norm
        dtype = torch.float32 if norm.recipe.startswith("wan") else self.dtype
        width = MODULATION_ROWS * norm.hidden + norm.offset
        projection = self.inputs.normal((norm.batches, width), dtype, spread=0.5)
        for i, name in enumerate(names):
            begin = norm.offset + (i + 1) * norm.hidden
            row = projection[:, begin:begin + norm.hidden]
            if norm.recipe == "wan_affine" and name != "gate":
                row = row[:1].expand(norm.batches, -1)
            self.values[name] = row
            self.values[f"{name}_stride"] = row.stride(0)


def modulation_names(norm, has_rows):
    names = ["gate"] if norm.gated else []
    if has_rows:
        names += ["scale"] if norm.recipe == "zimage" else ["scale", "shift"]
    return names


def zero_strides(norm):
    """Of what a variant may not use; those that it uses are set later."""
    names = ["scale", "out_row", "out_batch"] + (["shift"] if norm.recipe != "zimage" else [])
    if norm.gated:
        names += ["out_residual_row", "out_residual_batch"]
    return {f"{name}_stride": 0 for name in names}


def prepare(norm, inputs):
    arguments = Arguments(norm, inputs)
    values, outputs = arguments.values, {}
    has_rows = set(norm.out) != {"residual"}
    is_rms = norm.recipe == "zimage"
    if not norm.gated:
        arguments.rows("x", norm.hidden, 2 * norm.hidden)
    else:
        arguments.rows("residual", 0, 0)
        arguments.rows("update", norm.hidden, 2 * norm.hidden)
    arguments.modulation(modulation_names(norm, has_rows))
    if is_rms and norm.gated:
        arguments.vector("update_weight", 0.3, 1.0)
    if is_rms and has_rows:
        arguments.vector("weight", 0.3, 1.0)
    if norm.bias:
        arguments.vector("bias")
    values |= row_scales(inputs, norm.out, norm.scale_bits)
    if has_rows:
        layout = norm.layout()
        outputs |= row_outputs(norm.out, norm.dtype, layout)
        values["out_row_stride"] = layout.row_stride
        values["out_batch_stride"] = layout.whole[1] * layout.row_stride
    if norm.in_place:
        outputs["out_residual"] = Output(arguments.wholes["residual"], values["residual"])
    elif "residual" in norm.out:
        outputs["out_residual"] = norm.layout().output(arguments.dtype)
    if "residual" in norm.out:
        values |= strides_of("out_residual", outputs["out_residual"].view)
    values |= {name: output.view for name, output in outputs.items()}

    def expected():
        rows, bias, results = values.get("x"), values.get("bias"), {}
        if norm.gated:
            rows, bias = expected_residual(norm, values), None
            if "residual" in norm.out:
                results["out_residual"] = rows
        if has_rows:
            modulated = expected_modulated(norm, rows, bias, values)
            results |= expected_rows(norm.out, norm.dtype, modulated, values, norm.reciprocal)
        return results

    return Prepared(values, outputs, expected)


def expected_residual(norm, values):
    operands = (values["residual"], values["update"], values["gate"])
    options = {"bias": values.get("bias"), "clip": norm.clip}
    if norm.recipe == "zimage":
        return oracles.gated_residual_rmsnorm(*operands, values["update_weight"],
                                              EPS[norm.recipe], **options)
    return oracles.gated_residual(*operands, recipe=norm.recipe, **options)


def expected_modulated(norm, rows, bias, values):
    eps = EPS[norm.recipe]
    if norm.recipe == "zimage":
        return oracles.rmsnorm_modulate(rows, values["weight"], values["scale"], eps, bias=bias)
    return oracles.layernorm_modulate(rows, values["scale"], values["shift"], eps,
                                      recipe=norm.recipe, bias=bias)


FULL_SHAPES = {  # rows × hidden of section "production shapes": all tokens of one image
    "aten": [(4608, 6144), (512, 6144), (4608, 3072), (4608, 4096), (4096, 2240)],
    "wan": [(32760, 5120)],
    "wan_affine": [(32760, 5120)],
    "zimage": [(4224, 3840)],
}
QUICK_SHAPES = {
    "aten": [(1, 4), (3, 260), (129, 1028), (3, 6144), (1, 16384)],
    "wan": [(1, 4), (129, 1028)],
    "wan_affine": [(3, 260), (129, 1028)],
    # Below 128 elements PyTorch sums the squares in another order.
    "zimage": [(1, 128), (3, 388), (129, 1028)],
}
FEATURE_SHAPES = {
    False: {"aten": (4608, 6144), "wan": (4096, 5120), "wan_affine": (4096, 5120),
            "zimage": (4224, 3840)},
    True: {"aten": (129, 1036), "wan": (129, 1036), "wan_affine": (3, 260), "zimage": (129, 388)},
}


def output_sets(gated, scale_bits):
    first = ("residual",) if gated else ()
    return [
        {"out": first + ("bf16", "e4m3", "e5m2"), "scale_bits": scale_bits},
        {"out": first + ("e4m3",), "reciprocal": "div_full", "scale_bits": scale_bits},
        {"out": first + ("bf16", "e5m2"), "reciprocal": "div_full", "scale_bits": 0x3B83126F},
        {"dtype": "f16", "out": first + ("f16", "e4m3", "e5m2"), "reciprocal": "div_full",
         "scale_bits": scale_bits},
    ]


def features(gated, recipe):
    first = ("residual",) if gated else ()
    all_out = first + ("bf16", "e4m3", "e5m2")
    half_out = first + ("f16", "e4m3")
    yield {"batches": 2, "out": all_out}
    yield {"batches": 2, "out": all_out, "slices": True}
    yield {"batches": 2, "out": half_out, "dtype": "f16", "slices": True, "bias": True}
    yield {"out": all_out, "bias": True}
    yield {"out": all_out, "offset": 1}
    yield {"batches": 2, "out": all_out, "offset": 2, "bias": True}
    yield {"out": all_out, "special": True}
    yield {"out": all_out, "special": True, "reciprocal": "div_full"}
    yield {"out": half_out, "dtype": "f16", "special": True}
    yield {"out": ("bf16",)}
    yield {"out": ("e4m3",)}
    yield {"batches": 2, "out": all_out, "replay": True}
    if gated:
        yield {"out": ("residual",)}
        yield {"out": ("residual",), "in_place": True}
        yield {"batches": 2, "out": all_out, "in_place": True, "slices": True}
        yield {"out": half_out, "dtype": "f16", "special": True, "clip": True}
        yield {"out": all_out, "in_place": True, "replay": True}
    if recipe == "aten":
        yield {"out": first + ("bf16", "nvfp4")}
        yield {"out": first + ("nvfp4",), "batches": 2, "slices": True}
        yield {"out": first + ("f16", "e4m3", "nvfp4"), "dtype": "f16"}
        yield {"out": first + ("bf16", "nvfp4"), "special": True}


def cases(quick):
    telling = list(oracles.TELLING_SCALES)
    for recipe, shapes in (QUICK_SHAPES if quick else FULL_SHAPES).items():
        for gated in (False, True):
            for i, (rows, hidden) in enumerate(shapes):
                for options in output_sets(gated, telling[i % len(telling)]):
                    yield Norm(1, rows, hidden, gated, recipe, **options)
            rows, hidden = FEATURE_SHAPES[quick][recipe]
            for i, options in enumerate(features(gated, recipe)):
                options = {"batches": 1, "scale_bits": telling[i % len(telling)], **options}
                if "nvfp4" in options["out"]:
                    hidden = hidden // 16 * 16
                yield Norm(rows=rows, hidden=hidden, gated=gated, recipe=recipe, **options)
