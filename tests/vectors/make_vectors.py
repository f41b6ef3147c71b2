#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of this folder, on a GPU.

usage: make_vectors.py OUTPUT_DIRECTORY

Writes *.safetensors and list.txt. Inputs are random, with fixed seeds; outputs are what PyTorch
computes eagerly, one operation after another, and for *_div_full what a Triton kernel computes.
Needs PyTorch 2.11 or newer with CUDA, Triton, and a GPU with FP8 conversions (sm_89).

A file is one case:
  layernorm_modulate   x [rows, D], scale [D], shift [D], or with a batch in front of each;
                       input_scale [1]; mean and rstd [rows of all batches] as the GPU has them
  static_quant         x [N], input_scale [1]
  both                 inverse_div_full [1]: what the GPU's fast division gives for 1 / input_scale;
                       outputs out_bf16 and out_fp8_{e4m3,e5m2}_{rcp_rn,div_full}
"""

import json
import pathlib
import struct
import sys

import torch
import torch.nn.functional as functional
import triton
import triton.language as tl

EPS = 1e-6
MOST_BYTES = 3_000_000
DEVICE = torch.device("cuda")

FORMATS = {
    "e4m3": (torch.float8_e4m3fn, 448.0),
    "e5m2": (torch.float8_e5m2, 57344.0),
}
DTYPE_NAMES = {
    torch.float32: "F32",
    torch.bfloat16: "BF16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
}

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


@triton.jit
def quantize_kernel(x, scale, out, count, largest: tl.constexpr, block: tl.constexpr):
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    mask = offsets < count
    values = tl.load(x + offsets, mask=mask, other=0.0).to(tl.float32)
    inverse = 1.0 / tl.load(scale)
    values = tl.clamp(values * inverse, -largest, largest)
    tl.store(out + offsets, values.to(out.dtype.element_ty), mask=mask)


@triton.jit
def inverse_kernel(scale, out):
    tl.store(out, 1.0 / tl.load(scale))


def from_bits(bits, dtype):
    """A tensor on the GPU from integers that are its elements' bits."""
    if dtype == torch.float32:
        data = b"".join(struct.pack("<I", value) for value in bits)
    else:
        data = b"".join(struct.pack("<H", value) for value in bits)
    return torch.frombuffer(bytearray(data), dtype=dtype).clone().to(DEVICE)


def to_bytes(tensor):
    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8).cpu()
    return bytes(flat.tolist())


def save(path, tensors, metadata):
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
    return path.stat().st_size


def metadata_of(op, oracle, **more):
    return {
        "op": op,
        "recipe": "aten",
        "oracle": oracle,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "device": torch.cuda.get_device_name(),
        **more,
    }


def quantize_rcp_rn(values, input_scale, name):
    """Each step an eager operation; saturates, and a NaN stays one (0x7F)."""
    dtype, largest = FORMATS[name]
    inverse = torch.ones((), device=DEVICE) / input_scale
    scaled = values.float() * inverse
    quantized = scaled.clamp(-largest, largest).to(dtype)
    bits = quantized.view(torch.uint8)
    nan = torch.full_like(bits, 0x7F)
    return torch.where(scaled.isnan(), nan, bits).view(dtype)


def quantize_div_full(values, input_scale, name):
    dtype, largest = FORMATS[name]
    values = values.contiguous()
    out = torch.empty(values.shape, dtype=dtype, device=DEVICE)
    count, block = values.numel(), 1024
    quantize_kernel[(triton.cdiv(count, block),)](
        values, input_scale, out, count, largest=largest, block=block)
    return out


def inverse_div_full(input_scale):
    out = torch.empty(1, dtype=torch.float32, device=DEVICE)
    inverse_kernel[(1,)](input_scale, out)
    return out


def quantized(values, input_scale):
    outputs = {"inverse_div_full": inverse_div_full(input_scale)}
    for name in FORMATS:
        outputs[f"out_fp8_{name}_rcp_rn"] = quantize_rcp_rn(values, input_scale, name)
    outputs["out_fp8_e4m3_div_full"] = quantize_div_full(values, input_scale, "e4m3")
    return outputs


def random_bf16(seed, shape, spread=1.0, center=0.0):
    generator = torch.Generator(device="cpu").manual_seed(seed)
    values = torch.randn(shape, generator=generator, dtype=torch.float32)
    return (values * spread + center).to(torch.bfloat16).to(DEVICE)


