#!/usr/bin/env python3
"""Makes golden folders of Marian's binary files, with what Marian translates.

    pip install pymarian==1.12.42 sentencepiece protobuf
    make_marian_bin_goldens.py PAIRS.tsv TEXTS FOLDER

PAIRS.tsv and TEXTS are make_marian_npz_goldens.py's. In FOLDER are made
  intgemm8: a Transformer as marian-conv quantizes it, and in golden.tsv beam
      size, text, what Marian makes of the file's weights in f32, and what it
      makes with int8 activations, of the file itself
  firefox: an SSRU decoder in the files of a model of Firefox's, which are those
      of Bergamot's fork of Marian: other numbers for types, embeddings in int8,
      multipliers of activations. Marian does not read these: golden.tsv has
      what it makes of the weights in f32, shortlist.tsv the same with the
      lexical shortlist.
"""

import collections
import json
import pathlib
import re
import shutil
import struct
import sys
import tempfile

import numpy
import sentencepiece

from make_marian_npz_goldens import (BEAMS, KINDS, VOCABULARY, marian,
                                     read_pairs, train, translate)

# intgemm multiplies matrices of multiples of 64.
SIZES = ["--dim-emb", "64", "--transformer-dim-ffn", "64", "--transformer-heads",
         "4", "--enc-depth", "1", "--dec-depth", "1", "--tied-embeddings-all"]
UPDATES = 2000
CONFIG = "special:model.yml"
# As Marian's src/common/types.h numbers them, and Bergamot's fork.
FLOAT32, INT8, INTGEMM8, FORK_INTGEMM8 = 0x404, 0x101, 0x10001, 0x4101
# Tokens that are always allowed, and the most for each source token.
FIRST, BEST = 16, 2
ALPHA = 127 / 8  # no activations are greater, or few


def read_bin(path):
    """{name: (type, shape, data with what pads them)} of a binary model."""
    data = pathlib.Path(path).read_bytes()
    _, count = struct.unpack_from("<QQ", data, 0)
    at = 16 + 32 * count
    headers = list(struct.iter_unpack("<QQQQ", data[16:at]))
    names, shapes, items = [], [], {}
    for length, *_ in headers:
        names.append(data[at:at + length - 1].decode())
        at += length
    for _, _, dimensions, _ in headers:
        shapes.append(struct.unpack_from(f"<{dimensions}i", data, at))
        at += 4 * dimensions
    at += 8 + struct.unpack_from("<Q", data, at)[0]
    for name, shape, (_, kind, _, length) in zip(names, shapes, headers):
        items[name] = kind, shape, data[at:at + length]
        at += length
    return items


def write_bin(path, items):
    names = [name.encode() + b"\0" for name in items]
    head = struct.pack("<QQ", 1, len(items))
    for name, (kind, shape, data) in zip(names, items.values()):
        head += struct.pack("<QQQQ", len(name), kind, len(shape), len(data))
    head += b"".join(names)
    for _, shape, _ in items.values():
        head += struct.pack(f"<{len(shape)}i", *shape)
    padding = -(len(head) + 8) % 256
    path.write_bytes(head + struct.pack("<Q", padding) + bytes(padding) +
                     b"".join(data for _, _, data in items.values()))


def dequantize(items, path):
    """Writes a .npz of a binary model's weights in f32."""
    arrays = {}
    for name, (kind, shape, data) in items.items():
        size = int(numpy.prod(shape))
        if name == CONFIG:
            arrays[name] = numpy.frombuffer(data, numpy.int8)
        elif name.endswith("_QuantMultA"):
            continue
        elif kind == FLOAT32:
            arrays[name] = numpy.frombuffer(data, numpy.float32,
                                            size).reshape(shape)
        else:
            assert kind in (INTGEMM8, FORK_INTGEMM8), name
            numbers = numpy.frombuffer(data, numpy.int8, size)
            multiplier, = struct.unpack_from("<f", data, size)
            numbers = (numbers.reshape(shape) if "Wemb" in name else
                       numbers.reshape(shape[::-1]).T)
            arrays[name] = (numbers.astype(numpy.float32) *
                            (numpy.float32(1) / numpy.float32(multiplier)))
    numpy.savez(path, **{name: numpy.ascontiguousarray(array)
                         for name, array in arrays.items()})


def padded(data):
    return data + bytes(-len(data) % 256)


def quantized(array):
    """As intgemm does: the greatest number becomes 127."""
    multiplier = numpy.float32(127) / numpy.abs(array).max()
    numbers = numpy.clip(numpy.rint(array * multiplier), -127, 127)
    return padded(numbers.astype(numpy.int8).tobytes() +
                  multiplier.astype("<f4").tobytes())


