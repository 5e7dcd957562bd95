#!/usr/bin/env python3
"""Makes golden cases of Jina's encoders, whose classes Transformers does not
have: tiny random models and what a port of their published code computes with
them, in double precision.

    make_jina_goldens.py tests/golden

jina_bert.base   jinaai/jina-bert-implementation (jina-embeddings-v2)
jina_bert.fill_mask  the same with the head of its masked language model
jina_bert.code   jinaai/jina-bert-v2-qk-post-norm (jina-embeddings-v2-base-code)
xlm-roberta.task jinaai/xlm-roberta-flash-implementation (jina-embeddings-v3)
                 with the adapter of one task of three
xlm-roberta.flash the same code with RoBERTa's positions and a classifier
                 (jina-reranker-v2)

The published code itself has not been run: it cannot be fetched everywhere.
Transformers' JinaEmbeddingsV3Model judges the rotary one without adapters
(jina_embeddings_v3.base, by make_encoder_golden.py).

Needs PyPI's numpy and safetensors; the tests themselves do not.
"""

import json
import math
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file

LAYERS, VOCABULARY, INNER, EPSILON = 2, 211, 40, 1e-12


def gelu(x):
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def slopes(heads):
    """ALiBi's slope of each head, as Press et al. 2022 choose them."""

    def of_power(n):
        start = 2 ** -(2 ** -(math.log2(n) - 3))
        return [start ** (i + 1) for i in range(n)]

    power = 2 ** math.floor(math.log2(heads))
    return of_power(power) + of_power(2 * power)[::2][: heads - power]


class Model:
    """Weights by name, made when they are first read."""

    def __init__(self, seed, width, heads, prefix=""):
        self.random = np.random.default_rng(seed)
        self.width, self.heads, self.prefix = width, heads, prefix
        self.weights = {}

    def weight(self, name, shape, mean=0.0, deviation=1.0):
        if not name.startswith(("cls.", "classifier.")):
            name = self.prefix + name
        if name not in self.weights:
            value = self.random.normal(mean, deviation, shape)
            self.weights[name] = value.astype(np.float32)
        return self.weights[name].astype(np.float64)

    def matrix(self, name, out, inputs):
        return self.weight(name + ".weight", (out, inputs),
                           deviation=1.5 / math.sqrt(inputs))

    def linear(self, name, x, out, bias=True):
        y = x @ self.matrix(name, out, x.shape[-1]).T
        return y + self.weight(name + ".bias", out, 0, 0.3) if bias else y

    def norm(self, name, x):
        width = x.shape[-1]
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)
        return (x * self.weight(name + ".weight", width, 1, 0.2)
                + self.weight(name + ".bias", width, 0, 0.2))

    def table(self, name, rows):
        return self.matrix(name, rows, self.width)

    def split(self, x):
        return x.reshape(len(x), self.heads, -1).transpose(1, 0, 2)

    def attend(self, query, key, value, bias=0.0):
        """[tokens, width] each; returns the output and the weights."""
        query, key, value = map(self.split, (query, key, value))
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        weights = softmax(scores + bias)
        joined = (weights @ value).transpose(1, 0, 2)
        return joined.reshape(len(joined), self.width), weights


