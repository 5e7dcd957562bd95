"""Writes encoders of published shapes with random weights: for speed, not for
meaning."""

import dataclasses
import json
import math
import pathlib

import numpy as np

import marian_folder


@dataclasses.dataclass(frozen=True)
class Shape:
    d_model: int
    layers: int
    ffn: int
    heads: int
    vocabulary: int
    family: str = "bert"
    positions: int = 512
    pad: int = 0
    # "sparse": logits of the whole vocabulary for every token, pooled to one
    # sparse embedding (SPLADE). "rank": one logit of the pooled first token.
    head: str = ""

    @property
    def sparse(self):
        return self.head == "sparse"

    def operations(self):
        """Of the products with weights, for a token; attention's own do not
        count."""
        d = self.d_model
        matrices = 3 if self.family == "modernbert" else 2  # gated
        total = self.layers * (4 * d * d + matrices * d * self.ffn)
        if self.sparse:
            total += d * d + d * self.vocabulary
        return 2 * total


SHAPES = {
    "bert-base": Shape(768, 12, 3072, 12, 30522),
    "minilm": Shape(384, 6, 1536, 12, 30522),
    "minilm-ranker": Shape(384, 6, 1536, 12, 30522, head="rank"),
    "modernbert-base": Shape(768, 22, 1152, 12, 50368, family="modernbert",
                             positions=8192),
    # XLM-R large. Its vocabulary has 250,002 tokens, of which an embedding
    # reads one row each: a smaller one is as fast and fits into ONNX's 2 GB.
    "bge-m3": Shape(1024, 24, 4096, 16, 16002, family="xlm-roberta",
                    positions=8194, pad=1),
    "splade": Shape(768, 12, 3072, 12, 30522, head="sparse"),
    # For a look at whether a command works.
    "tiny": Shape(64, 2, 128, 2, 1000),
    "tiny-modernbert": Shape(64, 4, 96, 2, 1000, family="modernbert",
                             positions=1024),
    "tiny-xlm-roberta": Shape(64, 2, 128, 2, 1000, family="xlm-roberta",
                              positions=514, pad=1),
    "tiny-splade": Shape(64, 2, 128, 2, 1000, head="sparse"),
}

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
FIRST, LAST = SPECIAL.index("[CLS]"), SPECIAL.index("[SEP]")


class Tensors:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.all = {}

    def normal(self, name, deviation, *shape):
        self.all[name] = (self.random.standard_normal(shape, np.float32)
                          * np.float32(deviation)).astype(np.float16)

    def linear(self, name, out, into, bias=True):
        self.normal(name + ".weight", math.sqrt(1.0 / into), out, into)
        if bias:
            self.normal(name + ".bias", 0.02, out)

    def norm(self, name, size, bias=True):
        self.all[name + ".weight"] = np.ones(size, np.float16)
        if bias:
            self.all[name + ".bias"] = np.zeros(size, np.float16)


def sizes(shape):
    """What config.json has of every shape."""
    return {
        "hidden_size": shape.d_model,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.ffn,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.positions,
        "pad_token_id": shape.pad,
    }


