#!/usr/bin/env python3
"""Makes tests/golden/nomic_bert.experts: a tiny random model in the form of
nomic-embed-text-v2-moe, whose class Transformers does not have. Computed in
double precision by the equations of the model's own code (nomic-bert-2048's
modeling_hf_nomic_bert.py): layers 1, 3... have experts without a gate, of which
each token takes the best two, weighted by the softmax over all of them, and one
bias for their sum.

    make_nomic_experts_golden.py FOLDER [--no-bias]

With --no-bias, the experts' bias is zero, since GGUF files leave it out
(tests/golden/nomic_bert.no_bias).

Needs PyPI's numpy and safetensors; the tests themselves do not.
"""

import json
import math
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file

LAYERS, WIDTH, HEADS, INNER, EXPERTS, VOCABULARY = 4, 32, 2, 48, 4, 307
CONFIG = {
    "activation_function": "gelu", "add_pooling_layer": False,
    "architectures": ["NomicBertModel"], "causal": False,
    "expert_choice_router": False, "ffn_div": 1, "fused_bias_fc": True,
    "layer_norm_epsilon": 1e-05, "max_trained_positions": 64,
    "mlp_fc1_bias": True, "mlp_fc2_bias": True, "model_type": "nomic_bert",
    "moe_every_n_layers": 2, "moe_impl": "megablocks",
    "moe_normalize_expert_weights": False, "moe_resid_pdrop": 0.0,
    "moe_top_k": 2, "n_embd": WIDTH, "n_head": HEADS, "n_inner": INNER,
    "n_layer": LAYERS, "n_positions": 64, "norm_factor": 1.0,
    "num_experts": EXPERTS, "num_shared_experts": 0, "pad_token_id": 1,
    "parallel_block": False, "prenorm": False, "qkv_proj_bias": True,
    "rotary_emb_base": 10000.0, "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False, "rotary_emb_scale_base": None,
    "rotary_scaling_factor": None, "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True, "type_vocab_size": 1, "use_rms_norm": False,
    "vocab_size": VOCABULARY,
}


def make_weights(random):
    weights = {}

    def linear(name, out, inputs, deviation=1.5):
        weights[name + ".weight"] = random.normal(
            0, deviation / math.sqrt(inputs), (out, inputs))
        weights[name + ".bias"] = random.normal(0, 0.2, out)

    def norm(name):
        weights[name + ".weight"] = random.normal(1, 0.2, WIDTH)
        weights[name + ".bias"] = random.normal(0, 0.2, WIDTH)

    weights["embeddings.word_embeddings.weight"] = random.normal(
        0, 1, (VOCABULARY, WIDTH))
    weights["embeddings.token_type_embeddings.weight"] = random.normal(
        0, 1, (1, WIDTH))
    norm("emb_ln")
    for i in range(LAYERS):
        name = f"encoder.layers.{i}."
        linear(name + "attn.Wqkv", 3 * WIDTH, WIDTH, 2)
        linear(name + "attn.out_proj", WIDTH, WIDTH)
        norm(name + "norm1")
        norm(name + "norm2")
        if i % 2 == 0:
            linear(name + "mlp.fc1", INNER, WIDTH)
            linear(name + "mlp.fc2", WIDTH, INNER)
            continue
        weights[name + "mlp.router.layer.weight"] = random.normal(
            0, 0.3, (EXPERTS, WIDTH))
        for part, inputs in ("w1", WIDTH), ("w2", INNER):
            weights[name + "mlp.experts.mlp." + part] = random.normal(
                0, 2 / math.sqrt(inputs), (EXPERTS * INNER, WIDTH))
        weights[name + "mlp.experts.bias"] = random.normal(0, 0.5, WIDTH)
    return {name: value.astype(np.float32) for name, value in weights.items()}


def gelu(x):
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


class Model:
    def __init__(self, weights):
        self.weights = {n: w.astype(np.float64) for n, w in weights.items()}

    def linear(self, name, x):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def attention(self, name, x):
        tokens, size = len(x), WIDTH // HEADS
        qkv = self.linear(name + "Wqkv", x).reshape(tokens, 3, HEADS, size)
        query, key, value = (qkv[:, i].transpose(1, 0, 2) for i in range(3))
        frequencies = 10000.0 ** (-np.arange(0, size, 2) / size)
        angles = np.arange(tokens)[:, None] * frequencies
        cosine, sine = np.cos(angles), np.sin(angles)

        def turned(heads):
            first, second = np.split(heads, 2, axis=-1)
            return np.concatenate([first * cosine - second * sine,
                                   second * cosine + first * sine], -1)

        weights = softmax(turned(query) @ turned(key).transpose(0, 2, 1)
                          / math.sqrt(size))
        out = (weights @ value).transpose(1, 0, 2).reshape(tokens, WIDTH)
        return self.linear(name + "out_proj", out), weights

    def feed_forward(self, name, x):
        router = self.weights.get(name + "router.layer.weight")
        if router is None:
            return self.linear(name + "fc2", gelu(self.linear(name + "fc1", x)))
        shares = softmax(x @ router.T)
        shape = (EXPERTS, INNER, WIDTH)
        first = self.weights[name + "experts.mlp.w1"].reshape(shape)
        second = self.weights[name + "experts.mlp.w2"].reshape(shape)
        out = np.zeros_like(x)
        for token, row in enumerate(x):
            for expert in np.argsort(-shares[token])[:2]:
                out[token] += shares[token, expert] * (
                    gelu(row @ first[expert].T) @ second[expert])
        return out + self.weights[name + "experts.bias"]

    def run(self, ids):
        x = self.weights["embeddings.word_embeddings.weight"][ids]
        x = x + self.weights["embeddings.token_type_embeddings.weight"][0]
        x = self.norm("emb_ln", x)
        maps = []
        for i in range(LAYERS):
            name = f"encoder.layers.{i}."
            out, weights = self.attention(name + "attn.", x)
            maps.append(weights)
            x = self.norm(name + "norm1", x + out)
            x = self.norm(name + "norm2",
                          x + self.feed_forward(name + "mlp.", x))
        return x, maps


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(23)
    weights = make_weights(random)
    if "--no-bias" in sys.argv[2:]:
        for name in weights:
            if name.endswith("experts.bias"):
                weights[name] *= 0
    model = Model(weights)
    runs, tensors = [], {}
    for i, tokens in enumerate((5, 3, 23, 9)):
        ids = random.integers(2, VOCABULARY, tokens).tolist()
        runs.append({"input_ids": ids})
        states, maps = model.run(ids)
        tensors[f"{i}.last_hidden_state"] = states
        for layer, weight in enumerate(maps if i == 0 else []):
            tensors[f"{i}.attentions.{layer}"] = weight
    save_file(weights, folder / "model.safetensors")
    save_file({n: np.ascontiguousarray(t, np.float32) for n, t in tensors.items()},
              folder / "golden.safetensors")
    (folder / "config.json").write_text(
        json.dumps(CONFIG, indent=2, sort_keys=True) + "\n")
    (folder / "golden.json").write_text(json.dumps(
        {"kind": "encoder", "architecture": "NomicBertModel", "runs": runs},
        indent=1) + "\n")


if __name__ == "__main__":
    main()
