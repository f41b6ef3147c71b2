# SPDX-License-Identifier: Apache-2.0
"""Cases of qkv_epilogue."""

import dataclasses

import torch

import torch_oracles as oracles
from comparison import DTYPES, FP8, Case, Layout, Prepared, has_fp8, strides_of

EPS = 1e-6


@dataclasses.dataclass(frozen=True)
class Qkv:
    """One case. With text tokens it has two streams. `projection`: columns behind Q, K and V in
    the image's merged projection. `cache`: where cosines and sines come from: one joint cache, one
    for each stream, or rows that hold cosines and then sines."""

    tokens: int
    text_tokens: int
    heads: int
    head_dim: int = 128
    batches: int = 1
    recipe: str = "eager_flux2"
    dtype: str = "bf16"
    out: tuple = ("bf16",)
    reciprocal: str = "rcp_rn"
    rope: str = "interleaved"
    order: str = "text_first"
    parts: str = "qkv"
    qk_norm: str = "head"
    bias: bool = False
    projection: int = 0
    cache: str = "joint"
    gap: int = 0
    offset: int = 0
    special: bool = False
    scale_bits: tuple = (0x3F5D37A7, 0x3FA30C30, 0x3C859999)
    replay: bool = False

    @property
    def streams(self):
        return 2 if self.text_tokens else 1

    @property
    def width(self):
        return self.heads * self.head_dim

    @property
    def name(self):
        tokens = f"{self.text_tokens}+{self.tokens}" if self.text_tokens else str(self.tokens)
        words = ["qkv_epilogue", self.recipe,
                 f"{self.batches}x{tokens}x{self.heads}x{self.head_dim}", self.dtype,
                 "out=" + "+".join(self.out), self.parts, self.rope]
        if self.text_tokens:
            words.append(self.order)
        if self.qk_norm == "all":
            words.append("qk_norm=all")
        if has_fp8(self.out):
            words.append(self.reciprocal)
        words += [word for word in ("bias", "special", "replay") if getattr(self, word)]
        words += [f"{word}={getattr(self, word)}" for word in ("projection", "gap", "offset")
                  if getattr(self, word)]
        return " ".join([*words, f"cache={self.cache}"])

    def input_layout(self, is_text):
        return Layout(self.batches, self.text_tokens if is_text else self.tokens, 3 * self.width,
                      columns_before=self.offset,
                      columns_after=0 if is_text else self.projection)

    @property
    def output_layout(self):
        return Layout(self.batches, self.tokens + self.text_tokens, self.width,
                      columns_before=self.offset, columns_after=self.gap)

    def case(self, catalog):
        template = catalog["qkv_epilogue"]
        layouts = (self.input_layout(False), self.input_layout(True), self.output_layout)
        numbers = [n for layout in layouts for n in layout.numbers]
        parameters = {
            "head_dim": self.head_dim,
            "dtype": self.dtype,
            "recipe": self.recipe,
            "rope": self.rope,
            "streams": self.streams,
            "order": self.order if self.text_tokens else None,
            "parts": self.parts,
            "out": self.out,
            "reciprocal": self.reciprocal if has_fp8(self.out) else None,
            "qk_norm": self.qk_norm,
            "bias": self.bias,
            "vector": template.widest_vector(self.offset, *numbers),
        }
        return Case(self.name, template, parameters, lambda inputs: prepare(self, inputs),
                    self.replay)


def rope_tables(qkv, inputs):
    """cos and sin of the image's and of the text's tokens, views of the caches."""
    half = qkv.head_dim // 2
    counts = (qkv.text_tokens, qkv.tokens)

    def table(count):
        cos, sin = inputs.angles((count, half))
        if qkv.cache == "cos_sin":
            rows = torch.cat([cos, sin], dim=1)
            cos, sin = rows[:, :half], rows[:, half:]
        return cos, sin

    if qkv.cache == "separate":
        text = table(counts[0]) if counts[0] else (None, None)
        return table(counts[1]), text
    joint = table(sum(counts))
    text_begin, image_begin = ((0, counts[0]) if qkv.order == "text_first" else (counts[1], 0))
    image = tuple(t[image_begin:image_begin + counts[1]] for t in joint)
    text = tuple(t[text_begin:text_begin + counts[0]] for t in joint)
    return image, text if counts[0] else (None, None)


