# SPDX-License-Identifier: Apache-2.0
"""Golden vectors of qkv_epilogue."""

import sys

import torch

import torch_oracles as oracles
from vector_file import DEVICE, file_name, fp32_scale, metadata_of, quantized, random_tensor, save

EPS = 1e-6
NORMS = {
    "eager_flux2": "torch.nn.functional.rms_norm with weight (aten fused)",
    "eager_qwen": "x.float()^2 mean, x*rsqrt, cast, times weight",
}
ROTATIONS = {
    "eager_flux2": "x*cos + rot*sin, each fp32 op rounded",
    "eager_qwen": "complex multiply in fp32, then cast",
}


def rstd_of(x, weight, recipe, qk_norm):
    """[tokens, heads], or [tokens, 1] over all heads, as the GPU has it."""
    if recipe == "eager_qwen":
        return oracles.eager_rstd(x, EPS).squeeze(-1)
    rows = oracles.aligned_copy(x.flatten(-2) if qk_norm == "all" else x)
    width = [rows.shape[-1]]
    normalized, rstd = torch.ops.aten._fused_rms_norm(rows, width, weight, EPS)
    if not torch.equal(normalized, torch.nn.functional.rms_norm(rows, width, weight, EPS)):
        sys.exit("rms_norm is not what it is made of")
    return rstd.float().reshape(x.shape[0], -1)


def make_stream(seed, prefix, tokens, heads, head_dim, dtype, qk_norm, bias):
    width = heads * head_dim
    count = width if qk_norm == "all" else head_dim
    tensors = {
        f"{prefix}_qkv": random_tensor(seed, [tokens, 3 * width], dtype=dtype),
        f"{prefix}_q_weight": random_tensor(seed + 1, [count], 0.3, 1.0, dtype),
        f"{prefix}_k_weight": random_tensor(seed + 2, [count], 0.3, 1.0, dtype),
    }
    if bias:
        tensors[f"{prefix}_bias"] = random_tensor(seed + 3, [3 * width], dtype=dtype)
    return tensors


def make_qkv(directory, seed, heads, head_dim, image_tokens, text_tokens, *, recipe="eager_flux2",
             dtype="bf16", rope="interleaved", order="text,image", qk_norm="head", bias=False,
             scales=None):
    """`scales`: bits of the input scales of Q, K and V; none: no FP8 outputs."""
    tokens = image_tokens + text_tokens
    angle = random_tensor(seed + 8, [tokens, head_dim // 2], 50.0, dtype="f32").cpu()
    # On the CPU: these are inputs, and must not change with the GPU.
    tensors = {"cos": torch.cos(angle).to(DEVICE), "sin": torch.sin(angle).to(DEVICE)}
    counts = {"img": image_tokens, "txt": text_tokens}
    prefixes = [{"image": "img", "text": "txt"}[word] for word in order.split(",")]
    prefixes = [prefix for prefix in prefixes if counts[prefix]]
    for prefix in prefixes:
        stream_seed = seed + (0 if prefix == "img" else 4)
        tensors |= make_stream(stream_seed, prefix, counts[prefix], heads, head_dim, dtype,
                               qk_norm, bias)

    for i, part in enumerate(("q", "k", "v")):
        outputs, rstds, begin = [], [], 0
        for prefix in prefixes:
            width = heads * head_dim
            x = oracles.with_bias(tensors[f"{prefix}_qkv"], tensors.get(f"{prefix}_bias"))
            x = x[:, i * width:(i + 1) * width].unflatten(-1, (heads, head_dim))
            rows = slice(begin, begin + counts[prefix])
            begin += counts[prefix]
            if part == "v":
                outputs.append(x)
                continue
            weight = tensors[f"{prefix}_{part}_weight"]
            outputs.append(oracles.normalize_and_rotate(
                x, weight, tensors["cos"][rows], tensors["sin"][rows], EPS, recipe=recipe,
                rope=rope, qk_norm=qk_norm))
            rstds.append(rstd_of(x, weight, recipe, qk_norm))
        joint = torch.cat(outputs)
        tensors[f"out_{part}"] = joint
        if rstds:
            tensors[f"{part}_rstd"] = torch.cat(rstds)
        if scales:
            scale = tensors[f"{part}_input_scale"] = fp32_scale(scales[i])
            tensors |= quantized(joint, scale, f"{part}_")

    name = file_name("qkv_epilogue", recipe.split("_")[1], f"h{heads}x{head_dim}",
                     f"i{image_tokens}", f"t{text_tokens}",
                     "image_first" if order == "image,text" else None,
                     rope if rope != "interleaved" else None, qk_norm == "all" and "all",
                     dtype if dtype != "bf16" else None, bias and "bias", scales and "fp8")
    metadata = metadata_of("qkv_epilogue", "torch eager; div_full: triton", recipe, eps=repr(EPS),
                           rope=f"{rope}; {ROTATIONS[recipe]}", norm=NORMS[recipe], order=order,
                           qk_norm=qk_norm)
    return save(directory / name, tensors, metadata)
