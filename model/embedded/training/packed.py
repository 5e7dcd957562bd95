"""Token ids of sentence pairs in one file, and batches of them.

A pair is four texts: the English and the German source, and a translation of
each, which is the other source unless a teacher wrote something else.
"""

import dataclasses
import json

import numpy as np

# Columns of a pair. A target column of length 0 stands for the other source.
ENGLISH, GERMAN, TO_GERMAN, TO_ENGLISH = range(4)
VARIANTS = "+"  # ending of the name of a section of changed copies


def write_whole(path, **arrays):
    """Writes an .npz of the arrays as a whole or not at all, however it is
    stopped."""
    new = path.with_suffix(".new")
    with open(new, "wb") as file:
        np.savez_compressed(file, **arrays)
    new.replace(path)


@dataclasses.dataclass
class Section:
    """Pairs of one origin, each drawn `weight` times in an epoch."""
    name: str
    weight: float
    first: int
    last: int  # one past the end


class Packed:
    """Columns of ids, one after another. `ids` holds all texts, with those of a
    pair together; `ends` [pairs, 4] says where each text ends."""

    def __init__(self, ids, lengths, sections):
        """ids: uint16 [tokens]. lengths: [pairs, 4]."""
        self.ids = ids
        self.lengths = lengths.astype(np.int64)
        self.sections = sections
        ends = np.cumsum(self.lengths.reshape(-1))
        self._begins = (ends - self.lengths.reshape(-1)).reshape(-1, 4)

    def __len__(self):
        return len(self.lengths)

    def spans(self, pairs, columns):
        """Returns the beginnings of the pairs' texts in `ids`, and their
        lengths."""
        return self._begins[pairs, columns], self.lengths[pairs, columns]

    def target_spans(self, pairs, column):
        """Returns spans of the translations of the pairs' sources `column`."""
        written, other = ((TO_GERMAN, GERMAN) if column == ENGLISH
                          else (TO_ENGLISH, ENGLISH))
        return self.spans(pairs, np.where(self.lengths[pairs, written] > 0,
                                          written, other))

    def text(self, pair, column):
        begin, length = self.spans(pair, column)
        return self.ids[begin:begin + length]

    def longest(self):
        """Returns the longest text of each pair, [pairs]."""
        return self.lengths.max(axis=1)

    def save(self, path):
        header = json.dumps([dataclasses.asdict(s) for s in self.sections])
        write_whole(path, ids=self.ids, lengths=self.lengths.astype(np.uint16),
                    sections=np.frombuffer(header.encode(), np.uint8))

    @classmethod
    def load(cls, path):
        with np.load(path) as file:
            sections = [Section(**one)
                        for one in json.loads(file["sections"].tobytes())]
            return cls(file["ids"], file["lengths"], sections)


class Packer:
    """Adds pairs to a Packed, section by section."""

    def __init__(self):
        self._ids, self._lengths, self._sections = [], [], []

    def begin(self, name, weight):
        count = len(self._lengths)
        self._sections.append(Section(name, weight, count, count))

    def add(self, english, german, to_german=(), to_english=()):
        texts = (english, german, to_german, to_english)
        self._ids.extend(np.asarray(text, np.uint16) for text in texts)
        self._lengths.append([len(text) for text in texts])
        self._sections[-1].last += 1

    def packed(self):
        return Packed(np.concatenate(self._ids),
                      np.asarray(self._lengths, np.int64).reshape(-1, 4),
                      self._sections)


def epoch(packed, seed, number, longest):
    """Returns the pairs of an epoch in random order: all pairs of a section
    times its weight, whose fraction is drawn anew in each epoch."""
    random = np.random.default_rng((seed, number))
    chosen = []
    for section in packed.sections:
        pairs = np.arange(section.first, section.last)
        chosen.extend([pairs] * int(section.weight))
        part = round((section.weight % 1) * len(pairs))
        chosen.append(random.permutation(pairs)[:part])
    chosen = np.concatenate(chosen)
    chosen = chosen[packed.longest()[chosen] <= longest]
    return random.permutation(chosen)


def batches(packed, seed, number, tokens, longest, pool=100):
    """Yields lists of pairs with about `tokens` target tokens each, padding
    included. Pairs of similar length go together: they are sorted within pools
    of `pool` batches, which keeps the padding at a few per cent and the order
    random."""
    order = epoch(packed, seed, number, longest)
    random = np.random.default_rng((seed, number, 1))
    size = packed.longest() + 1  # with the end token
    begin, result = 0, []
    while begin < len(order):
        count = np.searchsorted(
            np.cumsum(2 * size[order[begin:begin + pool * tokens]]),
            pool * tokens) + 1
        part = order[begin:begin + count]
        begin += count
        part = part[np.argsort(size[part], kind="stable")]
        sizes, made, first = size[part], [], 0
        while first < len(part):
            # A batch has both directions of a pair.
            most = max(1, tokens // (2 * sizes[first]))
            some = sizes[first:first + most]
            places = 2 * np.arange(1, len(some) + 1) * some
            count = max(1, np.searchsorted(places, tokens, side="right"))
            made.append(part[first:first + count])
            first += count
        result.extend(made[i] for i in random.permutation(len(made)))
    return result
