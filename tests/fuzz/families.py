"""Small tokenizers of every family that Trivium knows, as Hugging Face's
library writes them, trained on sentences.txt or made of the embedded model's
pieces. Each is a function that returns a Tokenizer."""

import json
import struct

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers, processors, trainers)

ADDED = [
    AddedToken("[NEW]", special=True, normalized=False),
    AddedToken("<left>", lstrip=True, special=True, normalized=False),
    AddedToken("<right>", rstrip=True, special=True, normalized=False),
    AddedToken("<Norm>", normalized=True),
    AddedToken("word", single_word=True, normalized=True),
    AddedToken("東京", normalized=False),
    AddedToken("two  spaces", normalized=False, rstrip=True, lstrip=True),
    AddedToken("[NEW]ER", normalized=False, single_word=True),
]


def template(begin, end, ids, second_type=1, separators=1):
    between = " ".join([f"{end}:0"] * separators)
    return processors.TemplateProcessing(
        single=f"{begin}:0 $A:0 {end}:0",
        pair=f"{begin}:0 $A:0 {between} $B:{second_type} {end}:{second_type}",
        special_tokens=[(begin, ids[begin]), (end, ids[end])])


def wordpiece(lines, specials, **normalizer):
    """Characters, the pieces that words begin with, and short words."""
    bert = normalizers.BertNormalizer(**normalizer)
    words = {}
    for line in lines:
        line = bert.normalize_str(line)
        for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(line):
            words[word] = words.get(word, 0) + 1
    vocab = dict.fromkeys(specials)
    for word in sorted(words):
        for i, c in enumerate(word):
            # Some characters stay unknown.
            if hash_of(c) % 17:
                vocab[c] = vocab["##" + c] = None
        for size in (2, 3, 5):
            vocab[word[:size]] = None
            vocab["##" + word[-size:]] = None
    return {piece: i for i, piece in enumerate(vocab) if piece}


def hash_of(c):
    return ord(c) * 2654435761 % 2**32 >> 7


def bert(lines, specials=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
         **normalizer):
    vocab = wordpiece(lines, specials, **normalizer)
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(**normalizer)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = template("[CLS]", "[SEP]", vocab)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(list(specials))
    return tokenizer


def bert_cased(lines):
    return bert(lines, lowercase=False, strip_accents=False,
                handle_chinese_chars=False)


def bert_accents(lines):
    return bert(lines, lowercase=True, strip_accents=False)


def mpnet(lines):
    specials = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]
    tokenizer = bert(lines, specials + ["[CLS]", "[SEP]"])
    ids = tokenizer.get_vocab()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", ids["</s>"]), ("<s>", ids["<s>"]), trim_offsets=False,
        add_prefix_space=False)
    tokenizer.add_special_tokens(
        [AddedToken("<mask>", lstrip=True, special=True)])
    return tokenizer


def byte_level(lines, prefix_space=False):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=2000, show_progress=False,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def gpt2(lines):
    tokenizer = byte_level(lines)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def roberta(lines):
    tokenizer = byte_level(lines, prefix_space=True)
    ids = tokenizer.get_vocab()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", ids["</s>"]), ("<s>", ids["<s>"]))
    tokenizer.add_special_tokens(
        [AddedToken("<mask>", lstrip=True, special=True)])
    return tokenizer


def deberta(lines):
    tokenizer = byte_level(lines)
    tokenizer.post_processor = template("<s>", "</s>", tokenizer.get_vocab())
    return tokenizer


def modernbert(lines):
    tokenizer = byte_level(lines)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.post_processor = template("<s>", "</s>", tokenizer.get_vocab(),
                                        second_type=0)
    tokenizer.add_special_tokens(
        [AddedToken("<mask>", lstrip=True, special=True)])
    return tokenizer


LLAMA3_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def llama3(lines):
    text = json.loads(byte_level(lines).to_str())
    text["model"]["ignore_merges"] = True
    tokenizer = Tokenizer.from_str(json.dumps(text))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3_WORDS), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s>:1 $B:1",
            special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])])
    return tokenizer


def qwen2(lines):
    tokenizer = llama3(lines)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return tokenizer


# The words of published decoders that are not those of GPT-2, LLaMA 3 or Qwen.
O200K_WORDS = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}"
    r"\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}"
    r"\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK_WORDS = (
    r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"
    r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+")
DEEPSEEK_CODER_WORDS = (
    r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+",
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+")
BLOOM_WORDS = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"


def qwen3_embedding(lines):
    """Which ends every text, as Qwen3-Embedding does."""
    tokenizer = qwen2(lines)
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>", "<|endoftext|>"])
    tokenizer.add_tokens(["<think>", "</think>"])
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(
            single="$A <|endoftext|>",
            pair="$A <|endoftext|> $B:1 <|endoftext|>:1",
            special_tokens=[("<|endoftext|>",
                             tokenizer.token_to_id("<|endoftext|>"))])])
    return tokenizer


def split_words(lines, words, *steps):
    tokenizer = byte_level(lines)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(word), "isolated") for word in words] +
        list(steps) +
        [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def gpt_oss(lines):
    return split_words(lines, [O200K_WORDS])


def deepseek(lines):
    tokenizer = split_words(lines, DEEPSEEK_WORDS)
    tokenizer.add_special_tokens(["<｜begin▁of▁sentence｜>"])
    tokenizer.add_tokens([AddedToken("<｜User｜>", normalized=False)])
    return tokenizer


def deepseek_coder(lines):
    return split_words(lines, DEEPSEEK_CODER_WORDS,
                       pre_tokenizers.Digits(individual_digits=True))


def bloom(lines):
    return split_words(lines, [BLOOM_WORDS])


def smollm(lines):
    """StarCoder's too."""
    tokenizer = byte_level(lines)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return tokenizer


def falcon(lines):
    tokenizer = byte_level(lines)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    return tokenizer


def opt(lines):
    tokenizer = byte_level(lines)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="</s> $A", pair="</s> $A </s>:1 $B:1",
        special_tokens=[("</s>", tokenizer.token_to_id("</s>"))])
    return tokenizer