def make_layernorm_modulate(directory, seed, hidden, rows, scale_bits, batches=None, spread=1.0,
                            center=0.0):
    batch = [] if batches is None else [batches]
    x = random_bf16(seed, batch + [rows, hidden], spread, center)
    scale = random_bf16(seed + 1, batch + [hidden], 0.5)
    shift = random_bf16(seed + 2, batch + [hidden], 0.5)
    input_scale = from_bits([scale_bits], torch.float32)

    normalized = functional.layer_norm(x, (hidden,), eps=EPS)
    factor, offset = 1 + scale, shift
    if batches is not None:
        factor, offset = factor.unsqueeze(1), offset.unsqueeze(1)
    modulated = normalized * factor
    modulated = modulated + offset
    _, mean, rstd = torch.native_layer_norm(x, [hidden], None, None, EPS)

    name = f"layernorm_modulate_d{hidden}_r{rows}"
    if batches is not None:
        name += f"_b{batches}"
    name += f"_s{scale_bits:08x}.safetensors"
    tensors = {
        "x": x,
        "scale": scale,
        "shift": shift,
        "input_scale": input_scale,
        "mean": mean.float().reshape(-1),
        "rstd": rstd.float().reshape(-1),
        "out_bf16": modulated,
        **quantized(modulated, input_scale),
    }
    oracle = "torch eager layer_norm, * (1 + scale), + shift; div_full: triton"
    return name, save(directory / name, tensors,
                      metadata_of("layernorm_modulate", oracle, eps=repr(EPS)))


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
    input_scale = from_bits([scale_bits], torch.float32)
    scale = input_scale.item()
    bits = special_values(scale)
    telling = TELLING_SCALES.get(scale_bits)
    if telling is not None:
        bits = telling[0] + bits
    special = from_bits(bits, torch.bfloat16)
    # Magnitudes over the formats' whole range, and beyond.
    magnitude = random_bf16(seed, [count - len(bits)]).float()
    exponent = torch.linspace(-18.0, 18.0, count - len(bits), device=DEVICE)
    ordinary = (magnitude * scale * torch.exp2(exponent)).to(torch.bfloat16)
    x = torch.cat([special, ordinary])
    outputs = quantized(x, input_scale)
    if telling is not None:
        check_telling(outputs, telling, scale_bits)
    name = f"static_quant_n{count}_s{scale_bits:08x}.safetensors"
    tensors = {"x": x, "input_scale": input_scale, **outputs}
    return name, save(directory / name, tensors,
                      metadata_of("static_quant", "torch eager; div_full: triton"))


def check_telling(outputs, telling, scale_bits):
    count = len(telling[0])
    for output, expected in (("out_fp8_e4m3_rcp_rn", telling[1]),
                             ("out_fp8_e4m3_div_full", telling[2])):
        found = outputs[output][:count].view(torch.uint8).cpu().tolist()
        if found != expected:
            sys.exit(f"scale {scale_bits:08x}: {output} is {found}, expected {expected}")


def check_nan(path_outputs):
    """What both oracles are known to make of a NaN, so that a changed oracle does not pass."""
    x = from_bits([0x7FC0, 0xFFC0], torch.bfloat16)
    one = from_bits([0x3F800000], torch.float32)
    for output, expected in path_outputs:
        found = quantized(x, one)[output].view(torch.uint8).cpu().tolist()
        if found != expected:
            sys.exit(f"{output} of NaN is {found}, expected {expected}")


def float_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    check_nan([("out_fp8_e4m3_rcp_rn", [0x7F, 0x7F]), ("out_fp8_e5m2_rcp_rn", [0x7F, 0x7F]),
               ("out_fp8_e4m3_div_full", [0x7E, 0x7E])])

    files = [
        make_layernorm_modulate(directory, 101, 4, 5, float_bits(0.02)),
        make_layernorm_modulate(directory, 111, 260, 5, 0x3F5D37A7),
        make_layernorm_modulate(directory, 121, 1024, 3, 0x3FA30C30, center=20.0),
        make_layernorm_modulate(directory, 131, 2304, 4, float_bits(0.004), spread=30.0),
        make_layernorm_modulate(directory, 141, 3840, 1, 0x3FA37A70),
        make_layernorm_modulate(directory, 151, 6144, 5, 0x3C859999),
        make_layernorm_modulate(directory, 161, 6144, 2, float_bits(0.011), spread=0.01,
                                center=-3.0),
        make_layernorm_modulate(directory, 171, 1536, 3, float_bits(0.03), batches=3),
        make_layernorm_modulate(directory, 181, 16384, 1, float_bits(0.05)),
    ]
    files += [make_static_quant(directory, 201 + i, 4096, bits)
              for i, bits in enumerate([*TELLING_SCALES, float_bits(1.0), float_bits(0.0123)])]
    # An odd count: no wide access fits.
    files.append(make_static_quant(directory, 221, 1027, float_bits(7.5)))

    total = sum(size for _, size in files)
    if total > MOST_BYTES:
        sys.exit(f"{total} bytes; at most {MOST_BYTES} are allowed")
    names = [name for name, _ in files]
    (directory / "list.txt").write_text("".join(f"{name}\n" for name in names))
    for name, size in files:
        print(f"{size:8} {name}")
    print(f"{total:8} in all")


if __name__ == "__main__":
    main()
