"""Markdown, which the server parses itself (TEXT_FORMAT_MARKDOWN). It is sent block
by block; each block has the definitions of its links added."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from trivium.documents.document import Builder, Item, Options, Part, Segment, Sent
from trivium.documents.encoding import TextDocument, decode

_LIST = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?:\s|$)")
_BULLET = re.compile(r"[-+*][ \t]+\S")
# In list items, fences may follow the item's mark, and be indented.
_FENCE = {
    in_list: re.compile(rf"{begin}(?:(`{{3,}})[^`]*$|(~{{3,}}))")
    for in_list, begin in (
        (False, " {0,3}"),
        (True, r"(?:[ \t]|[-+*][ \t]|\d{1,9}[.)][ \t])*"),
    )
}
# HTML blocks that blank lines do not end: how they begin and how they end.
_HTML = (
    (re.compile(r" {0,3}<(?:script|pre|style|textarea)(?=[\s>]|$)", re.I),
     re.compile(r"</(?:script|pre|style|textarea)>", re.I)),
    (re.compile(r" {0,3}<!--"), re.compile(r"-->")),
    (re.compile(r" {0,3}<\?"), re.compile(r"\?>")),
    (re.compile(r" {0,3}<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r" {0,3}<![a-zA-Z]"), re.compile(r">")),
)  # fmt: skip
_DEFINITION = re.compile(r" {0,3}\[([^\[\]^][^\[\]]*)\]:.*")
_LABEL = re.compile(r"\[([^\[\]]+)\]")


def read(data: bytes, _: Options) -> TextDocument:
    source = decode(data, "utf-8")
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", source.text)
    builder = Builder()
    at = _front_matter(lines)
    builder.literal("".join(lines[:at]))
    builder.close()
    blocks = _blocks(lines, at)
    definitions: dict[str, str] = {}
    for first, last in blocks:
        for line in lines[first:last]:
            found = _DEFINITION.match(line)
            if found is not None:
                definitions.setdefault(_name(found[1]), line.strip())
    for first, last in blocks:
        _add(builder, "".join(lines[first:last]), f"line {first + 1}", definitions)
    return TextDocument(source, builder)


def _front_matter(lines: Sequence[str]) -> int:
    """Returns how many lines the front matter has."""
    mark = lines[0].rstrip() if lines else ""
    if mark in ("---", "+++"):
        for at, line in enumerate(lines[1:], 2):
            if line.rstrip() == mark:
                return at
    return 0


def _blocks(lines: Sequence[str], at: int) -> list[tuple[int, int]]:
    """Returns the lines [first, last) of each block that can be parsed by itself. A
    block ends before an unindented line that follows a blank line, or that begins
    another list item. Lines within code and HTML do not count."""
    blocks = []
    first = at
    end: re.Pattern[str] | None = None  # the end of the open code or HTML
    while at < len(lines):
        line = lines[at]
        in_list = _LIST.match(lines[first]) is not None
        begins = not line[0].isspace() and at > first and not lines[at - 1].strip()
        if end is None and (begins or (at > first and in_list and _BULLET.match(line))):
            blocks.append((first, at))
            first = at
        if end is None:
            end = _end_of_opened(line, _LIST.match(lines[first]) is not None)
        elif end.search(line):
            end = None
        at += 1
    return [*blocks, (first, at)]


def _end_of_opened(line: str, in_list: bool) -> re.Pattern[str] | None:
    fence = _FENCE[in_list].match(line.rstrip("\r\n"))
    if fence is not None:
        mark = fence[1] or fence[2]
        indent = r"[ \t]*" if in_list else " {0,3}"
        return re.compile(rf"^{indent}{mark}{mark[0]}*\s*$")
    for begin, end in _HTML:
        found = begin.match(line)
        if found is not None:
            return None if end.search(line, found.end()) else end
    return None


def _name(label: str) -> str:
    return " ".join(label.split()).casefold()


def _add(builder: Builder, raw: str, place: str, definitions: dict[str, str]) -> None:
    """Adds a block as a segment, if it has any text."""
    text = raw.rstrip()
    # At the beginning of a text, a rule would be read as front matter.
    head = "\n" if re.match(r"(?:---|\+\+\+)[ \t]*(?:[\r\n]|$)", text) else ""
    own = {_name(found[1]) for found in map(_DEFINITION.match, text.splitlines()) if found}
    names = dict.fromkeys(map(_name, _LABEL.findall(text)))
    needed = [definitions[one] for one in names if one in definitions and one not in own]
    tail = "".join(f"\n{one}" for one in needed)
    tail = tail and "\n" + tail

    def write(_: Segment, parts: Sequence[Part], __: Callable[[Item], str]) -> str:
        return "".join(map(str, parts)).removeprefix(head).removesuffix(tail)

    if text:
        builder.whole(Sent(head + text + tail, "MARKDOWN"), text, place, write)
    builder.literal(raw[len(text) :])
    builder.close()
