# SPDX-License-Identifier: Apache-2.0
"""What PyTorch has no operation for, as Triton kernels: the quantizer that is the oracle of
`div_full`, and single instructions, fma and an approximate reciprocal.

On tensors that are not on a GPU `fma` is emulated; the others need Triton's interpreter there.
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def quantize_kernel(x, scale, out, count, largest: tl.constexpr, block: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    mask = offsets < count
    values = tl.load(x + offsets, mask=mask, other=0.0).to(tl.float32)
    inverse = 1.0 / tl.load(scale)
    values = tl.clamp(values * inverse, -largest, largest)
    tl.store(out + offsets, values.to(out.dtype.element_ty), mask=mask)


@triton.jit
def inverse_kernel(scale, out):
    tl.store(out, 1.0 / tl.load(scale))


@triton.jit
def fma_kernel(a, b, c, out, count, block: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    mask = offsets < count
    values_a = tl.load(a + offsets, mask=mask, other=0.0)
    values_b = tl.load(b + offsets, mask=mask, other=0.0)
    values_c = tl.load(c + offsets, mask=mask, other=0.0)
    tl.store(out + offsets, tl.fma(values_a, values_b, values_c), mask=mask)


@triton.jit
def approximate_reciprocal_kernel(x, out, count, block: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    mask = offsets < count
    values = tl.load(x + offsets, mask=mask, other=1.0)
    values = tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=f,f", [values],
                                       dtype=tl.float32, is_pure=True, pack=1)
    tl.store(out + offsets, values, mask=mask)


def blocks_of(count):
    return (triton.cdiv(count, BLOCK),)


def quantize_div_full(values, input_scale, dtype, largest):
    """FP8 by a division as Triton compiles it; saturates, and a NaN becomes the largest value."""
    values = values.contiguous()
    out = torch.empty(values.shape, dtype=dtype, device=values.device)
    quantize_kernel[blocks_of(values.numel())](
        values, input_scale, out, values.numel(), largest=largest, block=BLOCK)
    return out


def inverse_div_full(input_scale):
    """fp32 [1]: what 1 / input_scale is there."""
    out = torch.empty(1, dtype=torch.float32, device=input_scale.device)
    inverse_kernel[(1,)](input_scale, out)
    return out


def fma(a, b, c):
    """a * b + c of fp32 tensors that broadcast, rounded once.

    Without a GPU in float64, where the product is exact but the sum is rounded before it is rounded
    to fp32: for about one result in 2^29 that is another one.
    """
    if not a.is_cuda:
        return (a.double() * b.double() + c.double()).float()
    a, b, c = (tensor.contiguous() for tensor in torch.broadcast_tensors(a, b, c))
    out = torch.empty_like(a)
    fma_kernel[blocks_of(out.numel())](a, b, c, out, out.numel(), block=BLOCK)
    return out


def approximate_reciprocal(x):
    """PTX `rcp.approx.ftz.f32` of an fp32 tensor."""
    x = x.contiguous()
    out = torch.empty_like(x)
    approximate_reciprocal_kernel[blocks_of(x.numel())](x, out, x.numel(), block=BLOCK)
    return out
