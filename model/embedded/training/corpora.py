"""Sentence pairs: reading, cleaning, and keeping test sets out of training."""

import lzma
import pathlib
import re
import unicodedata

LONGEST_CHARACTERS = 1000
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffd]")


def read_pairs(path):
    """Yields (english, german) for each line `english<TAB>german`, .xz or
    plain."""
    path = pathlib.Path(path)
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if len(fields) >= 2:
                yield fields[0].strip(), fields[1].strip()


def key(text):
    """Returns a key that texts share if they differ only in case, punctuation,
    spaces and compatible characters."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in text if c.isalnum())


def is_clean(english, german):
    """False if a pair is not a translation: empty, without letters, truncated
    or padded, or long and copied."""
    if not english or not german:
        return False
    if max(len(english), len(german)) > LONGEST_CHARACTERS:
        return False
    if CONTROLS.search(english) or CONTROLS.search(german):
        return False
    if not any(c.isalpha() for c in english):
        return False
    if not any(c.isalpha() for c in german):
        return False
    short, long = sorted((len(english), len(german)))
    if long > 3 * short + 12:
        return False
    return english != german or len(english.split()) < 4


class HeldOut:
    """The sentences of the test sets, either side."""

    def __init__(self, paths):
        self._keys = set()
        for path in paths:
            for pair in read_pairs(path):
                self._keys.update(key(text) for text in pair)
        # Texts of punctuation alone share an empty key, which holds nothing
        # out.
        self._keys.discard("")

    def holds(self, english, german):
        return key(english) in self._keys or key(german) in self._keys


def training_pairs(path, held_out, counts):
    """Yields the pairs to train on, and adds to counts["read"], ["unclean"],
    ["repeated"] and ["held out"]."""
    seen = set()
    for english, german in read_pairs(path):
        counts["read"] += 1
        if not is_clean(english, german):
            counts["unclean"] += 1
        elif held_out.holds(english, german):
            counts["held out"] += 1
        elif (english, german) in seen:
            counts["repeated"] += 1
        else:
            seen.add((english, german))
            yield english, german
