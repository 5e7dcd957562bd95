"""What CTranslate2's own converters make of Transformers' folders, with numpy
alone: a filled specification for each family, from config.json and tensors."""

import math

import numpy as np
from ctranslate2.specs import common_spec, transformer_spec

import marian_folder

ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "swish": common_spec.Activation.SWISH,
    "silu": common_spec.Activation.SWISH,
}


class Filler:
    """Puts tensors into a specification's places."""

    def __init__(self, tensors):
        self._tensors = tensors

    def linear(self, out, *names):
        """Layers that read the same, stacked."""
        out.weight = self._stacked(names, "weight")
        if names[0] + ".bias" in self._tensors:
            out.bias = self._stacked(names, "bias")

    def norm(self, out, name):
        out.gamma = self._tensors[name + ".weight"]
        if name + ".bias" in self._tensors:
            out.beta = self._tensors[name + ".bias"]

    def self_attention(self, out, name, parts):
        query, key, value, output = (f"{name}.{part}" for part in parts)
        self.linear(out.linear[0], query, key, value)
        self.linear(out.linear[1], output)

    def cross_attention(self, out, name, parts):
        query, key, value, output = (f"{name}.{part}" for part in parts)
        self.linear(out.linear[0], query)
        self.linear(out.linear[1], key, value)
        self.linear(out.linear[2], output)

    def _stacked(self, names, kind):
        return np.concatenate([self._tensors[f"{n}.{kind}"] for n in names])


def bart(config, tensors):
    """Also what Marian has in common with it."""
    embedding_norms = "model.encoder.layernorm_embedding.weight" in tensors
    spec = transformer_spec.TransformerSpec.from_config(
        (config["encoder_layers"], config["decoder_layers"]),
        config["encoder_attention_heads"],
        pre_norm=False,
        activation=ACTIVATIONS[config["activation_function"]],
        layernorm_embedding=embedding_norms,
    )
    fill = Filler(tensors)
    parts = ("q_proj", "k_proj", "v_proj", "out_proj")
    for stack, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        stack.scale_embeddings = (
            math.sqrt(config["d_model"]) if config["scale_embedding"] else 1.0)
        for i, out in enumerate(stack.layer):
            layer = f"model.{name}.layers.{i}"
            fill.self_attention(out.self_attention, layer + ".self_attn", parts)
            fill.norm(out.self_attention.layer_norm,
                      layer + ".self_attn_layer_norm")
            if name == "decoder":
                fill.cross_attention(out.attention, layer + ".encoder_attn",
                                     parts)
                fill.norm(out.attention.layer_norm,
                          layer + ".encoder_attn_layer_norm")
            fill.linear(out.ffn.linear_0, layer + ".fc1")
            fill.linear(out.ffn.linear_1, layer + ".fc2")
            fill.norm(out.ffn.layer_norm, layer + ".final_layer_norm")
        if embedding_norms:
            fill.norm(stack.layernorm_embedding,
                      f"model.{name}.layernorm_embedding")
            # The first position's row is the third.
            stack.position_encodings.encodings = tensors[
                f"model.{name}.embed_positions.weight"][2:]
    embeddings = tensors["model.shared.weight"]
    spec.encoder.embeddings[0].weight = embeddings
    spec.decoder.embeddings.weight = embeddings
    spec.decoder.projection.weight = embeddings
    spec.decoder.projection.bias = tensors["final_logits_bias"].reshape(-1)
    return spec


def marian(config, tensors):
    """One difference: CTranslate2's loader drops the padding token and starts
    the decoder from a zero embedding, which is right where the token's
    embedding is zero; here the token stays, its embedding starts the decoder,
    and a bias keeps it from being chosen."""
    spec = bart(config, tensors)
    positions = marian_folder.sinusoidal_positions(
        config["max_position_embeddings"], config["d_model"])
    for stack in (spec.encoder, spec.decoder):
        stack.position_encodings.encodings = positions
    spec.decoder.projection.bias[config["pad_token_id"]] = -1e9
    return spec


def t5(config, tensors):
    """T5 1.0, its output tied to its embeddings."""
    spec = transformer_spec.TransformerSpec.from_config(
        (config["num_layers"], config["num_decoder_layers"]),
        config["num_heads"],
        pre_norm=True,
        activation=ACTIVATIONS[config["feed_forward_proj"]],
        relative_attention_bias=True,
        rms_norm=True,
    )
    fill = Filler(tensors)
    parts = ("q", "k", "v", "o")
    for stack, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        stack.scale_embeddings = False
        fill.norm(stack.layer_norm, name + ".final_layer_norm")
        for i, out in enumerate(stack.layer):
            layer = f"{name}.block.{i}.layer."
            own = out.self_attention
            own.queries_scale = 1.0
            # All layers have the first one's bias.
            own.relative_attention_bias = tensors[
                f"{name}.block.0.layer.0.SelfAttention."
                "relative_attention_bias.weight"]
            own.relative_attention_max_distance = np.int32(
                config["relative_attention_max_distance"])
            fill.self_attention(own, layer + "0.SelfAttention", parts)
            fill.norm(own.layer_norm, layer + "0.layer_norm")
            last = 1
            if name == "decoder":
                last = 2
                out.attention.queries_scale = 1.0
                fill.cross_attention(out.attention, layer + "1.EncDecAttention",
                                     parts)
                fill.norm(out.attention.layer_norm, layer + "1.layer_norm")
            dense = f"{layer}{last}.DenseReluDense."
            fill.linear(out.ffn.linear_0, dense + "wi")
            fill.linear(out.ffn.linear_1, dense + "wo")
            fill.norm(out.ffn.layer_norm, f"{layer}{last}.layer_norm")
    embeddings = tensors["shared.weight"]
    spec.encoder.embeddings[0].weight = embeddings
    spec.decoder.embeddings.weight = embeddings
    spec.decoder.projection.weight = embeddings
    spec.decoder.scale_outputs = config["d_model"] ** -0.5
    return spec


FAMILIES = {"marian": marian, "bart": bart, "t5": t5}
