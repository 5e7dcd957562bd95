#!/usr/bin/env python3
"""Writes a decoder of a published shape, with random weights, as GGUF.

    pip install torch transformers gguf
    random_decoder.py LLAMA_CPP SHAPE OUT.gguf

LLAMA_CPP is llama.cpp's folder: compare_decoders fetches it. Its converter
writes the file, in F16 and without a tokenizer. The mixture of experts has fewer
layers than the published models, so that it fits. For speed alone.
"""

import json
import logging
import pathlib
import sys
import tempfile

import torch
import transformers

SHAPES = {
    # SmolLM2's design at the size that people run.
    "llama-1.6b": dict(
        model_type="llama", hidden_size=2048, num_hidden_layers=24,
        num_attention_heads=32, num_key_value_heads=8, intermediate_size=8192,
        vocab_size=49152, max_position_embeddings=32768,
        tie_word_embeddings=True),
    "gemma3-1b": dict(
        model_type="gemma3_text", hidden_size=1152, num_hidden_layers=26,
        num_attention_heads=4, num_key_value_heads=1, head_dim=256,
        intermediate_size=6912, vocab_size=262144, sliding_window=512,
        max_position_embeddings=32768, tie_word_embeddings=True),
    "lfm2-1.2b": dict(
        model_type="lfm2", hidden_size=2048, num_hidden_layers=16,
        num_attention_heads=32, num_key_value_heads=8, intermediate_size=12288,
        block_ff_dim=12288, block_auto_adjust_ff_dim=True,
        block_multiple_of=256, block_ffn_dim_multiplier=1.0, vocab_size=65536,
        full_attn_idxs=[2, 5, 8, 10, 12, 14], max_position_embeddings=32768),
    "qwen3.5-0.8b": dict(
        model_type="qwen3_5_text", hidden_size=1024, num_hidden_layers=24,
        num_attention_heads=8, num_key_value_heads=2, head_dim=256,
        intermediate_size=3584, linear_num_key_heads=16,
        linear_num_value_heads=16, linear_key_head_dim=128,
        linear_value_head_dim=128, vocab_size=248320,
        max_position_embeddings=32768, tie_word_embeddings=True),
    "qwen3-moe": dict(
        model_type="qwen3_moe", hidden_size=2048, num_hidden_layers=4,
        num_attention_heads=32, num_key_value_heads=4, head_dim=128,
        intermediate_size=6144, moe_intermediate_size=768, num_experts=128,
        num_experts_per_tok=8, norm_topk_prob=True, vocab_size=49152,
        max_position_embeddings=32768, tie_word_embeddings=False),
}


def write_folder(shape, folder):
    config = transformers.AutoConfig.for_model(**SHAPES[shape])
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float16)
    model = transformers.AutoModelForCausalLM.from_config(config)
    model.save_pretrained(folder)
    print(f"{shape}: {model.num_parameters() / 1e9:.2f} billion parameters")
    # The converter asks for a tokenizer, which is not written.
    pieces = {str(i): i for i in range(config.vocab_size)}
    (folder / "tokenizer.json").write_text(json.dumps(
        {"model": {"type": "WordPiece", "vocab": pieces}, "added_tokens": []}))


def convert(llama, folder, out):
    sys.path[:0] = [str(llama), str(llama / "gguf-py")]
    logging.disable(logging.CRITICAL)
    import gguf
    from conversion import (ModelBase, ModelType, get_model_architecture,
                            get_model_class)

    hparams = ModelBase.load_hparams(folder, False)
    known = get_model_class(
        get_model_architecture(hparams, ModelType.TEXT), mmproj=False)
    known.no_mtp = True

    def set_vocab(self):
        self.gguf_writer.add_tokenizer_model("none")
        self.gguf_writer.add_vocab_size(self.hparams["vocab_size"])

    converter = type(known.__name__, (known,),
                     {"model_arch": known.model_arch, "set_vocab": set_vocab})
    converter(folder, gguf.LlamaFileType.MOSTLY_F16, out, eager=True,
              hparams=hparams).write()


def main():
    llama, shape, out = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=pathlib.Path(out).parent) as folder:
        folder = pathlib.Path(folder)
        write_folder(shape, folder)
        convert(pathlib.Path(llama), folder, pathlib.Path(out))


if __name__ == "__main__":
    main()