def bert(shape, tensors):
    """BERT and XLM-R, whose tensors have the same names."""
    d, roberta = shape.d_model, shape.family == "xlm-roberta"
    types = 1 if roberta else 2
    config = {
        "model_type": shape.family,
        "architectures": [
            "XLMRobertaModel" if roberta else
            {"": "BertModel", "sparse": "BertForMaskedLM",
             "rank": "BertForSequenceClassification"}[shape.head]],
        **sizes(shape),
        "type_vocab_size": types,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-5 if roberta else 1e-12,
    }
    prefix = "bert." if shape.head else ""
    for name, rows in (("word", shape.vocabulary),
                       ("position", shape.positions), ("token_type", types)):
        tensors.normal(f"{prefix}embeddings.{name}_embeddings.weight", 0.02,
                       rows, d)
    tensors.norm(prefix + "embeddings.LayerNorm", d)
    for i in range(shape.layers):
        layer = f"{prefix}encoder.layer.{i}"
        for part in ("query", "key", "value"):
            tensors.linear(f"{layer}.attention.self.{part}", d, d)
        tensors.linear(f"{layer}.attention.output.dense", d, d)
        tensors.norm(f"{layer}.attention.output.LayerNorm", d)
        tensors.linear(f"{layer}.intermediate.dense", shape.ffn, d)
        tensors.linear(f"{layer}.output.dense", d, shape.ffn)
        tensors.norm(f"{layer}.output.LayerNorm", d)
    if not shape.sparse:
        tensors.linear(prefix + "pooler.dense", d, d)
        if shape.head == "rank":
            tensors.linear("classifier", 1, d)
            config["id2label"], config["label2id"] = {"0": "score"}, {"score": 0}
        return config
    tensors.linear("cls.predictions.transform.dense", d, d)
    tensors.norm("cls.predictions.transform.LayerNorm", d)
    # With the embeddings' small weights no logit would be far from zero.
    tensors.all["bert.embeddings.word_embeddings.weight"] *= np.float16(3)
    tensors.normal("cls.predictions.bias", 0.02, shape.vocabulary)
    return config


def modernbert(shape, tensors):
    d = shape.d_model
    config = {
        "model_type": "modernbert",
        "architectures": ["ModernBertModel"],
        **sizes(shape),
        "global_attn_every_n_layers": 3,
        "local_attention": 128,
        "hidden_activation": "gelu",
        "norm_eps": 1e-5,
    }
    tensors.normal("embeddings.tok_embeddings.weight", 0.02,
                   shape.vocabulary, d)
    tensors.norm("embeddings.norm", d, bias=False)
    for i in range(shape.layers):
        layer = f"layers.{i}"
        if i > 0:
            tensors.norm(layer + ".attn_norm", d, bias=False)
        tensors.linear(layer + ".attn.Wqkv", 3 * d, d, bias=False)
        tensors.linear(layer + ".attn.Wo", d, d, bias=False)
        tensors.norm(layer + ".mlp_norm", d, bias=False)
        tensors.linear(layer + ".mlp.Wi", 2 * shape.ffn, d, bias=False)
        tensors.linear(layer + ".mlp.Wo", d, shape.ffn, bias=False)
    tensors.norm("final_norm", d, bias=False)
    return config


def write_random(folder, shape, seed=1):
    """`folder` then has a config, weights and, if it is a BERT, a vocabulary of
    made-up words, each of them one token."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = Tensors(seed)
    make = modernbert if shape.family == "modernbert" else bert
    config = make(shape, tensors)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    if shape.family == "bert":
        words = SPECIAL + [f"w{i}" for i in
                           range(len(SPECIAL), shape.vocabulary)]
        (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    if shape.sparse:
        write_splade_modules(folder)
    marian_folder.write_safetensors(folder / "model.safetensors", tensors.all)


def write_splade_modules(folder):
    modules = "sentence_transformers.sparse_encoder.modules."
    (folder / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "",
         "type": modules + "mlm_transformer.MLMTransformer"},
        {"idx": 1, "name": "1", "path": "1_SpladePooling",
         "type": modules + "splade_pooling.SpladePooling"}]))
    (folder / "1_SpladePooling").mkdir(exist_ok=True)
    (folder / "1_SpladePooling/config.json").write_text(json.dumps(
        {"pooling_strategy": "max", "activation_function": "relu"}))


def random_sentences(count, shortest, longest, shape, seed=4):
    """Ids, lengths drawn evenly and the special tokens counted."""
    random = np.random.default_rng(seed)
    return [
        [FIRST, *random.integers(len(SPECIAL), shape.vocabulary,
                                 random.integers(shortest, longest + 1) - 2)
         .tolist(), LAST]
        for _ in range(count)
    ]


def as_text(ids):
    """What the folder's tokenizer turns into `ids`."""
    return " ".join(f"w{i}" for i in ids[1:-1])
