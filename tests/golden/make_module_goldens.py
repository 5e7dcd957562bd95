#!/usr/bin/env python3
"""Makes small folders of sentence-transformers with less usual modules and
settings, with random weights, and writes what the library computes with them:

    make_module_goldens.py tests/golden/retrieval

Each folder gets an expected.json: queries, documents, their embeddings and
scores, in f64; `plain_embeddings` are the documents' without a task. Needs
PyPI's torch, transformers (5.24 made the committed files) and
sentence-transformers (6.2).
"""

import json
import pathlib
import shutil
import sys
import tempfile

import torch
from make_multi_vector_goldens import DOCUMENTS, QUERIES, tokenizer
from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Router, Transformer
from sentence_transformers.sentence_transformer.modules import Dropout, Pooling
from sentence_transformers.sparse_encoder.modules import SparseAutoEncoder, SpladePooling
from torch import nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
)

WIDTH = 16


def bert(kind=BertModel, **settings):
    """The path of a folder with a model and its tokenizer."""
    folder = tempfile.mkdtemp()
    tokens = tokenizer([])
    tokens.save_pretrained(folder)
    kind(
        BertConfig(
            vocab_size=len(tokens), hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=24, max_position_embeddings=32, initializer_range=0.4, **settings)
    ).save_pretrained(folder)
    return folder


def cls_after_prompt():
    """The first token after the prompt, not the first one."""
    return SentenceTransformer(
        modules=[Transformer(bert()), Pooling(WIDTH, "cls", include_prompt=False)],
        prompts={"query": "where: ", "document": "the sun. "}, default_prompt_name="document")


def asymmetric():
    """One Transformer, and a Router between the modules after it."""
    router = Router.for_query_document(
        [Dense(WIDTH, 12)], [Dense(WIDTH, 12, activation_function=nn.Identity()), Normalize()])
    return SentenceTransformer(
        modules=[Transformer(bert()), Pooling(WIDTH), router, Normalize()])


def routes():
    """Routes that only route_mappings and default_route lead to."""
    lists = {
        name: [Transformer(bert()), Pooling(WIDTH, mode)]
        for name, mode in (("short", "mean"), ("long", "max"), ("other", "cls"))
    }
    mappings = {("query", "text"): "short", ("document", None): "long"}
    return SentenceTransformer(
        modules=[Router(lists, default_route="other", route_mappings=mappings), Normalize()])


def one_route():
    """All texts take the route of their modality."""
    return SentenceTransformer(
        modules=[Router({"text": [Transformer(bert()), Pooling(WIDTH)]}), Normalize()])


def truncated():
    functions = [nn.Softplus(), nn.SELU(), nn.Hardswish(), nn.ReLU6(), nn.CELU(),
                 nn.Hardtanh(), nn.Hardsigmoid(), nn.Softsign(), nn.LogSigmoid()]
    layers = [Dense(WIDTH, WIDTH, bias=i % 2 == 0, activation_function=f, use_residual=True)
              for i, f in enumerate(functions)]
    return SentenceTransformer(
        modules=[Transformer(bert()), Pooling(WIDTH), *layers, Dropout(0.3), Normalize()],
        truncate_dim=5)


def auto_encoder():
    module = SparseAutoEncoder(WIDTH, hidden_dim=40, k=6, k_aux=8, normalize=True)
    nn.init.normal_(module.pre_bias)
    nn.init.normal_(module.latent_bias)
    return SparseEncoder(modules=[Transformer(bert()), Pooling(WIDTH), module])


def few_weights():
    return SparseEncoder(
        modules=[Transformer(bert(BertForMaskedLM), transformer_task="fill-mask"), SpladePooling()],
        max_active_dims=5)


def write(folder, kind, make):
    torch.manual_seed(sum(map(ord, folder.name)))
    shutil.rmtree(folder, ignore_errors=True)
    made = make()
    made.save(str(folder))
    (folder / "README.md").unlink(missing_ok=True)
    model = type(made)(str(folder), device="cpu").double().eval()
    expected = {"kind": kind, "queries": QUERIES, "documents": DOCUMENTS}
    embeddings = {}
    for name, encode, texts in (
        ("query", model.encode_query, QUERIES),
        ("document", model.encode_document, DOCUMENTS),
        ("plain", model.encode, DOCUMENTS),
    ):
        # One by one, since padding is not exact.
        rows = [encode([text], convert_to_tensor=True) for text in texts]
        rows = [row.to_dense() if row.is_sparse else row for row in rows]
        embeddings[name] = torch.cat(rows)
        expected[f"{name}_embeddings"] = [
            {str(i): w for i, w in enumerate(row) if w} if kind == "sparse" else row
            for row in embeddings[name].tolist()
        ]
    expected["scores"] = model.similarity(embeddings["query"], embeddings["document"]).tolist()
    (folder / "expected.json").write_text(json.dumps(expected))


def write_cross_encoder(folder):
    """A tokenizer that tells the model nothing of the two texts."""
    torch.manual_seed(7)
    shutil.rmtree(folder, ignore_errors=True)
    CrossEncoder(bert(BertForSequenceClassification, num_labels=1), device="cpu").save(str(folder))
    (folder / "README.md").unlink(missing_ok=True)
    model = CrossEncoder(str(folder), device="cpu").double().eval()
    scores = [[float(model.predict([(q, d)])[0]) for d in DOCUMENTS] for q in QUERIES]
    (folder / "expected.json").write_text(json.dumps(
        {"kind": "cross", "queries": QUERIES, "documents": DOCUMENTS, "scores": scores}))


def main():
    out = pathlib.Path(sys.argv[1])
    for name, kind, make in (
        ("dense.cls_after_prompt", "dense", cls_after_prompt),
        ("dense.asymmetric", "dense", asymmetric),
        ("dense.routes", "dense", routes),
        ("dense.one_route", "dense", one_route),
        ("dense.truncated", "dense", truncated),
        ("sparse.auto_encoder", "sparse", auto_encoder),
        ("splade.few_weights", "sparse", few_weights),
    ):
        write(out / name, kind, make)
    write_cross_encoder(out / "cross.one_type")


if __name__ == "__main__":
    main()
