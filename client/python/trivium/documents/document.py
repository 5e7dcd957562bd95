"""Documents as texts between bytes that stay as they are.

A document is a list of pieces: literals, which are carried as they are, and
slots, which hold a text. What is translated at once is a segment: one slot, or
several where inline markup (tags, formatted runs, code) stands between them. A
slot whose translation is its text is written as it was read, so that outside of
translated texts each byte is the original's by construction.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Optional, Protocol


class DocumentError(ValueError):
    """A document that cannot be read or written; says where and why."""


@dataclasses.dataclass(frozen=True)
class Options:
    """How documents are read."""

    #: Of the translation, as BCP 47; written where a format has a place for it.
    target_language: str = ""
    #: Of plain text, SRT and JSON without a byte order mark.
    encoding: str = "utf-8"
    #: PO and XLIFF: translate what has a translation already, too.
    retranslate: bool = False
    #: JSON: translate keys, too, and only values under keys of these names.
    keys: bool = False
    only: Sequence[str] = ()


@dataclasses.dataclass(eq=False)
class Slot:
    raw: str  # as it stands in the document, without white space around it
    text: str  # what it says
    encode: Callable[[str], str]
    # Whether white space, which stays, is between it and its neighbours.
    space_before: bool = False
    space_after: bool = False


@dataclasses.dataclass(eq=False)
class Segment:
    place: str  # "line 12"
    slots: list[Slot]

    @property
    def texts(self) -> list[str]:
        return [slot.text for slot in self.slots]


#: Of each segment the texts of its slots; None: as they are.
Translations = Sequence[Optional[Sequence[str]]]


class Document(Protocol):
    @property
    def segments(self) -> list[Segment]: ...

    def render(self, translations: Translations) -> bytes:
        """The document with other texts; one entry for each segment."""


class Builder:
    """Collects pieces in their order."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self._pieces: list[str | Slot] = []
        self._open: Segment | None = None

    def literal(self, raw: str) -> None:
        if raw:
            self._pieces.append(raw)

    def text(
        self,
        raw: str,
        place: str,
        decode: Callable[[str], str],
        encode: Callable[[str], str],
        *,
        margin: str = r"\s",
        alone: bool = False,
    ) -> None:
        """A text of the open segment, or of one of its own. `margin` matches
        white space in raw, which is not translated."""
        found = re.fullmatch(rf"((?:{margin})*)(.*?)((?:{margin})*)", raw, re.DOTALL)
        assert found is not None  # it matches anything
        before, middle, after = found.groups()
        if not middle:
            self.literal(raw)
            if not alone:
                self.space()
            return
        self.literal(before)
        slot = Slot(middle, collapse(decode(middle)), encode, bool(before), bool(after))
        self.slot(slot, place, alone=alone)
        self.literal(after)

    def slot(self, slot: Slot, place: str, *, alone: bool = False) -> None:
        self._pieces.append(slot)
        if alone:
            self.segments.append(Segment(place, [slot]))
            return
        if self._open is None:
            self._open = Segment(place, [])
            self.segments.append(self._open)
        self._open.slots.append(slot)

    def space(self) -> None:
        """There is white space between the texts here."""
        if self._open is not None:
            self._open.slots[-1].space_after = True

    def close(self) -> None:
        """The open segment ends here."""
        self._open = None

    def render(self, translations: Translations) -> str:
        if len(translations) != len(self.segments):
            raise ValueError("one translation for each segment")
        texts: dict[int, str] = {}
        for segment, parts in zip(self.segments, translations):
            if parts is None:
                continue
            if len(parts) != len(segment.slots):
                raise ValueError(f"{segment.place}: one text for each slot")
            for slot, text in zip(segment.slots, parts):
                texts[id(slot)] = text
        return "".join(
            piece if isinstance(piece, str) else _write(piece, texts.get(id(piece)))
            for piece in self._pieces
        )


def _write(slot: Slot, text: str | None) -> str:
    if text is None or text == slot.text:
        return slot.raw
    return slot.encode(text)


def collapse(text: str) -> str:
    """White space within texts is a space, as the formats read it."""
    return re.sub(r"[ \t\r\n\f]+", " ", text)


class Lines:
    """Line numbers, from 1, of offsets in a text."""

    def __init__(self, text: str) -> None:
        self._ends = [found.end() for found in re.finditer(r"\r\n|\r|\n", text)]

    def place(self, offset: int) -> str:
        return f"line {bisect.bisect_right(self._ends, offset) + 1}"
