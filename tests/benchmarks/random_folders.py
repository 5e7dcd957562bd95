"""Encoder-decoders of known shapes with random weights: for speed, not for
text."""

import dataclasses
import json
import math
import pathlib

import numpy as np

import marian_folder


@dataclasses.dataclass(frozen=True)
class Shape:
    """A stack has `layers` of them, and attention is as wide as the model."""
    family: str
    d_model: int
    layers: int
    ffn: int
    heads: int
    vocabulary: int
    end: int  # the id that ends a source

    def operations(self, source_tokens, new_tokens, beam):
        """Of the products, for a sentence; attention's own do not count."""
        d = self.d_model
        feed_forward = 2 * d * self.ffn
        encoder = self.layers * (4 * d * d + feed_forward)
        cross = self.layers * 2 * d * d  # keys and values, once a source
        decoder = self.layers * (6 * d * d + feed_forward) + d * self.vocabulary
        return 2 * (source_tokens * (encoder + cross)
                    + beam * new_tokens * decoder)


OPUS_MT = marian_folder.OPUS_MT
SHAPES = {
    "opus-mt": Shape("marian", OPUS_MT["d_model"], OPUS_MT["layers"],
                     OPUS_MT["ffn"], OPUS_MT["heads"], OPUS_MT["vocabulary"],
                     end=0),
    "t5-small": Shape("t5", 512, 6, 2048, 8, 32128, end=1),
    "bart-base": Shape("bart", 768, 6, 3072, 12, 50265, end=2),
}


def write(folder, name):
    """A folder of the shape of that name."""
    shape = SHAPES[name]
    if shape.family == "marian":
        marian_folder.write_random(folder, OPUS_MT)
        return
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config, tensors = (t5 if shape.family == "t5" else bart)(
        shape, np.random.default_rng(1))
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    marian_folder.write_safetensors(
        folder / "model.safetensors",
        {name: array.astype(np.float16) for name, array in tensors.items()})


def t5(shape, random):
    """T5 1.0. Queries and outputs of sublayers are several times those that T5
    begins its training with, so that a token does more than repeat itself."""
    d, ffn, buckets = shape.d_model, shape.ffn, 32
    config = {
        "model_type": "t5",
        "d_model": d,
        "d_ff": ffn,
        "d_kv": d // shape.heads,
        "num_heads": shape.heads,
        "num_layers": shape.layers,
        "num_decoder_layers": shape.layers,
        "vocab_size": shape.vocabulary,
        "feed_forward_proj": "relu",
        "layer_norm_epsilon": 1e-6,
        "relative_attention_num_buckets": buckets,
        "relative_attention_max_distance": 128,
        "tie_word_embeddings": True,
        "is_encoder_decoder": True,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
    }
    tensors = {"shared.weight": random.normal(0, 1, (shape.vocabulary, d))}

    def attention(name):
        # Scores are not scaled by 1 / sqrt(d_kv): queries are that small.
        tensors[name + ".q.weight"] = random.normal(
            0, 6 * (d * config["d_kv"]) ** -0.5, (d, d))
        for part in ("k", "v"):
            tensors[f"{name}.{part}.weight"] = random.normal(0, d**-0.5, (d, d))
        tensors[name + ".o.weight"] = random.normal(0, 6 * d**-0.5, (d, d))

    for stack in ("encoder", "decoder"):
        for i in range(shape.layers):
            layer = f"{stack}.block.{i}.layer."
            attention(layer + "0.SelfAttention")
            if i == 0:
                tensors[layer + "0.SelfAttention.relative_attention_bias.weight"
                        ] = random.normal(0, 1, (buckets, shape.heads))
            if stack == "decoder":
                attention(layer + "1.EncDecAttention")
            last = 2 if stack == "decoder" else 1
            dense = f"{layer}{last}.DenseReluDense."
            tensors[dense + "wi.weight"] = random.normal(0, d**-0.5, (ffn, d))
            tensors[dense + "wo.weight"] = random.normal(0, 6 * ffn**-0.5,
                                                         (d, ffn))
            for sublayer in range(last + 1):
                tensors[f"{layer}{sublayer}.layer_norm.weight"] = np.ones(d)
        tensors[stack + ".final_layer_norm.weight"] = np.ones(d)
    return config, tensors


def bart(shape, random):
    """Attention is several times sharper than that of a fresh model."""
    d, ffn, positions = shape.d_model, shape.ffn, 1024
    config = {
        "model_type": "bart",
        "d_model": d,
        "encoder_layers": shape.layers,
        "decoder_layers": shape.layers,
        "encoder_attention_heads": shape.heads,
        "decoder_attention_heads": shape.heads,
        "encoder_ffn_dim": ffn,
        "decoder_ffn_dim": ffn,
        "activation_function": "gelu",
        "max_position_embeddings": positions,
        "scale_embedding": False,
        "tie_word_embeddings": True,
        "is_encoder_decoder": True,
        "vocab_size": shape.vocabulary,
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
        "forced_eos_token_id": None,
    }
    tensors = {
        "model.shared.weight": random.normal(0, d**-0.5, (shape.vocabulary, d)),
        "final_logits_bias": np.zeros((1, shape.vocabulary)),
    }

    def linear(name, out, into, factor=1):
        tensors[name + ".weight"] = random.normal(
            0, factor * math.sqrt(1 / into), (out, into))
        tensors[name + ".bias"] = random.normal(0, 0.02, out)

    def norm(name):
        tensors[name + ".weight"] = np.ones(d)
        tensors[name + ".bias"] = np.zeros(d)

    def attention(name):
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            linear(f"{name}.{part}", d, d, factor=2.5)
        norm(name + "_layer_norm")

    for stack in ("encoder", "decoder"):
        name = "model." + stack
        # Two rows of the table come before the first position's.
        tensors[name + ".embed_positions.weight"] = random.normal(
            0, d**-0.5, (positions + 2, d))
        norm(name + ".layernorm_embedding")
        for i in range(shape.layers):
            layer = f"{name}.layers.{i}"
            attention(layer + ".self_attn")
            if stack == "decoder":
                attention(layer + ".encoder_attn")
            linear(layer + ".fc1", ffn, d)
            linear(layer + ".fc2", d, ffn)
            norm(layer + ".final_layer_norm")
    return config, tensors
