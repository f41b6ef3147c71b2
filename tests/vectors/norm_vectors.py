# SPDX-License-Identifier: Apache-2.0
"""Golden vectors of the four templates that normalize and modulate rows."""

import torch_oracles as oracles
from vector_file import (fp32_scale, file_name, metadata_of, quantized, random_tensor, save)

EPS = {"aten": 1e-6, "wan": 1e-6, "wan_affine": 1e-6, "zimage": 1e-5}
ORACLES = {
    "aten": "torch eager layer_norm, * (1 + scale), + shift; div_full: triton",
    "wan": "torch eager layer_norm in fp32, * (1 + scale), + shift; div_full: triton",
    "wan_affine": "torch eager layer_norm in fp32 with weight and bias; div_full: triton",
    "zimage": "torch eager x * rsqrt(mean(x^2) + eps), * weight, * (1 + scale); div_full: triton",
}


def statistics_of(rows, recipe, eps):
    """Of the rows that are normalized, as the GPU has them."""
    if recipe == "zimage":
        return {"rstd": oracles.eager_rstd(rows, eps).reshape(-1)}
    wide = rows.float() if recipe.startswith("wan") else rows
    mean, rstd = oracles.layer_norm_statistics(wide, eps)
    return {"mean": mean, "rstd": rstd}


def name_of(op, hidden, rows, batches, recipe, dtype, words, scale_bits):
    return file_name(op, f"d{hidden}", f"r{rows}", batches and f"b{batches}",
                     recipe if recipe.startswith("wan") else None,
                     dtype if dtype != "bf16" else None, *words, f"s{scale_bits:08x}")


def modulation_dtype(recipe, dtype):
    return "f32" if recipe.startswith("wan") else dtype


def make_norm(directory, seed, hidden, rows, scale_bits, *, batches=None, recipe="aten",
              dtype="bf16", spread=1.0, center=0.0, bias=False):
    """layernorm_modulate, or rmsnorm_modulate for zimage."""
    is_rms = recipe == "zimage"
    op = "rmsnorm_modulate" if is_rms else "layernorm_modulate"
    eps = EPS[recipe]
    batch = [] if batches is None else [batches]
    modulation = {"spread": 0.5, "dtype": modulation_dtype(recipe, dtype)}
    tensors = {"x": random_tensor(seed, batch + [rows, hidden], spread, center, dtype)}
    if is_rms:
        tensors["weight"] = random_tensor(seed + 2, [hidden], 0.3, 1.0, dtype)
    tensors["scale"] = random_tensor(seed + 1, batch + [hidden], **modulation)
    if not is_rms:
        tensors["shift"] = random_tensor(seed + 2, batch + [hidden], **modulation)
    if bias:
        tensors["bias"] = random_tensor(seed + 3, [hidden], dtype=dtype)
    tensors["input_scale"] = fp32_scale(scale_bits)

    x, scale = oracles.with_bias(tensors["x"], tensors.get("bias")), tensors["scale"]
    if is_rms:
        modulated = oracles.rmsnorm_modulate(x, tensors["weight"], scale, eps)
    else:
        modulated = oracles.layernorm_modulate(x, scale, tensors["shift"], eps, recipe=recipe)
    if not bias:
        tensors |= statistics_of(x, recipe, eps)
    tensors[f"out_{dtype}"] = modulated
    tensors |= quantized(modulated, tensors["input_scale"])
    name = name_of(op, hidden, rows, batches, recipe, dtype, [bias and "bias"], scale_bits)
    return save(directory / name, tensors,
                metadata_of(op, ORACLES[recipe], recipe, eps=repr(eps)))


def make_gated_norm(directory, seed, hidden, rows, scale_bits, *, batches=None, recipe="aten",
                    dtype="bf16", spread=1.0, bias=False, clip=False):
    """gated_residual_layernorm_modulate, or gated_residual_rmsnorm_modulate for zimage."""
    is_rms = recipe == "zimage"
    op = f"gated_residual_{'rmsnorm' if is_rms else 'layernorm'}_modulate"
    eps = EPS[recipe]
    batch = [] if batches is None else [batches]
    modulation = {"spread": 0.5, "dtype": modulation_dtype(recipe, dtype)}
    residual = random_tensor(seed, batch + [rows, hidden], spread, dtype=dtype)
    update = random_tensor(seed + 1, batch + [rows, hidden], spread, dtype=dtype)
    gate = random_tensor(seed + 2, batch + [hidden], 1.0, dtype=modulation["dtype"])
    scale = random_tensor(seed + 3, batch + [hidden], **modulation)
    tensors = {"residual": residual, "update": update, "gate": gate, "scale": scale}
    added = random_tensor(seed + 5, [hidden], dtype=dtype) if bias else None
    options = {"bias": added, "clip": clip}
    if is_rms:
        update_weight = random_tensor(seed + 4, [hidden], 0.3, 1.0, dtype)
        weight = random_tensor(seed + 6, [hidden], 0.3, 1.0, dtype)
        total = oracles.gated_residual_rmsnorm(residual, update, gate, update_weight, eps,
                                               **options)
        modulated = oracles.rmsnorm_modulate(total, weight, scale, eps)
        update_rstd = oracles.eager_rstd(oracles.with_bias(update, added), eps).reshape(-1)
        tensors |= {"update_weight": update_weight, "weight": weight, "update_rstd": update_rstd,
                    "tanh_argument": gate.float(), "tanh": gate.float().tanh()}
    else:
        shift = random_tensor(seed + 4, batch + [hidden], **modulation)
        total = oracles.gated_residual(residual, update, gate, recipe=recipe, **options)
        modulated = oracles.layernorm_modulate(total, scale, shift, eps, recipe=recipe)
        tensors["shift"] = shift
    if bias:
        tensors["bias"] = added
    tensors["input_scale"] = fp32_scale(scale_bits)
    tensors |= {"out_residual": total, **statistics_of(total, recipe, eps),
                f"out_{dtype}": modulated, **quantized(modulated, tensors["input_scale"])}
    name = name_of(op, hidden, rows, batches, recipe, dtype, [bias and "bias", clip and "clip"],
                   scale_bits)
    oracle = "torch eager residual + gate * update, then " + ORACLES[recipe]
    return save(directory / name, tensors,
                metadata_of(op, oracle, recipe, eps=repr(eps), clip="true" if clip else "false"))