def as_fork_has_them(path):
    """A .npz's arrays as items of Bergamot's fork, with alphas."""
    items = {}
    for name, array in numpy.load(path).items():
        if name == CONFIG:
            items[name] = INT8, array.shape, array.tobytes()
        elif "Wemb" in name:
            items[name] = FORK_INTGEMM8, array.shape, quantized(array)
            alpha = numpy.array([ALPHA], numpy.float32)
            items["none_QuantMultA"] = FLOAT32, (1,), padded(alpha.tobytes())
            items[name + "_QuantMultA"] = FORK_INTGEMM8, (1,), quantized(alpha)
        elif re.search("_W.?$", name):
            items[name] = FORK_INTGEMM8, array.shape, quantized(array.T)
            alpha = numpy.array([ALPHA], numpy.float32)
            items[name + "_QuantMultA"] = FLOAT32, (1,), padded(alpha.tobytes())
        else:
            items[name] = FLOAT32, array.shape, padded(array.tobytes())
    return dict(sorted(items.items()))


def write_shortlist(pairs, vocabulary, path, scratch):
    """A lexical shortlist of how often pieces are in pairs of sentences."""
    pieces = sentencepiece.SentencePieceProcessor(str(vocabulary))
    both, sources = collections.Counter(), collections.Counter()
    targets = collections.Counter()
    for source, target in pairs:
        left = set(pieces.encode(source, out_type=str))
        right = set(pieces.encode(target, out_type=str))
        sources.update(left)
        targets.update(right)
        both.update((s, t) for s in left for t in right)
    table = scratch / "lex.txt"
    table.write_text("".join(
        f"{t} {s} {2 * n / (sources[s] + targets[t]):.6f}\n"
        for (s, t), n in sorted(both.items())))
    marian("convert", "--shortlist", table, FIRST, BEST, 0, "--dump-shortlist",
           path, "--vocabs", vocabulary, vocabulary)


def write_lines(path, rows):
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))


def make_intgemm8(pairs, texts, folder, scratch):
    train(scratch, pairs, UPDATES, *SIZES, *VOCABULARY, *KINDS["transformer"])
    folder.mkdir(parents=True, exist_ok=True)
    marian("convert", "--from", scratch / "model.npz", "--to",
           folder / "model.bin", "--gemm-type", "intgemm8")
    shutil.copy(scratch / "vocab.spm", folder)
    shutil.copy(folder / "model.bin", scratch)
    dequantize(read_bin(folder / "model.bin"), scratch / "f32.npz")
    rows = []
    for beam in BEAMS:
        rows += zip([beam] * len(texts), texts,
                    translate(scratch, texts, beam, model="f32.npz"),
                    translate(scratch, texts, beam, model="model.bin"))
    write_lines(folder / "golden.tsv", rows)


def make_firefox(pairs, texts, folder, scratch):
    train(scratch, pairs, UPDATES, *SIZES, *VOCABULARY, *KINDS["ssru"])
    folder.mkdir(parents=True, exist_ok=True)
    items = as_fork_has_them(scratch / "model.npz")
    write_bin(folder / "model.ende.intgemm.alphas.bin", items)
    shutil.copy(scratch / "vocab.spm", folder / "vocab.ende.spm")
    (folder / "metadata.json").write_text(json.dumps(
        {"architecture": "tiny", "sourceLanguage": "en",
         "targetLanguage": "de"}, indent=2) + "\n")
    lexical = folder / "lex.50.50.ende.s2t.bin"
    write_shortlist(pairs, scratch / "vocab.spm", lexical, scratch)
    dequantize(items, scratch / "f32.npz")
    for name, arguments in (("golden.tsv", []),
                            ("shortlist.tsv", ["--shortlist", lexical])):
        rows = []
        for beam in BEAMS:
            rows += zip([beam] * len(texts), texts,
                        translate(scratch, texts, beam, *arguments,
                                  model="f32.npz"))
        write_lines(folder / name, rows)


def main():
    pairs = read_pairs(sys.argv[1])
    texts = pathlib.Path(sys.argv[2]).read_text().split("\n")[:-1]
    for name, make in (("intgemm8", make_intgemm8), ("firefox", make_firefox)):
        with tempfile.TemporaryDirectory() as scratch:
            make(pairs, texts, pathlib.Path(sys.argv[3], name),
                 pathlib.Path(scratch))


if __name__ == "__main__":
    main()
