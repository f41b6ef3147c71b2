# SPDX-License-Identifier: Apache-2.0
"""NVFP4 as it is defined, by PyTorch's eager operations: no oracle, but written independently of
the kernels. E2M1 elements two a byte, one E4M3 scale for 16 of them."""

import torch

import triton_oracles

BLOCK = 16
# A magnitude's code is the number of bounds below it; a tie goes to the even code, so that every
# second bound belongs to the code above it.
BOUNDS = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)


def e2m1_codes(values):
    magnitude = values.abs()
    codes = torch.zeros_like(values, dtype=torch.uint8)
    for i, bound in enumerate(BOUNDS):
        codes += (magnitude >= bound if i % 2 == 1 else magnitude > bound).to(torch.uint8)
    codes += values.signbit().to(torch.uint8) * 8
    return torch.where(values.isnan(), torch.full_like(codes, 7), codes)


def swizzled(scales):
    """[rows, blocks] → tiles of 128 rows and 4 blocks, [tiles of rows, tiles of blocks, 512];
    zeros where there are no rows or blocks."""
    rows, blocks = scales.shape
    padded = scales.new_zeros(-(-rows // 128) * 128, -(-blocks // 4) * 4)
    padded[:rows, :blocks] = scales
    tiles = padded.reshape(-1, 4, 32, padded.shape[1] // 4, 4)
    return tiles.permute(0, 3, 2, 1, 4).reshape(tiles.shape[0], tiles.shape[3], 512)


def quantize(values, global_scale):
    """values [..., rows, columns] → packed bytes [..., rows, columns / 2] and swizzled scales of
    all rows, as bytes."""
    reciprocal = triton_oracles.approximate_reciprocal
    blocks = values.float().unflatten(-1, (-1, BLOCK))
    magnitude = blocks.abs()
    largest = torch.where(magnitude.isnan(), torch.zeros_like(magnitude), magnitude).amax(-1)
    sixth = reciprocal(torch.full_like(global_scale, 6.0))
    wanted = global_scale * (largest * sixth)
    scales = wanted.clamp(max=448.0).to(torch.float8_e4m3fn)
    inverse = reciprocal(scales.float() * reciprocal(global_scale))
    multiplier = torch.where(largest != 0, inverse, torch.zeros_like(inverse))
    codes = e2m1_codes(blocks * multiplier.unsqueeze(-1)).flatten(-2)
    packed = codes[..., 0::2] | codes[..., 1::2] << 4
    return packed, swizzled(scales.view(torch.uint8).reshape(-1, scales.shape[-1]))
