# SPDX-License-Identifier: Apache-2.0
"""What all golden vectors have in common: random inputs, quantized outputs, the file."""

import json
import struct

import torch
import triton

import torch_oracles as oracles
import triton_oracles

DEVICE = torch.device("cuda")
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
DTYPE_NAMES = {
    torch.float32: "F32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
}


def random_tensor(seed, shape, spread=1.0, center=0.0, dtype="bf16"):
    # On the CPU: a GPU's generator may change.
    generator = torch.Generator(device="cpu").manual_seed(seed)
    values = torch.randn(shape, generator=generator, dtype=torch.float32)
    return (values * spread + center).to(DTYPES[dtype]).to(DEVICE)


def fp32_scale(bits):
    return oracles.from_bits([bits], torch.float32, DEVICE)


def quantized(values, input_scale, prefix=""):
    """Outputs, and the inverse that a CPU cannot compute."""
    outputs = {f"{prefix}inverse_div_full": triton_oracles.inverse_div_full(input_scale)}
    for name in oracles.FORMATS:
        outputs[f"out_{prefix}fp8_{name}_rcp_rn"] = oracles.quantize(
            values, input_scale, name, "rcp_rn")
    outputs[f"out_{prefix}fp8_e4m3_div_full"] = oracles.quantize(
        values, input_scale, "e4m3", "div_full")
    return outputs


def metadata_of(op, oracle, recipe="aten", **more):
    return {
        "op": op,
        "recipe": recipe,
        "oracle": oracle,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "device": torch.cuda.get_device_name(),
        **more,
    }


def file_name(*words):
    """Words that are empty, or None, are left out."""
    return "_".join(word for word in words if word) + ".safetensors"


def to_bytes(tensor):
    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8).cpu()
    return bytes(flat.tolist())


def save(path, tensors, metadata):
    """Returns the file's name and size."""
    header, data = {"__metadata__": metadata}, b""
    # The widest elements first, so that every tensor is aligned.
    for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        begin = len(data)
        data += to_bytes(tensor)
        header[name] = {
            "dtype": DTYPE_NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, len(data)],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path.name, path.stat().st_size