class Stream:
    """Inputs of one stream: views of one projection, weights, biases, angles."""

    def __init__(self, qkv, inputs, is_text, angles):
        self.qkv = qkv
        self.prefix = "text_" if is_text else ""
        dtype = DTYPES[qkv.dtype]
        layout = qkv.input_layout(is_text)
        draw = inputs.special_rows if qkv.special else inputs.rows
        columns = layout.view(draw(layout.whole, dtype))
        self.values = {}
        for i, name in enumerate(("q", "k", "v")[:len(qkv.parts)]):
            view = columns[..., i * qkv.width:(i + 1) * qkv.width]
            self.values[name] = view
            if qkv.bias:
                bias = inputs.normal((qkv.width + qkv.offset,), dtype)
                self.values[f"{name}_bias"] = bias[qkv.offset:]
        count = qkv.width if qkv.qk_norm == "all" else qkv.head_dim
        for name in ("q_weight", "k_weight"):
            weight = inputs.normal((count + qkv.offset,), dtype, 0.3, 1.0)
            self.values[name] = weight[qkv.offset:]
        self.values["cos"], self.values["sin"] = angles

    def arguments(self):
        named = {f"{self.prefix}{name}": value for name, value in self.values.items()}
        for name in ("q", "k", "v"):
            key = f"{self.prefix}{name}"
            if name in self.values:
                named |= strides_of(key, self.values[name])
            else:
                named |= {f"{key}_row_stride": 0, f"{key}_batch_stride": 0}
        return named

    def expected(self, name):
        """[batches, tokens, heads, head_dim]"""
        qkv, values = self.qkv, self.values
        x = oracles.with_bias(values[name], values.get(f"{name}_bias"))
        x = x.unflatten(-1, (qkv.heads, qkv.head_dim))
        if name == "v":
            return x
        return oracles.normalize_and_rotate(
            x, values[f"{name}_weight"], values["cos"], values["sin"], EPS, recipe=qkv.recipe,
            rope=qkv.rope, qk_norm=qkv.qk_norm)


def prepare(qkv, inputs):
    image_angles, text_angles = rope_tables(qkv, inputs)
    image = Stream(qkv, inputs, False, image_angles)
    streams = [image]
    values = {"batches": qkv.batches, "tokens": qkv.tokens, "text_tokens": qkv.text_tokens,
              "heads": qkv.heads, "rope_row_stride": image_angles[0].stride(0), "eps": EPS,
              **image.arguments()}
    if qkv.text_tokens:
        text = Stream(qkv, inputs, True, text_angles)
        values |= text.arguments()
        streams = [text, image] if qkv.order == "text_first" else [image, text]
    else:
        values |= {f"text_{name}_{stride}_stride": 0 for name in ("q", "k", "v")
                   for stride in ("row", "batch")}

    parts = ("q", "k", "v")[:len(qkv.parts)]
    outputs = {}
    for i, name in enumerate(parts):
        if has_fp8(qkv.out):
            values[f"{name}_input_scale"] = inputs.scale(qkv.scale_bits[i])
        if qkv.dtype in qkv.out:
            outputs[f"out_{name}"] = qkv.output_layout.output(DTYPES[qkv.dtype])
        for fp8 in (kind for kind in FP8 if kind in qkv.out):
            outputs[f"out_{name}_{fp8}"] = qkv.output_layout.output(oracles.FORMATS[fp8][0])
    values |= {name: output.view for name, output in outputs.items()}
    layout = qkv.output_layout
    values["out_row_stride"] = layout.row_stride
    values["out_batch_stride"] = layout.whole[1] * layout.row_stride

    def expected():
        results = {}
        for name in parts:
            joint = torch.cat([stream.expected(name) for stream in streams], dim=1).flatten(-2)
            if qkv.dtype in qkv.out:
                results[f"out_{name}"] = joint
            for fp8 in (kind for kind in FP8 if kind in qkv.out):
                results[f"out_{name}_{fp8}"] = oracles.quantize(
                    joint, values[f"{name}_input_scale"], fp8, qkv.reciprocal)
        return results

    return Prepared(values, outputs, expected)


