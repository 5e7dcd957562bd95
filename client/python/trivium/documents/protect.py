"""Spans of texts that programs read, which a translation has byte for byte."""

from __future__ import annotations

import collections
import re

_PROTECTED = re.compile(
    r"""https?://[^\s<>"]*[^\s<>".,;:!?)\]'] | www\.[^\s<>"]*[^\s<>".,;:!?)\]']
      | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
      | [$%#]?\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}
      | (?<!\d)%(?:%|(?:\(\w+\))?(?:\d+\$)?[-+#0']*(?:\d+|\*)?(?:\.(?:\d+|\*))?
          (?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGaAcCsSpn@])
      | &\#?\w+;""",
    re.VERBOSE,
)


def split(text: str) -> list[str]:
    """Texts at even places, protected spans between them: URLs, addresses,
    printf's and braces' placeholders, entities. Joined, they are the text."""
    pieces = []
    at = 0
    for found in _PROTECTED.finditer(text):
        pieces += [text[at : found.start()], found.group()]
        at = found.end()
    return [*pieces, text[at:]]


def is_kept(source: str, target: str) -> bool:
    """Whether the target has the source's protected spans, and no others."""
    spans = (collections.Counter(split(text)[1::2]) for text in (source, target))
    return next(spans) == next(spans)


def has_text(text: str) -> bool:
    """Whether anything in it can be translated."""
    return any(piece_has_letters(piece) for piece in split(text)[::2])


def piece_has_letters(piece: str) -> bool:
    return any(character.isalpha() for character in piece)
