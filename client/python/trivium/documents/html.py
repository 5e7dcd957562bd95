"""HTML: translates texts and the attributes that people read. Tags, comments,
scripts, styles, code and elements with translate="no" stay. Blocks, and <br>, end a
text; other tags are marks inside it."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from trivium.documents.document import Builder, Lines, Options, Piece, Write, escape, joined
from trivium.documents.encoding import (
    XML_DECLARATION,
    TextDocument,
    declared,
    decode,
)

_CHARSET = rb"""<meta[^>]*?charset\s*=\s*["']?([\w.:-]+)"""
_TOKEN = re.compile(
    r"""<!--.*?(?:-->|$)|<!\[CDATA\[.*?\]\]>|<[!?][^>]*>
      | <(?P<close>/?)(?P<name>[a-zA-Z][^\s/>]*)
        (?:[^>"']|"[^"]*"|'[^']*')*> | </?[a-zA-Z][^>]*>""",
    re.VERBOSE | re.DOTALL,
)
_ATTRIBUTE = re.compile(
    r"""(?<=[\s"'])(?P<name>[^\s=/<>"']+)(?P<is>\s*=\s*)(?P<value>"[^"]*"|'[^']*'|[^\s"'=<>`]+)"""
)
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite data del dfn em font i img ins label mark "
    "picture q rb rp rt ruby s small source span strike strong sub sup time tt u "
    "wbr".split()
)
_RAW = frozenset("script style xmp iframe noembed noframes template".split())
# Elements whose content stays. In a text they stand for a word (_NAMES), stand
# for nothing, or end the text.
_NAMES = frozenset("code kbd math samp var".split())
_SKIPPED = _NAMES | frozenset(["pre", "svg"])
_IN_TEXT = _INLINE | _NAMES | frozenset(["svg"])
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()
)
_READ = frozenset({"alt", "title", "placeholder", "aria-label", "aria-description"})
_META = frozenset({"description", "keywords", "og:title", "og:description"})
_MARGIN = r"\s|&nbsp;|&\#160;|&\#[xX][aA]0;"


def read(data: bytes, _: Options) -> TextDocument:
    encoding = declared(data, XML_DECLARATION, declared(data, _CHARSET, "utf-8"))
    source = decode(data, encoding)
    reader = _Reader(source.text)
    reader.read()
    return TextDocument(source, reader.builder, "xmlcharrefreplace")


class _Reader:
    def __init__(self, text: str) -> None:
        self.builder = Builder(joined(_encode))
        self._text = text
        self._lines = Lines(text)
        # The element whose content stays, how many elements of its name are
        # open, and its raw text so far.
        self._skipped = ""
        self._depth = 0
        self._kept: list[str] = []

    def read(self) -> None:
        at = 0
        while (found := _TOKEN.search(self._text, at)) is not None:
            self._add_text(at, found.start())
            self._tag(found)
            at = found.end()
            name = (found["name"] or "").lower()
            if name in _RAW and not found["close"]:
                end = re.compile(rf"</{name}[\s/>]", re.I).search(self._text, at)
                until = end.start() if end else len(self._text)
                self._stay(self._text[at:until])
                at = until
        self._add_text(at, len(self._text))
        if self._skipped:
            self._end_skipped()

    def _add_text(self, begin: int, end: int) -> None:
        raw = self._text[begin:end]
        if self._skipped:
            self._kept.append(raw)
        else:
            place = self._lines.place(begin)
            self.builder.text(raw, place, html.unescape, margin=_MARGIN)

    def _stay(self, raw: str) -> None:
        if self._skipped:
            self._kept.append(raw)
        else:
            self.builder.literal(raw)

    def _end_skipped(self) -> None:
        """Ends an element whose content stays. It is part of a sentence unless it is
        a block."""
        name, self._skipped = self._skipped, ""
        kind = "kept" if name in _IN_TEXT and name != "svg" else "void"
        self.builder.mark(kind, ["".join(self._kept)])
        if name not in _IN_TEXT:
            self.builder.close()

    def _tag(self, found: re.Match[str]) -> None:
        raw = found.group()
        name = (found["name"] or "").lower()
        if self._skipped:
            if name == self._skipped and not raw.endswith("/>"):
                if not found["close"] and name in ("p", "option"):
                    self._end_skipped()  # this tag closes the skipped element
                else:
                    self._depth += -1 if found["close"] else 1
            if self._skipped:
                self._kept.append(raw)
                if self._depth == 0:
                    self._end_skipped()
                return
        if name and name not in _IN_TEXT:
            self.builder.close()
        if not name or found["close"]:
            self.builder.mark("close" if name in _INLINE else "void", [raw], name)
            return
        attributes = {
            one["name"].lower(): one["value"].strip("\"'").lower()
            for one in _ATTRIBUTE.finditer(raw)
        }
        empty = name in _VOID or raw.endswith("/>")
        kept = (
            name in _SKIPPED
            or attributes.get("translate") == "no"
            or "notranslate" in attributes.get("class", "").split()
        )
        if kept and not empty:
            self._skipped, self._depth, self._kept = name, 1, [raw]
        elif kept:
            self.builder.literal(raw)
        else:
            pieces = self._read_attributes(raw, name, attributes, found.start())
            kind = "open" if name in _INLINE and not empty else "void"
            self.builder.mark(kind, pieces, name)

    def _read_attributes(
        self, raw: str, name: str, attributes: dict[str, str], begin: int
    ) -> Sequence[Piece]:
        """Returns the pieces of a tag: attribute values that people read become
        segments."""
        wanted = set(_READ)
        kind = attributes.get("name") or attributes.get("property")
        if name == "meta" and kind in _META:
            wanted.add("content")
        if name == "input" and attributes.get("type") in ("button", "submit", "reset"):
            wanted.add("value")
        place = self._lines.place(begin)
        pieces: list[Piece] = []
        at = 0
        for one in _ATTRIBUTE.finditer(raw):
            quote = one["value"][0]
            if one["name"].lower() not in wanted or quote not in "\"'":
                continue
            pieces.append(raw[at : one.start("value") + 1])
            value = one["value"][1:-1]
            pieces += self.builder.alone(value, place, html.unescape, _QUOTED[quote], _MARGIN)
            at = one.end("value") - 1
        return [*pieces, raw[at:]]


def _encode(text: str) -> str:
    return escape(text).replace("\xa0", "&nbsp;")


def _quoted(quote: str, entity: str) -> Write:
    return joined(
        lambda text: text.replace("&", "&amp;").replace("\xa0", "&nbsp;").replace(quote, entity)
    )


_QUOTED = {'"': _quoted('"', "&quot;"), "'": _quoted("'", "&#39;")}
