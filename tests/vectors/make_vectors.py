#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of this folder, on a GPU.

usage: make_vectors.py OUTPUT_DIRECTORY

Writes *.safetensors and list.txt. Inputs are random, with fixed seeds; outputs are what PyTorch
computes eagerly, one operation after another, and for *_div_full what a Triton kernel computes.
Needs PyTorch 2.11 or newer with CUDA, Triton, and a GPU with FP8 conversions (sm_89).
docs/golden-vectors.md says what a file holds.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import torch  # noqa: E402

from cat_vectors import make_cat, make_static_quant, make_static_quant_f16  # noqa: E402
from norm_vectors import make_gated_norm, make_norm  # noqa: E402
from qkv_vectors import make_qkv  # noqa: E402
from torch_oracles import TELLING_SCALES, float_bits, from_bits  # noqa: E402
from vector_file import DEVICE, quantized  # noqa: E402

MOST_BYTES = 3_000_000


def check_nan(path_outputs):
    """What both oracles are known to make of a NaN, so that a changed oracle does not pass."""
    x = from_bits([0x7FC0, 0xFFC0], torch.bfloat16, DEVICE)
    one = from_bits([0x3F800000], torch.float32, DEVICE)
    for output, expected in path_outputs:
        found = quantized(x, one)[output].view(torch.uint8).cpu().tolist()
        if found != expected:
            sys.exit(f"{output} of NaN is {found}, expected {expected}")


def make_norms(directory):
    yield make_norm(directory, 101, 4, 5, float_bits(0.02))
    yield make_norm(directory, 111, 260, 5, 0x3F5D37A7)
    yield make_norm(directory, 121, 1024, 3, 0x3FA30C30, center=20.0)
    yield make_norm(directory, 131, 2304, 4, float_bits(0.004), spread=30.0)
    yield make_norm(directory, 141, 3840, 1, 0x3FA37A70)
    yield make_norm(directory, 151, 6144, 5, 0x3C859999)
    yield make_norm(directory, 161, 6144, 2, float_bits(0.011), spread=0.01, center=-3.0)
    yield make_norm(directory, 171, 1536, 3, float_bits(0.03), batches=3)
    yield make_norm(directory, 181, 16384, 1, float_bits(0.05))


def make_static_quants(directory):
    for i, bits in enumerate([*TELLING_SCALES, float_bits(1.0), float_bits(0.0123)]):
        yield make_static_quant(directory, 201 + i, 4096, bits)
    # An odd count: no wide access fits.
    yield make_static_quant(directory, 221, 1027, float_bits(7.5))


def make_other_norms(directory):
    yield make_norm(directory, 301, 2052, 2, float_bits(0.02), dtype="f16", spread=4.0)
    yield make_norm(directory, 311, 772, 3, 0x3F5D37A7, bias=True)
    yield make_norm(directory, 321, 388, 2, float_bits(0.05), dtype="f16", bias=True, batches=2)
    yield make_norm(directory, 331, 1540, 2, float_bits(0.02), recipe="wan")
    yield make_norm(directory, 341, 516, 2, float_bits(0.03), recipe="wan", batches=2)
    yield make_norm(directory, 351, 1540, 2, float_bits(0.02), recipe="wan_affine")
    yield make_norm(directory, 361, 260, 3, float_bits(0.02), recipe="wan", dtype="f16", bias=True)
    yield make_norm(directory, 371, 3840, 2, float_bits(0.02), recipe="zimage")
    yield make_norm(directory, 381, 644, 2, float_bits(0.04), recipe="zimage", batches=2)
    yield make_norm(directory, 391, 388, 3, 0x3FA37A70, recipe="zimage", dtype="f16", bias=True)


