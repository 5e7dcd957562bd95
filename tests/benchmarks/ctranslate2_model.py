"""Marian folders as CTranslate2 models.

ct2-transformers-converter needs torch and transformers; this fills the same
specification with numpy, as that converter's loader for Marian does, and lets
CTranslate2 quantize and write it. One difference: that loader drops the padding
token and starts the decoder from a zero embedding, which is right where the
token's embedding is zero; here the token stays, its embedding starts the
decoder, and a bias keeps it from being chosen.
"""

import json
import math
import pathlib
import shutil

import ctranslate2
import numpy as np
from ctranslate2.specs import common_spec, transformer_spec

import marian_folder

ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "swish": common_spec.Activation.SWISH,
    "silu": common_spec.Activation.SWISH,
}


def vocabulary(folder, config):
    """The tokens by id."""
    size = config["vocab_size"]
    path = pathlib.Path(folder, "vocab.json")
    if not path.is_file():
        return ["</s>", "<unk>"] + [f"t{i}" for i in range(2, size)]
    pieces = json.loads(path.read_text(encoding="utf-8"))
    return sorted(pieces, key=pieces.get)[:size]


def convert(folder, output, quantization):
    """Writes the model; quantization None is f32."""
    folder, output = pathlib.Path(folder), pathlib.Path(output)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tensors = marian_folder.read_safetensors(folder / "model.safetensors")
    spec = transformer_spec.TransformerSpec.from_config(
        (config["encoder_layers"], config["decoder_layers"]),
        config["encoder_attention_heads"],
        pre_norm=False,
        activation=ACTIVATIONS[config["activation_function"]],
    )
    scale = math.sqrt(config["d_model"]) if config["scale_embedding"] else 1.0
    positions = marian_folder.sinusoidal_positions(
        config["max_position_embeddings"], config["d_model"]
    )
    tokens = vocabulary(folder, config)
    embeddings = tensors["model.shared.weight"]

    def linear(out, *names):
        weights = [tensors[name + ".weight"] for name in names]
        biases = [tensors[name + ".bias"] for name in names]
        out.weight = np.concatenate(weights)
        out.bias = np.concatenate(biases)

    def norm(out, name):
        out.gamma = tensors[name + ".weight"]
        out.beta = tensors[name + ".bias"]

    def layer(out, name, has_cross_attention):
        own = name + ".self_attn"
        linear(out.self_attention.linear[0],
               own + ".q_proj", own + ".k_proj", own + ".v_proj")
        linear(out.self_attention.linear[1], own + ".out_proj")
        norm(out.self_attention.layer_norm, own + "_layer_norm")
        if has_cross_attention:
            cross = name + ".encoder_attn"
            linear(out.attention.linear[0], cross + ".q_proj")
            linear(out.attention.linear[1], cross + ".k_proj", cross + ".v_proj")
            linear(out.attention.linear[2], cross + ".out_proj")
            norm(out.attention.layer_norm, cross + "_layer_norm")
        linear(out.ffn.linear_0, name + ".fc1")
        linear(out.ffn.linear_1, name + ".fc2")
        norm(out.ffn.layer_norm, name + ".final_layer_norm")

    for stack, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        stack.scale_embeddings = scale
        stack.position_encodings.encodings = positions
        for i, out in enumerate(stack.layer):
            layer(out, f"model.{name}.layers.{i}", name == "decoder")
    spec.encoder.embeddings[0].weight = embeddings
    spec.decoder.embeddings.weight = embeddings
    spec.decoder.projection.weight = embeddings
    spec.decoder.projection.bias = tensors["final_logits_bias"].reshape(-1)
    spec.decoder.projection.bias[config["pad_token_id"]] = -1e9
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.eos_token = "</s>"
    spec.config.unk_token = "<unk>"
    spec.config.decoder_start_token = tokens[config["decoder_start_token_id"]]
    spec.validate()
    spec.optimize(quantization=quantization)
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    spec.save(str(output))


class Translator:
    """A converted model that reads and writes ids."""

    def __init__(self, folder, converted, compute_type, threads, one_by_one):
        """`threads` in parallel: as translators of one thread each, or (when
        one_by_one) as one translator whose products use them all."""
        config = json.loads(pathlib.Path(folder, "config.json").read_text())
        self._tokens = vocabulary(folder, config)
        self._ids = {token: i for i, token in enumerate(self._tokens)}
        self._translator = ctranslate2.Translator(
            str(converted),
            device="cpu",
            compute_type=compute_type,
            inter_threads=1 if one_by_one else threads,
            intra_threads=threads if one_by_one else 1,
        )

    def translate(self, sources, beam, batch, new_tokens, max_new_tokens):
        """Ids of the best hypotheses, the end token left out."""
        results = self._translator.translate_batch(
            [[self._tokens[i] for i in ids] for ids in sources],
            beam_size=beam,
            max_batch_size=batch,
            max_decoding_length=new_tokens or max_new_tokens,
            min_decoding_length=new_tokens or 1,
            length_penalty=1.0,
            return_scores=False,
        )
        return [[self._ids[t] for t in r.hypotheses[0]] for r in results]
