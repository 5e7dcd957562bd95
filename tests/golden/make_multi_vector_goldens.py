#!/usr/bin/env python3
"""Makes small folders of multi-vector models in the layouts of PyLate and of
Stanford's ColBERT, with random weights, and writes what sentence-transformers
computes with them:

    make_multi_vector_goldens.py tests/golden/retrieval

Each folder gets an expected.json: queries, documents, their vectors and their
scores, in f64. Needs PyPI's torch, transformers (5.24 made the committed files)
and sentence-transformers (6.2). The other folders were saved by
sentence-transformers itself.
"""

import json
import pathlib
import shutil
import sys

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

QUERIES = ["where do cats sleep?", "A Cat.", "dogs", "cats and dogs sleep in the sun, on the sofa and on cats"]
DOCUMENTS = [
    "Cats sleep on sofas, and dogs in baskets.",
    "the sun",
    "!",
    "dogs, cats; dogs and cats. the sofa is in the sun, the cat is on the sofa",
]
WORDS = "where do cats cat sleep a dog dogs and in the sun on sofa sofas is basket ##s ! ? . , ;".split()
WIDTH, OUT = 16, 8


def tokenizer(markers):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {piece: i for i, piece in enumerate(special + ["[unused0]", "[unused1]"] + WORDS)}
    fast = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    fast.normalizer = normalizers.BertNormalizer(lowercase=True)
    fast.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    fast.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    fast.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in special])
    # As PyLate's tokenizer.add_tokens saves them; lower-casing hides them from texts.
    fast.add_tokens([AddedToken(marker, normalized=True) for marker in markers])
    return PreTrainedTokenizerFast(
        tokenizer_object=fast, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        pad_token="[PAD]", mask_token="[MASK]", model_max_length=32)


def bert(folder, tokens, seed):
    torch.manual_seed(seed)
    tokens.save_pretrained(folder)
    model = BertModel(
        BertConfig(
            vocab_size=len(tokens), hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=24, max_position_embeddings=32, initializer_range=0.4),
        add_pooling_layer=False)
    model.save_pretrained(folder)
    return torch.randn(OUT, WIDTH) / WIDTH**0.5


def pylate(folder):
    """config_sentence_transformers.json holds what later versions save with modules."""
    weight = bert(folder, tokenizer(["[Q] ", "[D] "]), 1)
    dense = folder / "1_Dense"
    dense.mkdir()
    save_file({"linear.weight": weight}, dense / "model.safetensors")
    (dense / "config.json").write_text(json.dumps({
        "in_features": WIDTH, "out_features": OUT, "bias": False,
        "activation_function": "torch.nn.modules.linear.Identity", "use_residual": False}))
    (folder / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"}]))
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": 31, "do_lower_case": False}))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({
        "model_type": "ColBERT", "prompts": {}, "default_prompt_name": None,
        "similarity_fn_name": "MaxSim", "query_prefix": "[Q] ", "document_prefix": "[D] ",
        "query_length": 12, "document_length": 16, "attend_to_expansion_tokens": True,
        "do_query_expansion": True, "skiplist_words": [",", ";", "?"]}))


def stanford(folder):
    """One file of weights: those of BERT below "bert.", and the layer's."""
    weight = bert(folder, tokenizer([]), 2)
    state = {f"bert.{name}": value for name, value in load_file(folder / "model.safetensors").items()}
    save_file({**state, "linear.weight": weight}, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["HF_ColBERT"]
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    (folder / "artifact.metadata").write_text(json.dumps({
        "query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_maxlen": 10,
        "doc_maxlen": 18, "mask_punctuation": True, "attend_to_mask_tokens": False,
        "similarity": "cosine"}))


def main():
    for name, make in {"colbert.pylate": pylate, "colbert.stanford": stanford}.items():
        folder = pathlib.Path(sys.argv[1]) / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        model = MultiVectorEncoder(str(folder), device="cpu").double()
        queries = model.encode_query(QUERIES, batch_size=1)
        documents = model.encode_document(DOCUMENTS, batch_size=1)
        (folder / "expected.json").write_text(json.dumps({
            "kind": "multi",
            "queries": QUERIES, "documents": DOCUMENTS,
            "query_embeddings": [one.tolist() for one in queries],
            "document_embeddings": [one.tolist() for one in documents],
            "scores": model.similarity(queries, documents).tolist(),
            # One vector, and half of the others; merged ones are in any order.
            "pooled_documents": [
                HierarchicalTokenPooling(2).pool_one(one).tolist() for one in documents]}))
        (folder / "README.md").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