def flux2_full():
    """FLUX.2 and FLUX.1: double blocks of 512 + 4096 tokens, single blocks of 4608."""
    all_out = ("bf16", "e4m3", "e5m2")
    for heads in (48, 24, 32):
        mlp = 2 * 3 * heads * 128
        yield Qkv(4096, 512, heads)
        yield Qkv(4096, 512, heads, out=all_out, reciprocal="div_full")
        yield Qkv(4096, 512, heads, out=("e4m3",))
        yield Qkv(4608, 0, heads, parts="qk", projection=mlp)
        yield Qkv(4608, 0, heads, out=all_out, projection=mlp)
        yield Qkv(4096, 512, heads, dtype="f16", out=("f16", "e4m3"), reciprocal="div_full")
    yield Qkv(4096, 512, 24, bias=True, out=("bf16", "e4m3"))
    yield Qkv(4608, 0, 24, bias=True, parts="qk", projection=12288, out=("bf16", "e4m3"))


def other_models_full():
    yield Qkv(4096, 199, 24, recipe="eager_qwen", bias=True, cache="separate")
    yield Qkv(4096, 6, 24, recipe="eager_qwen", bias=True, cache="separate", out=("bf16", "e4m3"))
    yield Qkv(4096, 199, 24, recipe="eager_qwen", cache="separate", dtype="f16",
              out=("f16", "e4m3"), reciprocal="div_full")
    yield Qkv(4224, 0, 30, recipe="eager_qwen")
    yield Qkv(4224, 0, 30, recipe="eager_qwen", dtype="f16", out=("f16",))
    yield Qkv(32760, 0, 40, qk_norm="all", bias=True)
    yield Qkv(4096, 0, 40, qk_norm="all", dtype="f16", out=("f16", "e4m3"))
    # SGLang's kernels.
    for rope in ("interleaved", "half_split"):
        yield Qkv(4096, 512, 48, recipe="fp32_through", rope=rope)
        yield Qkv(4608, 0, 48, recipe="fp32_rope", rope=rope, parts="qk", projection=36864)
    yield Qkv(4096, 512, 48, recipe="fp32_through", out=("bf16", "e4m3"), reciprocal="div_full")
    yield Qkv(4608, 0, 48, recipe="fp32_rope", out=("bf16", "e4m3"), projection=36864)


def features(tokens, text_tokens, heads):
    """Every recipe with every rotation, head dimension, order and kind of cache."""
    all_out = ("bf16", "e4m3", "e5m2")
    shape = (tokens, text_tokens, heads)
    for recipe in ("eager_flux2", "eager_qwen", "fp32_through"):
        for head_dim in (64, 128, 256):
            for rope in ("interleaved", "half_split"):
                yield Qkv(*shape, head_dim, 2, recipe, rope=rope, cache="cos_sin")
        yield Qkv(*shape, recipe=recipe, order="image_first", bias=True, out=all_out)
    yield Qkv(*shape, recipe="fp32_rope", order="image_first", bias=True, batches=2, out=all_out)
    for recipe in ("eager_flux2", "eager_qwen"):
        for options in ({"offset": 1}, {"offset": 2}, {"offset": 4}, {"special": True},
                        {"special": True, "dtype": "f16", "out": ("f16", "e4m3")},
                        {"out": ("e5m2",), "reciprocal": "div_full"},
                        {"parts": "qk", "order": "image_first", "batches": 2},
                        {"batches": 2, "gap": 64, "cache": "separate", "bias": True},
                        {"batches": 2, "out": all_out, "replay": True}):
            yield Qkv(*shape, recipe=recipe, **options)
        yield Qkv(*shape, head_dim=64, recipe=recipe, dtype="f16", out=("f16",), bias=True)
    for options in ({}, {"bias": True, "out": all_out}, {"rope": "half_split"}, {"offset": 1},
                    {"text": 0, "parts": "qk"}, {"special": True}, {"batches": 2}):
        text = options.pop("text", text_tokens)
        yield Qkv(tokens, text, heads, qk_norm="all", **options)
    yield Qkv(*shape, head_dim=64, qk_norm="all", cache="separate")


def cases(quick):
    if quick:
        groups = [features(1, 1, 1), features(129, 5, 3), features(7, 129, 6)]
    else:
        groups = [flux2_full(), other_models_full(), features(1024, 77, 24)]
    for group in groups:
        yield from group
