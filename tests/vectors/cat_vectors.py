# SPDX-License-Identifier: Apache-2.0
"""Golden vectors of static_quant and of the templates that put columns side by side."""

import sys

import torch

import torch_oracles as oracles
import triton_oracles
from vector_file import (DEVICE, DTYPES, file_name, fp32_scale, metadata_of, quantized,
                         random_tensor, save)


def special_values(scale):
    """bf16 bits: zeros, subnormals, both ends of each format's range, infinities, NaN."""
    bits = [0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x807F, 0x0080, 0x8080, 0x0040, 0x3F80, 0xBF80,
            0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0x7FFF, 0xFF81]
    edges = []
    for edge in (448.0, 464.0, 480.0, 57344.0, 61440.0, 2.0 ** -6, 2.0 ** -9, 2.0 ** -10,
                 2.0 ** -14, 2.0 ** -16, 2.0 ** -17):
        near = torch.tensor([edge * scale], dtype=torch.float32).to(torch.bfloat16)
        center = near.view(torch.int16).item()
        for step in (-1, 0, 1):
            edges += [(center + step) & 0x7FFF, ((center + step) & 0x7FFF) | 0x8000]
    return bits + edges


def make_static_quant(directory, seed, count, scale_bits):
    input_scale = fp32_scale(scale_bits)
    scale = input_scale.item()
    bits = special_values(scale)
    telling = oracles.TELLING_SCALES.get(scale_bits)
    if telling is not None:
        bits = telling[0] + bits
    special = oracles.from_bits(bits, torch.bfloat16, DEVICE)
    # Magnitudes over the formats' whole range, and beyond.
    magnitude = random_tensor(seed, [count - len(bits)]).float()
    exponent = torch.linspace(-18.0, 18.0, count - len(bits), device=DEVICE)
    ordinary = (magnitude * scale * torch.exp2(exponent)).to(torch.bfloat16)
    x = torch.cat([special, ordinary])
    outputs = quantized(x, input_scale)
    if telling is not None:
        check_telling(outputs, telling, scale_bits)
    tensors = {"x": x, "input_scale": input_scale, **outputs}
    return save(directory / file_name("static_quant", f"n{count}", f"s{scale_bits:08x}"), tensors,
                metadata_of("static_quant", "torch eager; div_full: triton"))


def make_static_quant_f16(directory, seed, count, scale_bits):
    input_scale = fp32_scale(scale_bits)
    bits = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00]
    special = oracles.from_bits(bits, torch.float16, DEVICE)
    magnitude = random_tensor(seed, [count - len(bits)], dtype="f32")
    exponent = torch.linspace(-18.0, 14.0, count - len(bits), device=DEVICE)
    x = torch.cat([special, (magnitude * torch.exp2(exponent)).to(torch.float16)])
    tensors = {"x": x, "input_scale": input_scale, **quantized(x, input_scale)}
    name = file_name("static_quant", f"n{count}", "f16", f"s{scale_bits:08x}")
    return save(directory / name, tensors,
                metadata_of("static_quant", "torch eager; div_full: triton"))


def check_telling(outputs, telling, scale_bits):
    count = len(telling[0])
    for output, expected in (("out_fp8_e4m3_rcp_rn", telling[1]),
                             ("out_fp8_e4m3_div_full", telling[2])):
        found = outputs[output][:count].view(torch.uint8).cpu().tolist()
        if found != expected:
            sys.exit(f"scale {scale_bits:08x}: {output} is {found}, expected {expected}")


def gelu_tangent_argument(x):
    """What gelu's formula takes the hyperbolic tangent of, for x in fp32."""
    kappa, beta = (oracles.from_bits([bits], torch.float32, DEVICE)
                   for bits in (0x3D372713, 0x3F4C422A))
    cube = (x * x) * x
    return beta * triton_oracles.fma(kappa, cube, x)


def make_cat(directory, seed, op, attention_width, mlp_width, rows, scale_bits, *, dtype="bf16",
             bias=False):
    """token_cat, swiglu_token_cat or gelu_tanh_token_cat; without attention if it has no width."""
    is_swiglu = op == "swiglu_token_cat"
    width = 2 * mlp_width if is_swiglu else mlp_width
    source = random_tensor(seed + 1, [rows, width], 3.0, dtype=dtype)
    tensors, attention = {}, None
    if attention_width:
        attention = random_tensor(seed, [rows, attention_width], dtype=dtype)
        tensors["attention"] = attention
    tensors["gate_up" if is_swiglu else "mlp"] = source
    if bias:
        tensors["bias"] = random_tensor(seed + 2, [width], dtype=dtype)
    tensors["input_scale"] = fp32_scale(scale_bits)
    given = oracles.with_bias(source, tensors.get("bias"))
    if is_swiglu:
        mlp = oracles.swiglu(given)
        tensors["exp_argument"] = -given[:, :mlp_width].float()
        tensors["exp"] = tensors["exp_argument"].exp()
        if dtype == "bf16":
            tensors["swiglu_bf16"] = mlp
        oracle = "F.silu(first half) * second half, torch.cat, static quant"
    elif op == "gelu_tanh_token_cat":
        mlp = oracles.gelu_tanh(given)
        wide = given.float()
        argument = gelu_tangent_argument(wide)
        tangent = argument.tanh()
        if torch.equal(((0.5 * wide) * (1 + tangent)).to(DTYPES[dtype]), mlp):
            tensors |= {"tanh_argument": argument, "tanh": tangent}
        else:
            print("gelu is not what its formula gives; its tangent is left out", file=sys.stderr)
        oracle = "F.gelu(approximate=tanh), torch.cat, static quant"
    else:
        mlp = given
        oracle = "torch.cat, static quant"
    joint = oracles.token_cat(attention, mlp)
    tensors |= {f"out_{dtype}": joint, **quantized(joint, tensors["input_scale"])}
    name = file_name(op, f"a{attention_width}", f"m{mlp_width}", f"r{rows}",
                     dtype if dtype != "bf16" else None, bias and "bias", f"s{scale_bits:08x}")
    oracle = f"torch eager {oracle}; div_full: triton"
    return save(directory / name, tensors, metadata_of(op, oracle))
