#!/usr/bin/env python3
"""Makes blocks.gguf, random numbers in every type of GGUF that is read, and
blocks.safetensors, what PyPI's gguf makes of them.

    pip install gguf==0.19.0 safetensors
    python3 make_blocks.py
"""

import pathlib

import gguf
import numpy
from safetensors.numpy import save_file

SHAPE = (3, 512)
TYPES = gguf.GGMLQuantizationType
# Where a block's f16 scales are.
SCALES = {
    TYPES.Q4_0: [0],
    TYPES.Q4_1: [0, 2],
    TYPES.Q5_0: [0],
    TYPES.Q5_1: [0, 2],
    TYPES.Q8_0: [0],
    TYPES.Q4_K: [0, 2],
    TYPES.Q5_K: [0, 2],
    TYPES.Q6_K: [208],
    TYPES.MXFP4: [],
}


def random_scales(rng, count):
    """Finite ones of either sign: ordinary, subnormal, zero, the largest."""
    bits = rng.integers(0, 1 << 16, count, dtype=numpy.uint16)
    bits[(bits & 0x7C00) == 0x7C00] ^= 0x4000
    bits[::7] &= 0x83FF
    bits[::11] = 0
    bits[::13] = 0xFBFF
    return bits.view(numpy.uint8).reshape(count, 2)


def random_blocks(rng, kind):
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    count = SHAPE[0] * SHAPE[1] // elements
    blocks = rng.integers(0, 256, (count, size), dtype=numpy.uint8)
    for at in SCALES[kind]:
        blocks[:, at : at + 2] = random_scales(rng, count)
    if kind == TYPES.MXFP4:
        blocks[:4, 0] = [0, 1, 2, 251]
        blocks[4:, 0] %= 252  # 2^(e - 128) * 12 stays finite
    return blocks.reshape(SHAPE[0], -1)


def main():
    rng = numpy.random.default_rng(18)
    folder = pathlib.Path(__file__).parent
    writer = gguf.GGUFWriter(folder / "blocks.gguf", "llama")
    expected = {}
    for kind in SCALES:
        blocks = random_blocks(rng, kind)
        writer.add_tensor(kind.name, blocks, raw_dtype=kind)
        expected[kind.name] = gguf.dequantize(blocks, kind)
    f32 = rng.standard_normal(SHAPE, dtype=numpy.float32)
    f16 = f32.astype(numpy.float16)
    bf16 = gguf.quantize(f32, TYPES.BF16)
    writer.add_tensor("F32", f32)
    writer.add_tensor("F16", f16)
    writer.add_tensor("BF16", bf16, raw_dtype=TYPES.BF16)
    expected["F32"] = f32
    expected["F16"] = f16.astype(numpy.float32)
    expected["BF16"] = gguf.dequantize(bf16, TYPES.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file(expected, folder / "blocks.safetensors")


if __name__ == "__main__":
    main()
