"""Batches of a Packed as padded tensors."""

import dataclasses

import numpy as np
import torch

from packed import ENGLISH, GERMAN

# So many sources lack their language token; the model then translates to the
# language that the source is not in.
WITHOUT_LANGUAGE = 0.1


@dataclasses.dataclass
class Batch:
    """Rows 0 to n - 1 are from English, n to 2 n - 1 the same pairs from
    German."""
    sources: torch.Tensor  # [2 n, source length]
    mask: torch.Tensor  # [2 n, source length], true for tokens
    targets: torch.Tensor  # [2 n, target length], the end token included
    target_mask: torch.Tensor

    def to(self, device):
        return Batch(*(getattr(self, field.name).to(device, non_blocking=True)
                       for field in dataclasses.fields(self)))


def padded(texts, padding):
    """Lists of ids -> [texts, longest] and which of it are tokens."""
    lengths = np.array([len(text) for text in texts])
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, padding, np.int64)
    ids[mask] = np.concatenate(texts)
    return torch.from_numpy(ids), torch.from_numpy(mask)


def source(ids, language, words):
    """language: "de", "en" or None."""
    first = [] if language is None else [words.languages[language]]
    return np.concatenate([first, ids, [words.end]]).astype(np.int64)


def make(packed, pairs, words, seed, number, random_languages=True):
    random = np.random.default_rng((seed, number, 2))
    sources, targets = [], []
    for column, language in ((ENGLISH, "de"), (GERMAN, "en")):
        for pair in pairs:
            unsaid = random_languages and random.random() < WITHOUT_LANGUAGE
            sources.append(source(packed.text(pair, column),
                                  None if unsaid else language, words))
            targets.append(np.append(packed.target(pair, column), words.end))
    return Batch(*padded(sources, words.padding),
                 *padded(targets, words.padding))
