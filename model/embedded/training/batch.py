"""Batches of a Packed as padded tensors."""

import dataclasses

import numpy as np
import torch

from packed import ENGLISH, GERMAN

# Share of the sources without their language token; for them the model
# translates to the language that the source is not in.
WITHOUT_LANGUAGE = 0.1


@dataclasses.dataclass
class Batch:
    """Rows 0 to n - 1 translate from English; rows n to 2 n - 1 are the same
    pairs from German."""
    sources: torch.Tensor  # [2 n, source length]
    mask: torch.Tensor  # [2 n, source length], true for tokens
    targets: torch.Tensor  # [2 n, target length], end token included
    target_mask: torch.Tensor
    tokens: int = 0  # of the targets

    def tensors(self):
        return self.sources, self.mask, self.targets, self.target_mask

    def to(self, device):
        return Batch(*(one.to(device, non_blocking=True)
                       for one in self.tensors()), self.tokens)

    def pinned(self):
        return Batch(*(one.pin_memory() for one in self.tensors()),
                     self.tokens)


def padded(texts, padding):
    """Lists of ids -> [texts, longest] and a mask of their tokens."""
    lengths = np.array([len(text) for text in texts])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, padding, np.int64)
    ids[mask] = np.concatenate(texts)
    return torch.from_numpy(ids), torch.from_numpy(mask)


def source(ids, language, words):
    """language: "de", "en" or None."""
    first = [] if language is None else [words.languages[language]]
    return np.concatenate([first, ids, [words.end]]).astype(np.int64)


def gathered(ids, first, begins, lengths, words, width=0):
    """The texts ids[begin:begin + length], each after its token of `first`
    (unless that is negative) and before the end token -> [texts, longest] or
    [texts, width], and a mask of their tokens."""
    said = (first >= 0).astype(np.int64)
    sizes = said + lengths + 1
    width = width or sizes.max()
    place = np.arange(width) - said[:, None]
    result = np.full(place.shape, words.padding, np.int64)
    within = (place >= 0) & (place < lengths[:, None])
    result[within] = ids[(begins[:, None] + place)[within]]
    result[said == 1, 0] = first[said == 1]
    result[np.arange(len(result)), sizes - 1] = words.end
    return (torch.from_numpy(result), torch.from_numpy(
        np.arange(width) < sizes[:, None]))


def make(packed, pairs, words, seed, number, random_languages=True, length=0):
    """length: of the targets, end token included; 0: as long as the longest.
    """
    random = np.random.default_rng((seed, number, 2))
    pairs = np.asarray(pairs)
    first, sources, targets = [], [], []
    for column, language in ((ENGLISH, "de"), (GERMAN, "en")):
        token = np.full(len(pairs), words.languages[language])
        if random_languages:
            token[random.random(len(pairs)) < WITHOUT_LANGUAGE] = -1
        first.append(token)
        sources.append(packed.spans(pairs, column))
        targets.append(packed.target_spans(pairs, column))
    first = np.concatenate(first)
    targets = np.concatenate(targets, 1)
    return Batch(
        *gathered(packed.ids, first, *np.concatenate(sources, 1), words,
                  length and length + 1),
        *gathered(packed.ids, np.full_like(first, -1), *targets, words, length),
        int(targets[1].sum()) + len(first))