def make_gated_norms(directory):
    make = make_gated_norm
    yield make(directory, 401, 4, 3, float_bits(0.02))
    yield make(directory, 411, 1284, 3, 0x3F5D37A7)
    yield make(directory, 421, 6144, 2, 0x3C859999)
    yield make(directory, 431, 768, 2, float_bits(0.03), batches=2, spread=20.0)
    yield make(directory, 441, 1028, 2, float_bits(0.02), bias=True)
    yield make(directory, 451, 772, 2, float_bits(0.02), dtype="f16", bias=True)
    # Sums beyond the range of fp16.
    yield make(directory, 461, 516, 3, float_bits(0.02), dtype="f16", spread=2.5e4, clip=True)
    yield make(directory, 471, 1540, 2, float_bits(0.02), recipe="wan")
    yield make(directory, 481, 388, 2, float_bits(0.03), recipe="wan", batches=2, bias=True)
    yield make(directory, 491, 1028, 2, float_bits(0.02), recipe="wan_affine")
    yield make(directory, 501, 3840, 2, float_bits(0.02), recipe="zimage")
    yield make(directory, 511, 388, 2, float_bits(0.03), recipe="zimage", batches=2, bias=True)
    yield make(directory, 521, 516, 2, 0x3FA30C30, recipe="zimage", dtype="f16")


def make_cats(directory):
    yield make_static_quant_f16(directory, 231, 1026, float_bits(0.75))
    telling = list(TELLING_SCALES)
    for i, op in enumerate(("token_cat", "swiglu_token_cat", "gelu_tanh_token_cat")):
        seed = 601 + 50 * i
        yield make_cat(directory, seed, op, 192, 576, 3, telling[i])
        # Odd widths: no wide access fits.
        yield make_cat(directory, seed + 10, op, 33, 95, 3, float_bits(0.02))
        yield make_cat(directory, seed + 20, op, 128, 384, 2, float_bits(0.03), dtype="f16")
        if op != "token_cat":
            yield make_cat(directory, seed + 30, op, 0, 1028, 2, float_bits(0.01), bias=True)
            yield make_cat(directory, seed + 40, op, 0, 130, 3, float_bits(0.5), dtype="f16",
                           bias=True)


def make_qkvs(directory):
    for i, recipe in enumerate(("eager_flux2", "eager_qwen")):
        seed = 801 + 100 * i
        yield make_qkv(directory, seed, 3, 64, 4, 3, recipe=recipe)
        yield make_qkv(directory, seed + 10, 3, 128, 4, 2, recipe=recipe, bias=True)
        yield make_qkv(directory, seed + 20, 2, 256, 3, 2, recipe=recipe, order="image,text")
        yield make_qkv(directory, seed + 30, 2, 64, 5, 0, recipe=recipe, dtype="f16", bias=True)
        yield make_qkv(directory, seed + 40, 3, 128, 3, 1, recipe=recipe, rope="half_split")
        yield make_qkv(directory, seed + 50, 2, 128, 2, 2, recipe=recipe,
                       scales=list(TELLING_SCALES)[:3])
    yield make_qkv(directory, 1001, 3, 128, 5, 0, qk_norm="all")
    yield make_qkv(directory, 1011, 12, 128, 2, 0, qk_norm="all", bias=True)
    yield make_qkv(directory, 1021, 5, 64, 2, 2, qk_norm="all", dtype="f16")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    check_nan([("out_fp8_e4m3_rcp_rn", [0x7F, 0x7F]), ("out_fp8_e5m2_rcp_rn", [0x7F, 0x7F]),
               ("out_fp8_e4m3_div_full", [0x7E, 0x7E])])

    groups = (make_norms, make_static_quants, make_other_norms, make_gated_norms, make_cats,
              make_qkvs)
    files = [file for group in groups for file in group(directory)]
    total = sum(size for _, size in files)
    if total > MOST_BYTES:
        sys.exit(f"{total} bytes; at most {MOST_BYTES} are allowed")
    (directory / "list.txt").write_text("".join(f"{name}\n" for name, _ in files))
    for name, size in files:
        print(f"{size:8} {name}")
    print(f"{total:8} in all")


if __name__ == "__main__":
    main()