class JinaBert(Model):
    def __init__(self, seed, width, heads, code=False, masked=False):
        super().__init__(seed, width, heads, "bert." if masked else "")
        self.code, self.masked = code, masked

    def attention(self, name, x):
        query, key, value = (
            self.linear(f"{name}self.{part}", x, self.width)
            for part in ("query", "key", "value"))
        if self.code:
            query = self.norm(name + "self.layer_norm_q", query)
            key = self.norm(name + "self.layer_norm_k", key)
        places = np.arange(len(x))
        distance = np.abs(places[:, None] - places)
        bias = -np.array(slopes(self.heads))[:, None, None] * distance
        out, weights = self.attend(query, key, value, bias)
        out = self.linear(name + "output.dense", out, self.width)
        return self.norm(name + "output.LayerNorm", x + out), weights

    def feed_forward(self, name, x):
        if self.code:
            both = self.linear(name + "mlp.up_gated_layer", x, 2 * INNER, False)
            hidden = both[:, :INNER] * gelu(both[:, INNER:])
            out = self.linear(name + "mlp.down_layer", hidden, self.width)
            return self.norm(name + "layer_norm_2", x + out)
        both = self.linear(name + "mlp.gated_layers", x, 2 * INNER, False)
        hidden = gelu(both[:, :INNER]) * both[:, INNER:]
        out = self.linear(name + "mlp.wo", hidden, self.width)
        return self.norm(name + "mlp.layernorm", x + out)

    def run(self, run):
        ids, types = run["input_ids"], run["token_type_ids"]
        x = (self.table("embeddings.word_embeddings", VOCABULARY)[ids]
             + self.table("embeddings.token_type_embeddings", 2)[types])
        x = self.norm("embeddings.LayerNorm", x)
        maps = []
        for i in range(LAYERS):
            name = f"encoder.layer.{i}."
            out, weights = self.attention(name + "attention.", x)
            maps.append(weights)
            if self.code:
                out = self.norm(name + "layer_norm_1", x + out)
            x = self.feed_forward(name, out)
        results = {"last_hidden_state": x}
        if self.code:
            results["pooler_output"] = np.tanh(
                self.linear("pooler.dense", x[:1], self.width))[0]
        if self.masked:
            name = "cls.predictions."
            y = gelu(self.linear(name + "transform.dense", x, self.width))
            y = self.norm(name + "transform.LayerNorm", y)
            words = self.table("embeddings.word_embeddings", VOCABULARY)
            results["logits"] = y @ words.T + self.weight(
                name + "bias", VOCABULARY, 0, 0.3)
        return results, maps


TASKS, RANK, ALPHA = ["retrieval.query", "retrieval.passage", "separation"], 3, 2.0


class XlmRobertaFlash(Model):
    def __init__(self, seed, width, heads, task):
        super().__init__(seed, width, heads, "roberta.")
        self.task = task  # None: positions are learned, and there is a head

    def adapted(self, name, rows, columns, table=False):
        """A weight [rows, columns], and the task's adapter added to it."""
        deviation = 1 if table else 1.5 / math.sqrt(columns)
        if self.task is None or name.startswith("classifier."):
            return self.weight(name + ".weight", (rows, columns), 0, deviation)
        name += ".parametrizations.weight."
        plain = self.weight(name + "original", (rows, columns), 0, deviation)
        left, right = (len(TASKS), rows, RANK), (len(TASKS), RANK, columns)
        a = self.weight(name + "0.lora_A", left if table else right, 0, 0.3)
        b = self.weight(name + "0.lora_B", right if table else left, 0, 0.3)
        one, other = (a, b) if table else (b, a)
        i = TASKS.index(self.task)
        return plain + ALPHA / RANK * one[i] @ other[i]

    def linear(self, name, x, out, bias=True):
        return (x @ self.adapted(name, out, x.shape[-1]).T
                + self.weight(name + ".bias", out, 0, 0.3))

    def turned(self, x):
        size = self.width // self.heads
        frequencies = 20000.0 ** (-np.arange(0, size, 2) / size)
        angles = np.arange(len(x))[:, None, None] * frequencies
        first, second = np.split(x.reshape(len(x), self.heads, size), 2, -1)
        cosine, sine = np.cos(angles), np.sin(angles)
        return np.concatenate([first * cosine - second * sine,
                               second * cosine + first * sine],
                              -1).reshape(x.shape)

    def run(self, run):
        ids = run["input_ids"]
        x = (self.adapted("embeddings.word_embeddings", VOCABULARY, self.width,
                          True)[ids]
             + self.adapted("embeddings.token_type_embeddings", 1, self.width,
                            True)[0])
        if self.task is None:
            places = np.cumsum(np.array(ids) != 1) * (np.array(ids) != 1) + 1
            x = x + self.adapted("embeddings.position_embeddings", 66,
                                 self.width, True)[places]
        x = self.norm("emb_ln", x)
        maps = []
        for i in range(LAYERS):
            name = f"encoder.layers.{i}."
            parts = np.split(
                self.linear(name + "mixer.Wqkv", x, 3 * self.width), 3, -1)
            if self.task is not None:
                parts[:2] = map(self.turned, parts[:2])
            out, weights = self.attend(*parts)
            maps.append(weights)
            out = self.linear(name + "mixer.out_proj", out, self.width)
            x = self.norm(name + "norm1", x + out)
            out = gelu(self.linear(name + "mlp.fc1", x, INNER))
            out = self.linear(name + "mlp.fc2", out, self.width)
            x = self.norm(name + "norm2", x + out)
        results = {"last_hidden_state": x}
        if self.task is None:
            y = np.tanh(self.linear("classifier.dense", x[:1], self.width))
            results["logits"] = self.linear("classifier.out_proj", y, 1)[0]
        return results, maps


