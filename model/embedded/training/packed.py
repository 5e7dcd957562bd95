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


def write_whole(path, compressed=True, **arrays):
    """Writes an .npz of the arrays as a whole or not at all, however it is
    stopped."""
    new = path.with_suffix(".new")
    with open(new, "wb") as file:
        (np.savez_compressed if compressed else np.savez)(file, **arrays)
    new.replace(path)


@dataclasses.dataclass
class Section:
    """Pairs of one origin, each drawn `weight` times in an epoch."""
    name: str
    weight: float
    first: int
    last: int  # one past the end


def spans_of(ids, begins, lengths):
    """Returns ids[begin:begin + length] of all, one after another."""
    begins, lengths = begins.reshape(-1), lengths.reshape(-1)
    ends = np.cumsum(lengths)
    return ids[np.arange(ends[-1]) + np.repeat(begins - ends + lengths,
                                               lengths)]


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

    def save(self, path, compressed=True):
        header = json.dumps([dataclasses.asdict(s) for s in self.sections])
        write_whole(path, compressed, ids=self.ids,
                    lengths=self.lengths.astype(np.uint16),
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


# The lengths of targets in batches of fixed shapes, end token included: few, so
# that a GPU's work for each is recorded soon, but near enough to one another
# for little padding.
LENGTHS = (4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 27, 30,
           34, 38, 43, 48, 56, 64, 76, 92, 112, 144, 192, 256, 321, 401, 512)


def fixed_lengths(longest):
    """Returns those of LENGTHS that texts of at most `longest` tokens need."""
    count = sum(length < longest + 1 for length in LENGTHS)
    return LENGTHS[:count + 1]


def fixed_batches(packed, seed, number, tokens, longest):
    """Returns [(pairs, length of a target)]: like batches(), but all batches of
    a length have the same number of pairs. What does not fill a batch goes to
    the next length; the few that do not fill one of the longest are left out
    of this epoch."""
    order = epoch(packed, seed, number, longest)
    random = np.random.default_rng((seed, number, 1))
    size = packed.longest()[order] + 1  # with the end token
    result, rest, above = [], order[:0], 0
    for length in fixed_lengths(longest):
        some = order[(size > above) & (size <= length)]
        some = random.permutation(np.concatenate([rest, some]))
        # A batch has both directions of a pair.
        count = max(1, tokens // (2 * length))
        whole = len(some) // count * count
        result.extend((part, length)
                      for part in some[:whole].reshape(-1, count))
        rest, above = some[whole:], length
    return [result[i] for i in random.permutation(len(result))]
