"""Sentences to translate: of a test set, or random ids."""

import json
import pathlib

import numpy as np
import sacrebleu
import sentencepiece


def write_ids(path, sources):
    path.write_text(
        "".join(" ".join(map(str, ids)) + "\n" for ids in sources))


class TrainedText:
    """Sentences of a test set as ids, and ids as text."""

    def __init__(self, folder, path, count):
        self._source = sentencepiece.SentencePieceProcessor(
            model_file=str(folder / "source.spm"))
        self._target = sentencepiece.SentencePieceProcessor(
            model_file=str(folder / "target.spm"))
        self._ids = json.loads((folder / "vocab.json").read_text("utf-8"))
        self._pieces = {i: piece for piece, i in self._ids.items()}
        lines = pathlib.Path(path).read_text("utf-8").splitlines()
        pairs = [(line + "\t").split("\t")[:2] for line in lines]
        pairs = pairs[: count or None]
        self.references = [target for _, target in pairs]
        unknown = self._ids["<unk>"]
        # Where the model is told the language, the references are German.
        language = [self._ids[">>de<<"]] if ">>de<<" in self._ids else []
        self.sources = [
            language + [self._ids.get(piece, unknown)
                        for piece in self._source.encode(source, out_type=str)]
            + [self._ids["</s>"]]
            for source, _ in pairs
        ]

    def bleu(self, results):
        special = {self._ids["</s>"], self._ids["<pad>"]}
        texts = [
            self._target.decode_pieces(
                [self._pieces[i] for i in ids if i not in special])
            for ids in results
        ]
        return sacrebleu.corpus_bleu(texts, [self.references]).score


def random_sources(count, vocabulary, end=0):
    """Sentences of 38 tokens on average, as newstest's are, and `end`."""
    random = np.random.default_rng(2)
    return [
        random.integers(end + 2, vocabulary - 1,
                        random.integers(10, 67)).tolist() + [end]
        for _ in range(count or 128)
    ]


def mixed_texts(folder, path, count, longest):
    """Texts whose lengths in tokens, the end token left out, are drawn evenly
    from 1 to `longest`: each begins with another sentence of the test set and
    goes on over as many words as it needs."""
    pieces = sentencepiece.SentencePieceProcessor(
        model_file=str(folder / "source.spm"))
    lines = pathlib.Path(path).read_text("utf-8").splitlines()
    words = [line.split("\t")[0].split() for line in lines if line.strip()]
    random = np.random.default_rng(3)
    order = random.permutation(len(words))
    texts = []
    for i in range(count):
        length = int(random.integers(1, longest + 1))
        text, tokens, start = "", 0, i
        while tokens < length:
            for word in words[order[start % len(words)]]:
                grown = f"{text} {word}".strip()
                tokens = len(pieces.encode(grown))
                if tokens > length and text:
                    tokens = length  # the next word is too long: leave it
                    break
                text = grown
                if tokens >= length:
                    break
            start += 1
        texts.append(text)
    return texts


def mixed_ids(count, longest, vocabulary):
    """Random sources with as many lengths, the end token left out."""
    random = np.random.default_rng(3)
    return [
        random.integers(2, vocabulary - 1,
                        random.integers(1, longest + 1)).tolist() + [0]
        for _ in range(count)
    ]


def fixed_ids(count, length, vocabulary):
    """Random sources of `length` ids, the end token's included."""
    random = np.random.default_rng(5)
    return [random.integers(2, vocabulary - 1, length - 1).tolist() + [0]
            for _ in range(count)]