def openai_gpt(lines):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>",
                                     end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    tokenizer.train_from_iterator(lines[:12], trainers.BpeTrainer(
        vocab_size=1500, show_progress=False, special_tokens=["<unk>"],
        end_of_word_suffix="</w>"))
    return tokenizer


def fields(message):
    """The fields of a protobuf message: (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            yield key >> 3, message[at:at + size]
            at += size


def sentencepiece(path):
    """A SentencePiece model's pieces with scores, and its character map."""
    pieces, charsmap = [], b""
    with open(path, "rb") as file:
        for number, value in fields(file.read()):
            if number == 1:
                piece = dict(fields(value))
                score = struct.unpack("<f", piece.get(2, b"\0\0\0\0"))[0]
                pieces.append((piece[1].decode(), score))
            elif number == 3:
                charsmap = dict(fields(value)).get(2, b"")
    return pieces, charsmap


def splits(lines):
    """Every other way to split."""
    tokenizer = byte_level(lines)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\d+"), "merged_with_previous"),
        pre_tokenizers.Split("-", "merged_with_next"),
        pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Split(Regex(r"[aeiou]+|\p{Lu}"), "isolated",
                             invert=True),
        pre_tokenizers.Whitespace(),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return tokenizer


def unigram(byte_fallback=False):
    pieces, charsmap = sentencepiece("model/embedded/source.spm")
    specials = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    known = {piece for piece, _ in specials}
    pieces = specials + [p for p in pieces if p[0] not in known]
    pieces += [("<mask>", 0.0)]
    if not byte_fallback:
        pieces = [p for p in pieces if not p[0].startswith("<0x")]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3,
                                         byte_fallback=byte_fallback))
    tokenizer.post_processor = template(
        "<s>", "</s>", tokenizer.get_vocab(), second_type=0, separators=2)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.add_special_tokens(
        [AddedToken("<mask>", lstrip=True, special=True)])
    return tokenizer, normalizers.Precompiled(charsmap)


def xlm_roberta(lines):
    tokenizer, precompiled = unigram()
    tokenizer.normalizer = normalizers.Sequence(
        [precompiled, normalizers.Replace(Regex(" {2,}"), " ")])
    return tokenizer


def camembert(lines):
    tokenizer, precompiled = unigram()
    tokenizer.normalizer = precompiled
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return tokenizer


def albert(lines):
    tokenizer, precompiled = unigram()
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'),
        normalizers.NFKD(), normalizers.StripAccents(),
        normalizers.Lowercase(), precompiled,
        normalizers.Replace(Regex(" {2,}"), " ")])
    return tokenizer


def deberta_v2(lines):
    tokenizer, precompiled = unigram(byte_fallback=True)
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Strip(), precompiled, normalizers.NFKC(),
        normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation(), pre_tokenizers.Digits(),
        pre_tokenizers.Metaspace(prepend_scheme="first")])
    return tokenizer


def llama_model(lines):
    """Character BPE with bytes for what is unknown."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(lines[:12], trainers.BpeTrainer(
        vocab_size=1500, show_progress=False,
        special_tokens=["<unk>", "<s>", "</s>"] +
        [f"<0x{byte:02X}>" for byte in range(256)]))
    text = json.loads(tokenizer.to_str())
    text["model"].update(unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    text["added_tokens"] = text["added_tokens"][:3]
    text["pre_tokenizer"] = None
    return text


def llama(lines):
    tokenizer = Tokenizer.from_str(json.dumps(llama_model(lines)))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1",
        special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    return tokenizer


def llama_first(lines):
    """Without the bytes of UTF-8's second half: some are unknown."""
    text = llama_model(lines)
    text["model"]["vocab"] = {
        piece: i for piece, i in text["model"]["vocab"].items()
        if not piece.startswith("<0xE")}
    tokenizer = Tokenizer.from_str(json.dumps(text))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(" ", 1, 0)])
    return tokenizer


def gemma(lines):
    text = llama_model(lines)
    tokenizer = Tokenizer.from_str(json.dumps(text))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_tokens([
        AddedToken("\n" * count, normalized=False) for count in (1, 2, 3)])
    return tokenizer


def embedding_gemma(lines):
    tokenizer = gemma(lines)
    tokenizer.post_processor = template("<s>", "</s>", tokenizer.get_vocab())
    return tokenizer


def mistral(lines):
    """Of the versions with a SentencePiece model: control tokens of its own."""
    tokenizer = llama_first(lines)
    tokenizer.add_special_tokens(["[INST]", "[/INST]", "[TOOL_CALLS]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1",
        special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    return tokenizer


def smollm3(lines):
    tokenizer = llama3(lines)
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens(["<think>", "</think>", "<tool_call>"])
    return tokenizer


FAMILIES = {
    function.__name__: function
    for function in (bert, bert_cased, bert_accents, mpnet, gpt2, roberta,
                     deberta, modernbert, splits, llama3, qwen2, xlm_roberta,
                     camembert, albert, deberta_v2, llama, llama_first, gemma,
                     openai_gpt, opt, smollm, falcon, gpt_oss, deepseek,
                     deepseek_coder, bloom, qwen3_embedding, embedding_gemma,
                     mistral, smollm3)
}


def make(name, lines):
    tokenizer = FAMILIES[name](lines)
    tokenizer.add_tokens(ADDED)
    return tokenizer
