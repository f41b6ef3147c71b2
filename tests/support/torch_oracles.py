# SPDX-License-Identifier: Apache-2.0
"""The oracles: what Kiln's kernels must compute, as PyTorch's eager operations, one after another.

Rows are [..., rows, columns], modulation [..., columns] with one row for each item in front,
queries and keys [..., tokens, heads, head_dim]. Only on a GPU do the results have the bits that are
meant. `fp32_through` and `fp32_rope` have no oracle in PyTorch; for them these are the recipes'
definitions, operation by operation.
"""

import struct

import torch
import torch.nn.functional as functional

import triton_oracles

FORMATS = {
    "e4m3": (torch.float8_e4m3fn, 448.0),
    "e5m2": (torch.float8_e5m2, 57344.0),
}
RECIPROCALS = ("rcp_rn", "div_full")

# Scales whose two reciprocals differ by one ulp, with bf16 values that show it in an e4m3 byte,
# rcp_rn and div_full.
TELLING_SCALES = {
    0x3F5D37A7: ([0x3C9F, 0x3D1F, 0x3D9F], [0x0B, 0x13, 0x1B], [0x0C, 0x14, 0x1C]),
    0x3FA30C30: ([0x3CD6, 0x3D56, 0x3DD6, 0x3E56], [0x0A, 0x12, 0x1A, 0x22],
                 [0x0B, 0x13, 0x1B, 0x23]),
    0x3FA37A70: ([0x3CEB, 0x3D6B, 0x3DEB, 0x3E6B], [0x0B, 0x13, 0x1B, 0x23],
                 [0x0C, 0x14, 0x1C, 0x24]),
    0x3C859999: ([0x38A7, 0xB8A7], [0x03, 0x83], [0x02, 0x82]),
}

# PyTorch sums the squares of fewer rows in another order.
LEAST_ROWS = 16


def float_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def from_bits(bits, dtype, device):
    """A tensor from integers that are its elements' bits."""
    if dtype == torch.float32:
        data = b"".join(struct.pack("<I", value) for value in bits)
    else:
        data = b"".join(struct.pack("<H", value) for value in bits)
    return torch.frombuffer(bytearray(data), dtype=dtype).clone().to(device)


def quantize_rcp_rn(values, input_scale, name):
    """Each step an eager operation; saturates, and a NaN stays one (0x7F)."""
    dtype, largest = FORMATS[name]
    inverse = torch.ones((), device=values.device) / input_scale
    scaled = values.float() * inverse
    bits = scaled.clamp(-largest, largest).to(dtype).view(torch.uint8)
    return torch.where(scaled.isnan(), torch.full_like(bits, 0x7F), bits).view(dtype)


def quantize(values, input_scale, name, reciprocal):
    if reciprocal == "rcp_rn":
        return quantize_rcp_rn(values, input_scale, name)
    return triton_oracles.quantize_div_full(values, input_scale, *FORMATS[name])


def aligned_copy(values):
    """PyTorch has other kernels, with other orders, for rows that are not aligned."""
    return values.clone(memory_format=torch.contiguous_format)


def with_bias(values, bias):
    return values if bias is None else values + bias


def rows_of(modulation):
    return modulation.unsqueeze(-2)


def layer_norm_affine(x, weight, bias, eps):
    """In fp32, each item with its own weight and bias."""
    width = x.shape[-1]
    items = zip(x.reshape(-1, *x.shape[-2:]), weight.reshape(-1, width), bias.reshape(-1, width))
    normalized = [
        functional.layer_norm(item.float(), (width,), aligned_copy(w), aligned_copy(b), eps)
        for item, w, b in items
    ]
    return torch.stack(normalized).reshape(x.shape).to(x.dtype)


def layernorm_modulate(x, scale, shift, eps, *, recipe="aten", bias=None):
    x = aligned_copy(with_bias(x, bias))
    if recipe == "wan_affine":
        return layer_norm_affine(x, scale, shift, eps)
    wide = x.float() if recipe == "wan" else x
    normalized = functional.layer_norm(wide, (x.shape[-1],), eps=eps)
    modulated = normalized * (1 + rows_of(scale))
    return (modulated + rows_of(shift)).to(x.dtype)


def layer_norm_statistics(x, eps):
    """Mean and reciprocal deviation of each row, in fp32, as layer_norm has them."""
    _, mean, rstd = torch.native_layer_norm(aligned_copy(x), [x.shape[-1]], None, None, eps)
    return mean.float().reshape(-1), rstd.float().reshape(-1)


def limited(values, clip):
    return values.clip(-65504, 65504) if clip else values


def gated_residual(residual, update, gate, *, recipe="aten", bias=None, clip=False):
    update = with_bias(update, bias)
    if recipe == "aten":
        return limited(residual + update * rows_of(gate), clip)
    total = residual.float() + update.float() * rows_of(gate)
    return limited(total.to(residual.dtype), clip)


