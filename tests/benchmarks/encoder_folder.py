"""Writes BERT folders with random weights: for speed, not for meaning."""

import json
import math
import pathlib

import numpy as np

import marian_folder

BERT_BASE = {"d_model": 768, "layers": 12, "ffn": 3072, "heads": 12,
             "vocabulary": 30522}
MINILM = {"d_model": 384, "layers": 6, "ffn": 1536, "heads": 12,
          "vocabulary": 30522}
# For a look at whether a command works.
TINY = {"d_model": 64, "layers": 2, "ffn": 128, "heads": 2, "vocabulary": 1000}
SHAPES = {"bert-base": BERT_BASE, "minilm": MINILM, "tiny": TINY}

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
FIRST, LAST = SPECIAL.index("[CLS]"), SPECIAL.index("[SEP]")
POSITIONS = 512


def write_random(folder, shape, seed=1):
    """`folder` then has a config, weights and a vocabulary of made-up words,
    each of them one token."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    d, ffn, vocabulary = shape["d_model"], shape["ffn"], shape["vocabulary"]
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": d,
        "num_hidden_layers": shape["layers"],
        "num_attention_heads": shape["heads"],
        "intermediate_size": ffn,
        "vocab_size": vocabulary,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    words = SPECIAL + [f"w{i}" for i in range(len(SPECIAL), vocabulary)]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")

    random = np.random.default_rng(seed)
    tensors = {}

    def linear(name, out, into):
        tensors[name + ".weight"] = random.normal(
            0, math.sqrt(1.0 / into), (out, into))
        tensors[name + ".bias"] = random.normal(0, 0.02, out)

    def norm(name):
        tensors[name + ".weight"] = np.ones(d)
        tensors[name + ".bias"] = np.zeros(d)

    for name, rows in (("word", vocabulary), ("position", POSITIONS),
                       ("token_type", 2)):
        tensors[f"embeddings.{name}_embeddings.weight"] = random.normal(
            0, 0.02, (rows, d))
    norm("embeddings.LayerNorm")
    for i in range(shape["layers"]):
        layer = f"encoder.layer.{i}"
        for part in ("query", "key", "value"):
            linear(f"{layer}.attention.self.{part}", d, d)
        linear(f"{layer}.attention.output.dense", d, d)
        norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", ffn, d)
        linear(f"{layer}.output.dense", d, ffn)
        norm(f"{layer}.output.LayerNorm")
    linear("pooler.dense", d, d)
    marian_folder.write_safetensors(
        folder / "model.safetensors",
        {name: array.astype(np.float16) for name, array in tensors.items()})


def random_sentences(count, shortest, longest, shape, seed=4):
    """Ids, lengths drawn evenly and the special tokens counted."""
    random = np.random.default_rng(seed)
    return [
        [FIRST, *random.integers(len(SPECIAL), shape["vocabulary"],
                                 random.integers(shortest, longest + 1) - 2)
         .tolist(), LAST]
        for _ in range(count)
    ]


def as_text(ids):
    """What the folder's tokenizer turns into `ids`."""
    return " ".join(f"w{i}" for i in ids[1:-1])
