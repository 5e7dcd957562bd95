#!/usr/bin/env python3
"""Makes a small model of natural language inference with random weights, and
writes what Transformers' zero-shot-classification pipeline computes with it:

    make_zero_shot_golden.py tests/golden/retrieval/zero_shot.bert
    make_zero_shot_golden.py tests/golden/retrieval/zero_shot.bart

The name's ending is the family.

expected.json has runs: the pipeline's arguments, and its labels and scores, in
f64. Needs PyPI's torch and transformers (5.24 made the committed files).
"""

import json
import pathlib
import shutil
import sys

import torch
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BartConfig,
    BartForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    ZeroShotClassificationPipeline,
)

WORDS = (
    "this example is about a text of sport music cats and war the team won game last night "
    "she plays violin in an orchestra peace talks failed again cat s ##s , ."
).split()
TEXTS = ["the team won the game last night.", "she plays the violin in an orchestra", "cats"]
LABELS = ["sport", "music", "war and peace"]


def make_model(bart, vocabulary, **labels):
    if not bart:
        return BertForSequenceClassification(BertConfig(
            vocab_size=vocabulary, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=24, max_position_embeddings=48, initializer_range=0.5, **labels))
    return BartForSequenceClassification(BartConfig(
        vocab_size=vocabulary, d_model=16, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=24,
        decoder_ffn_dim=24, max_position_embeddings=48, init_std=0.5, pad_token_id=0,
        bos_token_id=2, eos_token_id=3, forced_eos_token_id=3, decoder_start_token_id=3, **labels))


def main():
    folder = pathlib.Path(sys.argv[1])
    bart = folder.suffix == ".bart"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {piece: i for i, piece in enumerate(special + WORDS)}
    fast = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    fast.normalizer = normalizers.BertNormalizer(lowercase=True)
    fast.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    fast.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] [SEP] $B [SEP]" if bart else "[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    fast.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in special])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=fast, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        pad_token="[PAD]", mask_token="[MASK]", model_max_length=48,
        model_input_names=["input_ids", "attention_mask"] + ([] if bart else ["token_type_ids"]))
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    labels = ["contradiction", "neutral", "entailment"]
    model = make_model(bart, len(tokenizer), id2label=dict(enumerate(labels)),
                       label2id={name: i for i, name in enumerate(labels)})
    model.save_pretrained(folder)
    pipeline = ZeroShotClassificationPipeline(model=model.double().eval(), tokenizer=tokenizer, device="cpu")
    runs = []
    for options in ({}, {"multi_label": True}, {"hypothesis_template": "a text about {}"}):
        for text in TEXTS:
            found = pipeline(text, LABELS, **options)
            runs.append({"text": text, "candidate_labels": LABELS, **options,
                         "labels": found["labels"], "scores": found["scores"]})
    found = pipeline(TEXTS[0], ["music"])
    runs.append({"text": TEXTS[0], "candidate_labels": ["music"],
                 "labels": found["labels"], "scores": found["scores"]})
    (folder / "expected.json").write_text(json.dumps({"runs": runs}, indent=1))


if __name__ == "__main__":
    main()
