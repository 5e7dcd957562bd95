"""Splits XML into tokens: tags, texts and the rest, with their places."""

from __future__ import annotations

import html
import re
import xml.parsers.expat
from collections.abc import Iterator
from typing import NamedTuple

from trivium.documents.document import DocumentError

_TOKEN = re.compile(
    r"""(?P<comment><!--.*?-->)
      | (?P<cdata><!\[CDATA\[.*?\]\]>)
      | (?P<pi><\?.*?\?>)
      | (?P<doctype><!DOCTYPE(?:[^\[>"']|"[^"]*"|'[^']*'|\[.*?\]\s*(?=>))*>)
      | (?P<tag></?(?P<name>[^\s/>]+)(?:[^>"']|"[^"]*"|'[^']*')*>)
      | (?P<text>[^<]+)""",
    re.VERBOSE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([^\s=/<>"']+)\s*=\s*("[^"]*"|'[^']*')""")


class Token(NamedTuple):
    kind: str  # "open", "close", "empty" (tags), "text", "cdata", "other"
    raw: str
    name: str  # of tags, with its prefix
    begin: int  # offset in the document

    def attributes(self) -> dict[str, str]:
        found = _ATTRIBUTE.findall(self.raw)
        return {name: html.unescape(value[1:-1]) for name, value in found}


def check(text: str) -> None:
    """Raises DocumentError unless the text is well-formed XML."""
    parser = xml.parsers.expat.ParserCreate("utf-8")
    try:
        parser.Parse(text.encode("utf-8"), True)
    except xml.parsers.expat.ExpatError as error:
        reason = xml.parsers.expat.ErrorString(error.code)
        raise DocumentError(
            f"line {error.lineno}, column {error.offset + 1}: this is not XML: {reason}"
        ) from None


def tokens(text: str) -> Iterator[Token]:
    """Yields the tokens of `text`, which check() must have accepted. Their raw texts,
    joined, are `text`."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise DocumentError(f"this is not XML: {text[at : at + 40]!r}")
        raw = found.group()
        kind = found.lastgroup or ""
        if kind == "name" or found["tag"]:
            kind = "open"
            if raw.startswith("</"):
                kind = "close"
            elif raw.endswith("/>"):
                kind = "empty"
        elif kind not in ("text", "cdata"):
            kind = "other"
        yield Token(kind, raw, found["name"] or "", at)
        at = found.end()


def unescape(raw: str) -> str:
    """Replaces XML's own entities and character numbers. Entities that a DTD defines
    stay as they are."""
    return re.sub(
        r"&(?:(lt|gt|amp|quot|apos)|#(\d+)|#x([0-9a-fA-F]+));",
        lambda found: _character(found[1], found[2], found[3]),
        raw,
    )


def _character(name: str | None, decimal: str | None, hexadecimal: str | None) -> str:
    if name:
        return {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}[name]
    return chr(int(decimal) if decimal else int(hexadecimal or "0", 16))