def config(architecture, model, kind, **more):
    return {
        "architectures": [architecture], "hidden_act": "gelu",
        "hidden_size": model.width, "intermediate_size": INNER,
        "layer_norm_eps": EPSILON, "model_type": kind,
        "num_attention_heads": model.heads, "num_hidden_layers": LAYERS,
        "vocab_size": VOCABULARY,
    } | more


def jina_config(architecture, model, code):
    return config(
        architecture, model, "bert", max_position_embeddings=64,
        type_vocab_size=2, position_embedding_type="alibi",
        feed_forward_type="geglu", emb_pooler="mean", pad_token_id=0,
        auto_map={"AutoModel": f"jinaai/{code}--modeling_bert.JinaBertModel"})


def flash_config(architecture, model, **more):
    return config(
        architecture, model, "xlm-roberta", max_position_embeddings=66,
        type_vocab_size=1, pad_token_id=1, use_flash_attn=True, auto_map={
            "AutoModel": "jinaai/xlm-roberta-flash-implementation"
                         "--modeling_lora.XLMRobertaLoRA"}, **more)


def main():
    root = pathlib.Path(sys.argv[1])
    base, code = JinaBert(31, 32, 2), JinaBert(32, 48, 3, code=True)
    masked = JinaBert(35, 24, 3, masked=True)
    task = XlmRobertaFlash(33, 32, 2, "separation")
    flash = XlmRobertaFlash(34, 32, 2, None)
    cases = {
        "jina_bert.base": (base, jina_config(
            "JinaBertModel", base, "jina-bert-implementation")),
        "jina_bert.fill_mask": (masked, jina_config(
            "JinaBertForMaskedLM", masked, "jina-bert-implementation")),
        "jina_bert.code": (code, jina_config(
            "JinaBertModel", code, "jina-bert-v2-qk-post-norm")),
        "xlm-roberta.task": (task, flash_config(
            "XLMRobertaModel", task, position_embedding_type="rotary",
            rotary_emb_base=20000.0, lora_adaptations=TASKS, lora_rank=RANK,
            lora_alpha=ALPHA, lora_task=task.task, task_instructions={
                "retrieval.query": "Question: ", "retrieval.passage": "Text: ",
                "separation": ""})),
        "xlm-roberta.flash": (flash, flash_config(
            "XLMRobertaForSequenceClassification", flash, num_labels=1,
            position_embedding_type="absolute")),
    }
    for name, (model, values) in cases.items():
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        runs, tensors = [], {}
        for i, tokens in enumerate((5, 3, 23, 9)):
            ids = model.random.integers(2, VOCABULARY, tokens).tolist()
            if i == 3:
                ids[4] = 1  # padding for some
            run = {"input_ids": ids}
            if values["type_vocab_size"] > 1:
                run["token_type_ids"] = [k * 2 // tokens for k in range(tokens)]
            runs.append(run)
            results, maps = model.run(run)
            for key, value in results.items():
                tensors[f"{i}.{key}"] = value
            for layer, weight in enumerate(maps if i == 0 else []):
                tensors[f"{i}.attentions.{layer}"] = weight
        save_file(model.weights, folder / "model.safetensors")
        save_file({n: np.ascontiguousarray(t, np.float32)
                   for n, t in tensors.items()}, folder / "golden.safetensors")
        (folder / "config.json").write_text(
            json.dumps(values, indent=2, sort_keys=True) + "\n")
        (folder / "golden.json").write_text(json.dumps(
            {"kind": "encoder", "architecture": values["architectures"][0],
             "runs": runs}, indent=1) + "\n")
        print(folder)


if __name__ == "__main__":
    main()
