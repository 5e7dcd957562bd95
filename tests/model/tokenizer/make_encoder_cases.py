#!/usr/bin/env python3
"""Makes testdata/encoders.json: tiny tokenizers of the classes that encoders'
folders have, and the ids that Transformers makes with them.

    make_encoder_cases.py FILE

Each case has the folder's files, and for each text its ids; for each pair of
texts, its ids and segments. Needs PyPI's transformers (5.24 made the committed
file), tokenizers and sentencepiece.
"""

import json
import pathlib
import sys
import tempfile

import transformers
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

CORPUS = [
    "The cat sleeps on the sofa, and the dogs sleep in the garden all day.",
    "Where do cats sleep? They sleep on mats, in boxes and on sofas.",
    "Le château est près de l'hôtel; l'été, où êtes-vous allés?",
    "Das Mädchen läuft über die Straße und grüßt die Bäcker.",
    "Кошка спит на диване, а собака бежит по улице.",
    "猫在沙发上睡觉。東京は日本の首都です。",
    "It's 12,345.67 dollars (about 11 %), isn't it? We'll see: a+b=c.",
    "def f(x):\n    return x ** 2  # squares",
] * 8
TEXTS = [
    "The cat sleeps.", "the CAT's sofas!", "", " ", "  two  spaces  ", "\ttab\nline\r\n",
    "naïve café — 12,5 %", "été où l'hôtel", "Straße GROSS straße", "İstanbul ı", "Кошка спит",
    "猫在睡觉", "東京は日本", "cat猫dog", "한국어 문장", "مرحبا بالعالم", "हिन्दी",
    "😀 emoji 👩‍👩‍👧 z", "e\u0301 combined", "ﬁ ligature ① ²", "full．width，ＡＢＣ",
    "zero\u200bwidth \u00a0nbsp \u3000wide", "a\u0000b\u0007c", "don't can't we'll I'm",
    "3.14 1,000 2026-11-27 10:30", "user@example.com https://a.b/c?d=e", "C++ x**2 a+b=c #tag",
    "[CLS] cat [SEP] dog [MASK]", "<s> cat </s> <mask> dog", "<|begin_of_text|>cat",
    "[MASK]cat [MASK], cat[MASK]", "..." * 3, "a" * 120, "supercalifragilistic",
    "def f(x):\n    return x\n\n\n", "-_-//\\\\", "“quotes” ‘single’ „low“", "…—–-", "𝔘𝔫𝔦", "\ufeffbom",
]
PAIRS = [["The cat sleeps.", "Where?"], ["été", "où?"], ["猫", "dog [SEP]"]]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
LLAMA_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def wordpiece(lower):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lower)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=320, special_tokens=BERT))
    return made


def byte_level(specials, words=None, prefix=False):
    made = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=words is None)
    made.pre_tokenizer = level if words is None else pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(words), "isolated"), level])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=400, special_tokens=specials, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return made


def sentencepiece_file(folder, kind):
    import sentencepiece
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_prefix=str(folder / "spm"), vocab_size=300,
        model_type=kind, character_coverage=0.99, hard_vocab_limit=False, minloglevel=2)
    return folder / "spm.model"


def in_order(made):
    vocabulary = made.get_vocab()
    return sorted(vocabulary, key=vocabulary.get)


def run(tokenizer, files):
    pairs = [tokenizer(a, b) for a, b in PAIRS]
    return {
        "files": files,
        "texts": [{"text": text, "ids": tokenizer(text)["input_ids"]} for text in TEXTS],
        "pairs": [{"first": a, "second": b, "ids": made["input_ids"],
                   "types": made.get("token_type_ids")}
                  for (a, b), made in zip(PAIRS, pairs)],
    }


