"""Documents as texts between bytes that do not change.

A document is a list of pieces: literals, which are copied, and segments. A segment
is translated as a whole. It may contain marks: inline tags, formatted runs, codes.
A segment with marks is sent as HTML whose tags only number the marks. The server
puts these tags around the words that they belong to, and each is then replaced by
the document's own bytes. A segment whose translation equals its text is written as
it was read. So by construction every byte outside of translated texts is the
original's.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Optional, Protocol, Union


class DocumentError(ValueError):
    """A document cannot be read or written. The message says where and why."""


@dataclasses.dataclass(frozen=True)
class Options:
    """How to read documents."""

    #: Language of the translation, as BCP 47. It is written into the document if the
    #: format has a place for it.
    target_language: str = ""
    #: Encoding of plain text, SRT and JSON without a byte order mark.
    encoding: str = "utf-8"
    #: PO and XLIFF: also translate texts that have a translation already.
    retranslate: bool = False
    #: JSON: translate keys, too; translate only values under keys with these names.
    keys: bool = False
    only: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Sent:
    """The text of a segment that is sent. Equal ones are translated once."""

    text: str
    #: The TextFormat without TEXT_FORMAT_: PLAIN, HTML, MARKDOWN.
    format: str = "PLAIN"

    def has_letters(self) -> bool:
        bare = _unescape(_TAG.sub("", self.text)) if self.format == "HTML" else self.text
        return any(character.isalpha() for character in bare)


@dataclasses.dataclass(eq=False)
class Item:
    """A text of a segment, or a mark between its texts."""

    #: "text", or a kind of mark: "open" and "close" (around words), "void" (at a
    #: place), "kept" (stands for a word). "glue" is written only if its segment is not
    #: translated.
    kind: str
    raw: list[Piece]  # its bytes in the document
    text: str = ""  # the text that people read
    # An "open" and a "close" with the same key are a pair. If the key begins
    # with '#', only if everything opened between them is closed there, too.
    key: str = ""
    # In formats with runs: the runs that are open before and after it; "":
    # none.
    before: str = ""
    after: str = ""


#: A part of a translated segment: a text, or one of its marks.
Part = Union[str, Item]
#: Writes a translated segment; `render` writes a mark.
Write = Callable[["Segment", Sequence[Part], Callable[[Item], str]], str]

_TAG = re.compile(r'<span id="\d+">|</span>|<(?:img|code) id="\d+">(?:</code>)?')


@dataclasses.dataclass(eq=False)
class Segment:
    place: str  # "line 12"
    sent: Sent
    items: list[Item]
    write: Write
    marks: dict[str, Item]  # by the number of their tag; of a pair, the "open"
    partners: dict[Item, Item]
    # White space around the sent text, which is not sent.
    lead: str = ""
    trail: str = ""

    def parts(self, translation: str) -> list[Part]:
        """Splits a translation into texts and marks. Raises DocumentError unless it
        has each mark that was sent exactly once, with pairs nested."""
        if self.sent.format != "HTML":
            return [self.lead + translation + self.trail]
        parts: list[Part] = []
        opened: list[Item] = []
        at = 0
        for tag in _TAG.finditer(translation):
            parts.append(_unescape(translation[at : tag.start()]))
            at = tag.end()
            if tag.group() == "</span>":
                if not opened:
                    raise DocumentError(_CHANGED)
                parts.append(self.partners[opened.pop()])
                continue
            number = re.sub(r"\D", "", tag.group())
            mark = self.marks.get(number)
            if mark is None or _tag(mark, number) != tag.group():
                raise DocumentError(_CHANGED)
            parts.append(mark)
            if mark.kind == "open":
                opened.append(mark)
        parts.append(_unescape(translation[at:]))
        marks = [part for part in parts if isinstance(part, Item) and part.kind != "close"]
        if opened or len(marks) != len(self.marks) or len(set(marks)) != len(marks):
            raise DocumentError(_CHANGED)
        return [part for part in parts if part != ""]


Piece = Union[str, Segment]
#: The translation of each segment; None: it stays as it is.
Translations = Sequence[Optional[str]]

_CHANGED = "its markup did not come back as it was"


class Document(Protocol):
    @property
    def segments(self) -> list[Segment]: ...

    def render(self, translations: Translations) -> bytes:
        """Returns the document with these texts, one for each segment."""


def joined(encode: Callable[[str], str]) -> Write:
    """Returns a function that joins encoded texts and marks, in their order."""
    return lambda _, parts, render: "".join(
        encode(part) if isinstance(part, str) else render(part) for part in parts
    )


class Builder:
    """Collects the pieces of a document in order. Texts and marks belong to the open
    segment, which close() ends. Marks before its first text and after its last stay
    where they are."""

    def __init__(self, write: Write | None = None) -> None:
        self.segments: list[Segment] = []
        self._write = write or joined(str)
        self._pieces: list[Piece] = []
        self._items: list[Item] = []
        self._place = ""  # place of the open segment's first text

    def literal(self, raw: str) -> None:
        """Adds markup that belongs to no words."""
        if raw:
            self.mark("void", [raw])

    def mark(self, kind: str, raw: Sequence[Piece], key: str = "") -> None:
        last = self._items[-1] if self._items else None
        if kind == "void" and last and last.kind in ("void", "open") and not last.after:
            last.raw += raw
        else:
            self._items.append(Item(kind, list(raw), key=key))

    def text(
        self,
        raw: str,
        place: str,
        decode: Callable[[str], str] = str,
        *,
        margin: str = r"\s",
    ) -> None:
        """Adds a text. `margin` matches white space, which stays unchanged at the
        ends of a segment."""
        found = re.fullmatch(rf"((?:{margin})*)(.*?)((?:{margin})*)", raw, re.DOTALL)
        assert found is not None  # the pattern matches any text
        for part in found.groups():
            if part:
                self.item(Item("text", [part], decode(part)), place)

    def item(self, item: Item, place: str = "") -> None:
        if item.text.strip() and not self._place:
            self._place = place
        self._items.append(item)

    def alone(
        self, raw: str, place: str, decode: Callable[[str], str], write: Write, margin: str
    ) -> list[Piece]:
        """Makes a separate segment for a part of a mark, such as an attribute's
        value."""
        own = Builder(write)
        own.text(raw, place, decode, margin=margin)
        own.close()
        self.segments += own.segments
        return own._pieces

    def whole(self, sent: Sent, raw: str, place: str, write: Write) -> None:
        """Adds a segment whose markup the server parses."""
        self.close()
        segment = Segment(place, sent, [Item("text", [raw])], write, {}, {})
        self.segments.append(segment)
        self._pieces.append(segment)

    def close(self, write: Write | None = None) -> None:
        """Ends the open segment."""
        items, self._items = self._items, []
        place, self._place = self._place, ""
        partners = partners_of(items)
        for item in items:
            if item.kind in ("open", "close") and item not in partners:
                item.kind = "void"
        ends = _ends(items, partners)
        if ends is None:
            self._pieces += [piece for item in items for piece in item.raw]
            return
        first, last = ends
        segment = _segment(place, items[first : last + 1], partners, write or self._write)
        self.segments.append(segment)
        self._pieces += [piece for item in items[:first] for piece in item.raw]
        self._pieces.append(segment)
        self._pieces += [piece for item in items[last + 1 :] for piece in item.raw]

    def render(self, translations: Translations) -> str:
        if len(translations) != len(self.segments):
            raise ValueError("one translation for each segment")
        texts = dict(zip(map(id, self.segments), translations))

        def render(pieces: Sequence[Piece]) -> str:
            return "".join(
                piece if isinstance(piece, str) else write(piece) for piece in pieces
            )

        def write(segment: Segment) -> str:
            text = texts[id(segment)]
            if text is None or text == segment.sent.text:
                return "".join(render(item.raw) for item in segment.items)
            return segment.write(segment, segment.parts(text), lambda mark: render(mark.raw))

        return render(self._pieces)


def partners_of(items: Sequence[Item]) -> dict[Item, Item]:
    """Maps each "open" to its "close" and back; pairs are nested. A mark without a
    partner is a mark at a place."""
    partners: dict[Item, Item] = {}
    opened: list[Item] = []
    for item in items:
        if item.kind == "open":
            opened.append(item)
        elif item.kind == "close" and any(one.key == item.key for one in opened):
            if item.key.startswith("#") and opened[-1].key != item.key:
                continue
            while opened[-1].key != item.key:
                opened.pop()
            partners[item] = opened.pop()
            partners[partners[item]] = item
    return partners


def _ends(items: Sequence[Item], partners: dict[Item, Item]) -> tuple[int, int] | None:
    """Returns the indices of the segment's first and last item. Between them are all
    texts, all marks that stand for words, and both sides of pairs that enclose one.
    None: there is no text."""
    if not any(item.kind == "text" and item.text.strip() for item in items):
        return None
    wanted = [
        place
        for place, item in enumerate(items)
        if item.kind == "kept" or (item.kind == "text" and item.text.strip())
    ]
    first, last = wanted[0], wanted[-1]
    places = {item: place for place, item in enumerate(items)}
    pairs = [(places[one], places[partners[one]]) for one in partners if one.kind == "open"]
    # The innermost pairs first: since pairs are nested, including one can make
    # only those around it necessary.
    for begin, end in sorted(pairs, key=lambda pair: pair[1] - pair[0]):
        if first <= begin <= last or first <= end <= last:
            first, last = min(first, begin), max(last, end)
    while first > 0 and items[first - 1].kind == "glue":
        first -= 1
    while last + 1 < len(items) and items[last + 1].kind == "glue":
        last += 1
    return first, last


def _segment(
    place: str, items: list[Item], partners: dict[Item, Item], write: Write
) -> Segment:
    numbers: dict[Item, str] = {}
    for item in items:
        if item.kind not in ("text", "glue", "close"):
            numbers[item] = str(len(numbers))
    marks = {number: item for item, number in numbers.items()}
    if not marks:
        text = collapse("".join(item.text for item in items))
        lead = text[: len(text) - len(text.lstrip())]
        trail = text[len(text.rstrip()) :]
        return Segment(place, Sent(text.strip()), items, write, {}, {}, lead, trail)
    sent = "".join(
        escape(item.text) if item.kind == "text" else _tag(item, numbers.get(item, ""))
        for item in items
    )
    return Segment(place, Sent(sent, "HTML"), items, write, marks, partners)


def _tag(item: Item, number: str) -> str:
    """Returns the HTML that stands for a mark in the sent text."""
    return {
        "open": f'<span id="{number}">',
        "close": "</span>",
        "void": f'<img id="{number}">',
        "kept": f'<code id="{number}"></code>',  # stands for a word
        "glue": "",
    }[item.kind]


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def collapse(text: str) -> str:
    """Replaces each run of white space by a space, as these formats read it."""
    return re.sub(r"[ \t\r\n\f]+", " ", text)


class Lines:
    """Line numbers, from 1, of offsets in a text."""

    def __init__(self, text: str) -> None:
        self._ends = [found.end() for found in re.finditer(r"\r\n|\r|\n", text)]

    def place(self, offset: int) -> str:
        return f"line {bisect.bisect_right(self._ends, offset) + 1}"
