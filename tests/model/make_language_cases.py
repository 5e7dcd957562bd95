#!/usr/bin/env python3
"""Records how Transformers' tokenizers treat texts and their languages.

    make_language_cases.py [OUT]

Trains small SentencePiece models on tests/fuzz/sentences.txt and gives them to
the tokenizers of the families that are told languages. Writes their folders and
OUT/cases.json (OUT: tests/model/testdata/languages) for languages_golden_test.
Needs PyPI's transformers 4.46 (one of the last with tokenizers
that read SentencePiece files themselves), sentencepiece and protobuf.
"""

import json
import os
import pathlib
import shutil
import sys

import sentencepiece
from transformers import (M2M100Tokenizer, MBart50Tokenizer,
                          MBart50TokenizerFast, MBartTokenizer,
                          NllbTokenizer, NllbTokenizerFast, PegasusTokenizer,
                          T5Tokenizer)
from transformers import AddedToken
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

HERE = pathlib.Path(__file__).parent
SENTENCES = HERE.parent / "fuzz" / "sentences.txt"
TEXTS = [
    "Guten Morgen!", "The sky is blue.", " two  spaces ", "1,234.5 km/h",
    "Straße — naïve café", "它是蓝色的。", "안녕하세요", "صباح الخير", "नमस्ते",
    "x", "</s> in a text", "<unk> too", "en_XX or deu_Latn", "",
    "🙂 unknown 𐍈", "▁mark", "__de__", "<mask>", "UPPER lower", "it 's",
]


def train(out, size, kind="unigram", **ids):
    """Writes a file that normalizes nothing: Unicode's tables would make it
    large."""
    lines = SENTENCES.read_text().splitlines()
    latin = [line for line in lines if max(map(ord, line)) < 0x250]
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(latin), model_prefix=str(out.with_suffix("")),
        vocab_size=size, model_type=kind, character_coverage=0.98,
        normalization_rule_name="identity", hard_vocab_limit=False,
        minloglevel=2, **ids)
    os.replace(out.with_suffix("").with_suffix(".model"), out)
    out.with_suffix("").with_suffix(".vocab").unlink(missing_ok=True)


FAIRSEQ = {"unk_id": 0, "bos_id": 1, "eos_id": 2}
T5 = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}


def slim(folder, keep, family, config):
    """Keeps only what is read, in little space."""
    for path in folder.iterdir():
        if path.name not in keep:
            path.unlink()
        elif path.suffix == ".json":
            path.write_text(json.dumps(json.loads(path.read_text()),
                                       ensure_ascii=False) + "\n")
    (folder / "config.json").write_text(
        json.dumps({"model_type": family, **config}) + "\n")


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                       HERE / "testdata" / "languages")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    spm = out / "pieces.model"
    cases = {}

    def add(name, tokenizer, keep, family, directions, config={}):
        folder = out / name
        tokenizer.save_pretrained(folder)
        slim(folder, keep, family, config)
        cases[name] = []
        for source, target, tags in directions:
            if source:
                tokenizer.src_lang = source
            cases[name].append({
                "source": tags[0] if source else None,
                "target": tags[1] if target else None,
                "ids": [tokenizer(text).input_ids for text in TEXTS],
                "target_id": tokenizer.convert_tokens_to_ids(target)
                             if target else None})

    spm_files = ["sentencepiece.bpe.model"]
    coded = [("en_XX", "de_DE", ("en", "de")),
             ("zh_CN", "ar_AR", ("zh-Hans", "Arabic"))]
    train(spm, 300, **FAIRSEQ)
    add("mbart", MBartTokenizer(str(spm)), spm_files, "mbart", coded)
    add("mbart50", MBart50Tokenizer(str(spm)), spm_files, "mbart", coded,
        {"tokenizer_class": "MBart50Tokenizer"})
    add("mbart50.json", MBart50TokenizerFast(str(spm)),
        ["tokenizer.json", "tokenizer_config.json"], "mbart", coded)
    vocabulary = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    pieces = ["<s>", "<pad>", "</s>", "<unk>"] + [
        vocabulary.id_to_piece(i) for i in range(3, len(vocabulary), 2)]
    (out / "vocab.json").write_text(
        json.dumps({piece: i for i, piece in enumerate(pieces)}))
    # Every second piece is missing in the vocabulary.
    m2m = [("en", "de", ("en", "de")), ("zh", "no", ("zh", "nb"))]
    m2m_files = spm_files + ["vocab.json"]
    for name, codes, directions in (("m2m_100", "m2m100", m2m),
                                    ("wmt21", "wmt21", m2m[:1])):
        tokenizer = M2M100Tokenizer(str(out / "vocab.json"), str(spm),
                                    language_codes=codes)
        add(name, tokenizer, m2m_files + ["tokenizer_config.json"], "m2m_100",
            directions)
        path = out / name / "tokenizer_config.json"
        path.write_text(json.dumps({"language_codes": codes}) + "\n")
        for case in cases[name]:
            case["target_id"] = None
        for case, (_, target, _) in zip(cases[name], directions):
            case["target_id"] = tokenizer.get_lang_id(target)
    train(spm, 300, kind="bpe", **FAIRSEQ)
    flores = [("eng_Latn", "deu_Latn", ("en", "deu")),
              ("zho_Hant", "pes_Arab", ("zh-TW", "fa"))]
    # The numbering of published folders.
    size = len(sentencepiece.SentencePieceProcessor(model_file=str(spm))) + 1
    ids = {size + i: AddedToken(code, special=True)
           for i, code in enumerate(FAIRSEQ_LANGUAGE_CODES)}
    ids[size + len(ids)] = AddedToken("<mask>", lstrip=True, special=True)
    for name, legacy in (("nllb", False), ("nllb.legacy", True)):
        add(name, NllbTokenizer(str(spm), added_tokens_decoder=ids,
                                legacy_behaviour=legacy),
            spm_files, "m2m_100", flores, {"tokenizer_class": "NllbTokenizer"})
        (out / name / "tokenizer_config.json").write_text(
            json.dumps({"legacy_behaviour": legacy}) + "\n")
    add("nllb.json", NllbTokenizerFast(str(spm)),
        ["tokenizer.json", "tokenizer_config.json"], "m2m_100", flores)
    train(spm, 300, **T5)
    add("pegasus", PegasusTokenizer(str(spm)), ["spiece.model"], "pegasus",
        [(None, None, None)])
    train(spm, 300, user_defined_symbols=["<2de>", "<2zh_Hant>"], **T5)
    add("madlad", T5Tokenizer(str(spm), extra_ids=0, legacy=True),
        ["spiece.model", "tokenizer_config.json"], "t5", [])
    for code, tag in (("<2de>", "de"), ("<2zh_Hant>", "zh-TW")):
        tokenizer = T5Tokenizer(str(spm), extra_ids=0, legacy=True)
        cases["madlad"].append({
            "source": None, "target": tag, "target_id": None,
            "ids": [tokenizer(f"{code} {text}").input_ids for text in TEXTS]})
    spm.unlink()
    (out / "vocab.json").unlink()
    (out / "cases.json").write_text(json.dumps(
        {"texts": TEXTS, "folders": cases}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