def written(tokenizer, family):
    """The files of a folder that Transformers saves, and its case."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tokenizer.save_pretrained(folder)
        read = transformers.AutoTokenizer.from_pretrained(folder)
        files = {name: (folder / name).read_text()
                 for name in ("tokenizer.json", "tokenizer_config.json")}
    files["tokenizer.json"] = json.dumps(json.loads(files["tokenizer.json"]), ensure_ascii=False)
    return run(read, {**files, "config.json": json.dumps({"model_type": family})})


def bert_cases():
    for name, family, lower in (
            ("ernie", "ernie", True), ("megatron-bert", "megatron-bert", False),
            ("nomic_bert", "nomic_bert", True)):
        made = wordpiece(lower)
        vocabulary = in_order(made)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "vocab.txt"
            file.write_text("\n".join(vocabulary) + "\n")
            tokenizer = transformers.BertTokenizer(vocab=made.get_vocab(), do_lower_case=lower)
            # The files of a folder of those days: a list of pieces.
            yield f"{name}.vocab", run(tokenizer, {
                "vocab.txt": file.read_text(),
                "config.json": json.dumps({"model_type": family}),
                "tokenizer_config.json": json.dumps(
                    {"tokenizer_class": "BertTokenizer", "do_lower_case": lower})})
        yield name, written(tokenizer, family)


def roberta_cases():
    made = byte_level(ROBERTA)
    model = json.loads(made.to_str())["model"]
    merges = [tuple(one) for one in model["merges"]]
    # The mask takes the space before it, as in Transformers 4, which wrote such folders.
    tokenizer = transformers.RobertaTokenizer(
        vocab=model["vocab"], merges=merges, mask_token=AddedToken("<mask>", lstrip=True))
    yield "data2vec-text", written(tokenizer, "data2vec-text")
    yield "data2vec-text.merges", run(tokenizer, {
        "vocab.json": json.dumps(model["vocab"], ensure_ascii=False),
        "merges.txt": "#version: 0.2\n" + "".join(" ".join(one) + "\n" for one in merges),
        "config.json": json.dumps({"model_type": "data2vec-text"})})
    # jina-embeddings-v2-base-code.
    yield "jina_bert.code", run(tokenizer, {
        "vocab.json": json.dumps(model["vocab"], ensure_ascii=False),
        "merges.txt": "#version: 0.2\n" + "".join(" ".join(one) + "\n" for one in merges),
        "config.json": json.dumps({"model_type": "bert"}),
        "tokenizer_config.json": json.dumps({"tokenizer_class": "RobertaTokenizer"})})


def unigram_cases():
    for name, class_name in (("xlm-roberta", "XLMRobertaTokenizer"),
                             ("camembert", "CamembertTokenizer")):
        class_ = getattr(transformers, class_name)
        made = Tokenizer(models.Unigram())
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        front = ROBERTA[:4] if name == "xlm-roberta" else [
            "<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"]
        made.train_from_iterator(CORPUS, trainers.UnigramTrainer(
            vocab_size=300, special_tokens=[], unk_token="<unk>", show_progress=False))
        pieces = [(piece, score) for piece, score in json.loads(made.to_str())["model"]["vocab"]
                  if piece not in (*ROBERTA, *front)]
        vocabulary = [(piece, 0.0) for piece in front] + pieces + [("<mask>", 0.0)]
        if name == "camembert":
            vocabulary += [("<s>", 0.0), ("</s>", 0.0)]
        yield name, written(class_(vocab=vocabulary), name)


def modern_cases():
    # ModernBERT: GPT-NeoX's pieces, NFC, BERT's special tokens, runs of spaces.
    specials = ["|||IP_ADDRESS|||", "<|padding|>"]
    made = byte_level(specials)
    made.add_tokens([AddedToken(" " * n, normalized=True) for n in range(2, 6)])
    made.add_special_tokens([AddedToken(one, lstrip=one == "[MASK]") for one in
                             ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")])
    made.normalizer = normalizers.NFC()
    cls, sep = made.token_to_id("[CLS]"), made.token_to_id("[SEP]")
    made.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:0 [SEP]:0",
        special_tokens=[("[CLS]", cls), ("[SEP]", sep)])
    yield "modernbert", written(transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        pad_token="[PAD]", mask_token="[MASK]"), "modernbert")
    # EuroBERT: LLaMA 3's words, begin and end tokens.
    made = byte_level(["<|begin_of_text|>", "<|end_of_text|>", "<|mask|>", "<|pad|>"], LLAMA_WORDS)
    begin, end = (made.token_to_id(one) for one in ("<|begin_of_text|>", "<|end_of_text|>"))
    made.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(
            single="<|begin_of_text|> $A <|end_of_text|>",
            pair="<|begin_of_text|> $A <|end_of_text|> <|begin_of_text|>:1 $B:1 <|end_of_text|>:1",
            special_tokens=[("<|begin_of_text|>", begin), ("<|end_of_text|>", end)])])
    yield "eurobert", written(transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<|begin_of_text|>", eos_token="<|end_of_text|>",
        mask_token="<|mask|>", pad_token="<|pad|>"), "eurobert")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cases = {name: case for make in (bert_cases, roberta_cases, unigram_cases, modern_cases)
             for name, case in make()}
    text = json.dumps(cases, ensure_ascii=False, indent=0)
    pathlib.Path(sys.argv[1]).write_text(text + "\n")
    print({name: len(json.dumps(case)) for name, case in cases.items()})


if __name__ == "__main__":
    main()
