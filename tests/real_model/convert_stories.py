#!/usr/bin/env python3
"""Makes a GGUF file of a model of llama2.c, as stories260K is one:

    pip install gguf==0.19.0 numpy
    convert_stories.py stories260K.bin tok512.bin build/stories/model.gguf
    cp expected_greedy.txt build/stories
    TRIVIUM_STORIES=build/stories build/dev/bin/real_model_test \\
        --gtest_filter='Stories*'

then compares the text that it tells with llama2.c's (expected_greedy.txt).
"""

import pathlib
import struct
import sys

import gguf
import numpy


def read_pieces(path):
    """(piece, score) of a tokenizer.bin."""
    data = path.read_bytes()
    at = 4  # the longest piece's length
    while at < len(data):
        score, size = struct.unpack_from("<fi", data, at)
        at += 8
        yield data[at : at + size], score
        at += size


def add_tokenizer(writer, pieces):
    tokens, scores, types = [], [], []
    for i, (piece, score) in enumerate(pieces):
        kind = gguf.TokenType.NORMAL
        if i == 0:
            piece, kind = b"<unk>", gguf.TokenType.UNKNOWN
        elif i < 3:
            piece, kind = [b"<s>", b"</s>"][i - 1], gguf.TokenType.CONTROL
        elif piece.startswith(b"<0x"):
            kind = gguf.TokenType.BYTE
        tokens.append(piece.replace(b" ", "▁".encode()))
        scores.append(score)
        types.append(kind)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    source, pieces, to = (pathlib.Path(name) for name in sys.argv[1:])
    data = source.read_bytes()
    dim, hidden, layers, heads, kv_heads, vocab, positions = struct.unpack_from(
        "<7i", data
    )
    weights = numpy.frombuffer(data, numpy.float32, offset=28)
    kv = dim // heads * kv_heads
    at = 0

    def take(*shape):
        nonlocal at
        size = int(numpy.prod(shape))
        at += size
        return weights[at - size : at].reshape(shape)

    to.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(to, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(positions)
    writer.add_embedding_length(dim)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(dim // heads)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    add_tokenizer(writer, list(read_pieces(pieces)))
    writer.add_tensor("token_embd.weight", take(abs(vocab), dim))
    for name, shape in [
        ("attn_norm", (dim,)),
        ("attn_q", (dim, dim)),
        ("attn_k", (kv, dim)),
        ("attn_v", (kv, dim)),
        ("attn_output", (dim, dim)),
        ("ffn_norm", (dim,)),
        ("ffn_gate", (hidden, dim)),
        ("ffn_down", (dim, hidden)),
        ("ffn_up", (hidden, dim)),
    ]:
        for layer, weight in enumerate(take(layers, *shape)):
            writer.add_tensor(f"blk.{layer}.{name}.weight", weight)
    writer.add_tensor("output_norm.weight", take(dim))
    if vocab < 0:  # embeddings that are not tied
        take(2, positions, dim // heads // 2)
        writer.add_tensor("output.weight", take(-vocab, dim))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
