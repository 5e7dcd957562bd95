#!/usr/bin/env python3
"""Makes few_bits.gguf, random blocks of GGUF's types of one to four bits, and
few_bits.json, a hash of the numbers that PyPI's gguf makes of each.

    pip install gguf==0.19.0
    python3 make_few_bits.py

Types with a codebook have each of its points at least once. The hash is
model/weights/digest.h's, of the numbers as f32.
"""

import json
import pathlib

import gguf
import numpy
from make_blocks import random_scales

TYPES = gguf.GGMLQuantizationType
# Each type's points, elements of a point, and places of f16 scales in a block.
KINDS = {
    TYPES.Q2_K: (0, 0, [80, 82]),
    TYPES.Q3_K: (0, 0, [108]),
    TYPES.IQ1_S: (2048, 8, [0]),
    TYPES.IQ1_M: (0, 8, []),
    TYPES.IQ2_XXS: (256, 8, [0]),
    TYPES.IQ2_XS: (512, 8, [0]),
    TYPES.IQ2_S: (1024, 8, [0]),
    TYPES.IQ3_XXS: (256, 4, [0]),
    TYPES.IQ3_S: (512, 4, [0]),
    TYPES.IQ4_NL: (0, 0, [0]),
    TYPES.IQ4_XS: (0, 0, [0]),
    TYPES.TQ1_0: (0, 0, [52]),
    TYPES.TQ2_0: (0, 0, [64]),
    TYPES.NVFP4: (0, 0, []),
}


def set_points(kind, blocks, points):
    """Writes the numbers of points [blocks, points of a block]."""
    low = (points & 255).astype(numpy.uint8)
    high = points >> 8
    if kind == TYPES.IQ1_S:
        more = blocks[:, 34:50].copy().view("<u2")
        more &= 0xF000
        for i in range(4):
            more |= (high[:, i::4] << (3 * i)).astype(numpy.uint16)
        blocks[:, 2:34] = low
        blocks[:, 34:50] = more.view(numpy.uint8)
    elif kind == TYPES.IQ2_XXS:
        for j in range(8):
            blocks[:, 2 + 8 * j : 6 + 8 * j] = low[:, 4 * j : 4 * j + 4]
    elif kind == TYPES.IQ2_XS:
        both = blocks[:, 2:66].copy().view("<u2")
        both = (both & 0xFE00) | points.astype(numpy.uint16)
        blocks[:, 2:66] = both.view(numpy.uint8)
    elif kind == TYPES.IQ2_S:
        blocks[:, 2:34] = low
        more = sum(high[:, i::4] << (2 * i) for i in range(4))
        blocks[:, 66:74] = more
    elif kind == TYPES.IQ3_XXS:
        blocks[:, 2:66] = low
    elif kind == TYPES.IQ3_S:
        blocks[:, 2:66] = low
        blocks[:, 66:74] = sum(high[:, i::8] << i for i in range(8))


def make(rng, kind):
    points, size, scales = KINDS[kind]
    elements, length = gguf.GGML_QUANT_SIZES[kind]
    count = max(points * size, 2048) // elements
    blocks = rng.integers(0, 256, (count, length), dtype=numpy.uint8)
    if points:
        order = numpy.tile(numpy.arange(points), count * elements // size // points)
        set_points(kind, blocks, rng.permutation(order).reshape(count, -1))
    for at in scales:
        blocks[:, at : at + 2] = random_scales(rng, count)
    if kind == TYPES.IQ1_M:
        blocks[:, 55] &= 0xBF  # the scale's exponent stays finite
    if kind == TYPES.NVFP4:
        blocks[0, :4] = [0, 0x7F, 7, 0xFF]
    return blocks.reshape(2, -1)


def digest(data):
    hashed = 0xCBF29CE484222325
    for byte in len(data).to_bytes(8, "little") + data:
        hashed = (hashed ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return f"{hashed:016x}"


def main():
    rng = numpy.random.default_rng(34)
    folder = pathlib.Path(__file__).parent
    writer = gguf.GGUFWriter(folder / "few_bits.gguf", "llama")
    expected = {}
    for kind in KINDS:
        blocks = make(rng, kind)
        numbers = gguf.dequantize(blocks, kind).astype(numpy.float32)
        assert numpy.isfinite(numbers).all(), kind
        writer.add_tensor(kind.name, blocks, raw_dtype=kind)
        expected[kind.name] = digest(numbers.tobytes())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (folder / "few_bits.json").write_text(json.dumps(expected, indent=1) + "\n")


main()