def eager_rstd(x, eps):
    """fp32 [..., 1] by single operations, as models compute it that have no fused norm."""
    rows = x.reshape(-1, x.shape[-1])
    missing = LEAST_ROWS - rows.shape[0]
    if missing > 0:
        rows = torch.cat([rows, rows.new_zeros(missing, rows.shape[1])])
    mean = rows.float().pow(2).mean(-1, keepdim=True)
    rstd = torch.rsqrt(mean + eps)
    return rstd[:x.shape[:-1].numel()].reshape(*x.shape[:-1], 1)


def eager_rms_norm(x, weight, eps):
    return (x.float() * eager_rstd(x, eps)).to(x.dtype) * weight


def rmsnorm_modulate(x, weight, scale, eps, *, bias=None):
    return eager_rms_norm(with_bias(x, bias), weight, eps) * (1.0 + rows_of(scale))


def gated_residual_rmsnorm(residual, update, gate, update_weight, eps, *, bias=None, clip=False):
    normalized = eager_rms_norm(with_bias(update, bias), update_weight, eps)
    return limited(residual + rows_of(gate.tanh()) * normalized, clip)


def swiglu(gate_up, *, bias=None):
    gate, up = with_bias(gate_up, bias).chunk(2, dim=-1)
    return functional.silu(gate) * up


def gelu_tanh(x, *, bias=None):
    return functional.gelu(with_bias(x, bias), approximate="tanh")


def token_cat(attention, mlp):
    return mlp if attention is None else torch.cat([attention, mlp], dim=-1)


def folded(sums):
    """[..., lanes] → [..., 1]: lane i with lane i + offset, from the largest offset to the
    smallest, as shuffles of a warp do it."""
    while sums.shape[-1] > 1:
        half = sums.shape[-1] // 2
        sums = sums[..., :half] + sums[..., half:]
    return sums


def summed_in_order(terms):
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def fp32_through_square_sum(x):
    head_dim = x.shape[-1]
    lanes = x.unflatten(-1, (32, head_dim // 64, 2))
    first, second = lanes.unbind(-1)
    pairs = triton_oracles.fma(first, first, second * second)
    return folded(summed_in_order(pairs.unbind(-1)))


def fp32_rope_square_sum(x):
    squares = x.unflatten(-1, (16, 8))
    return folded(summed_in_order((squares * squares).unbind(-1)))


def rms_norm_heads(x, weight, eps, *, recipe):
    """In x's type, but for fp32_through, which goes on in fp32."""
    head_dim = x.shape[-1]
    if recipe == "eager_flux2":
        return functional.rms_norm(aligned_copy(x), (head_dim,), aligned_copy(weight), eps)
    if recipe == "eager_qwen":
        return eager_rms_norm(x, weight, eps)
    wide, weight = x.float(), weight.float()
    if recipe == "fp32_through":
        factor = torch.rsqrt(fp32_through_square_sum(wide) / head_dim + eps)
        return wide * (factor * weight)
    rstd = torch.rsqrt(fp32_rope_square_sum(wide) / head_dim + eps)
    return ((wide * rstd) * weight).to(x.dtype)


def rms_norm_token(x, weight, eps):
    """Over all heads; weight [heads * head_dim]."""
    width = x.shape[-2] * x.shape[-1]
    flat = aligned_copy(x).flatten(-2)
    return functional.rms_norm(flat, (width,), aligned_copy(weight), eps).reshape(x.shape)


def rotate_pairs(n0, n1, cos, sin, recipe):
    if recipe == "eager_flux2":
        return n0 * cos - n1 * sin, n1 * cos + n0 * sin
    if recipe == "eager_qwen":
        points = torch.view_as_complex(torch.stack([n0, n1], dim=-1))
        return torch.view_as_real(points * torch.complex(cos, sin)).unbind(-1)
    fma = triton_oracles.fma
    if recipe == "fp32_through":
        return fma(n0, cos, -(n1 * sin)), fma(n1, cos, n0 * sin)
    return fma(-n1, sin, n0 * cos), fma(n0, sin, n1 * cos)


def rotate(n, cos, sin, *, recipe, rope, dtype):
    """cos and sin [tokens, head_dim / 2]; pairs are neighbours, or half a head apart."""
    n, cos, sin = n.float(), cos.unsqueeze(-2), sin.unsqueeze(-2)
    if rope == "interleaved":
        n0, n1 = n.unflatten(-1, (-1, 2)).unbind(-1)
    else:
        n0, n1 = n.unflatten(-1, (2, -1)).unbind(-2)
    rotated = rotate_pairs(n0.contiguous(), n1.contiguous(), cos, sin, recipe)
    return torch.stack(rotated, dim=-1 if rope == "interleaved" else -2).flatten(-2).to(dtype)


def normalize_and_rotate(x, weight, cos, sin, eps, *, recipe, rope="interleaved", qk_norm="head"):
    if qk_norm == "all":
        normalized = rms_norm_token(x, weight, eps)
    else:
        normalized = rms_norm_heads(x, weight, eps, recipe=recipe)
    return rotate(normalized, cos, sin, recipe=recipe, rope=rope, dtype=x.dtype)
