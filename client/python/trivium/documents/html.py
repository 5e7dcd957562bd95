"""HTML: texts, and the attributes that people read. Tags, comments, scripts,
styles, code and what is marked translate="no" stay. Blocks, and <br>, end a
text; other tags are markup inside it."""

from __future__ import annotations

import html
import re

from trivium.documents.document import Builder, Lines, Options
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
_SKIPPED = frozenset("code kbd math pre samp svg var".split())
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
        self.builder = Builder()
        self._text = text
        self._lines = Lines(text)
        # The element whose content stays, and how many of its name are open.
        self._skipped = ""
        self._depth = 0

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
                self.builder.literal(self._text[at:until])
                at = until
        self._add_text(at, len(self._text))

    def _add_text(self, begin: int, end: int) -> None:
        raw = self._text[begin:end]
        if self._skipped:
            self.builder.literal(raw)
        else:
            add_text(self.builder, raw, self._lines.place(begin))

    def _tag(self, found: re.Match[str]) -> None:
        raw = found.group()
        name = (found["name"] or "").lower()
        if name and name not in _INLINE and name not in _SKIPPED:
            self.builder.close()
        if self._skipped:
            if name == self._skipped and not raw.endswith("/>"):
                opens = not found["close"]
                if opens and name in ("p", "option"):  # ends the one before
                    self._skipped = ""
                else:
                    self._depth += 1 if opens else -1
                    if self._depth == 0:
                        self._skipped = ""
            if self._skipped or found["close"]:
                self.builder.literal(raw)
                return
        attributes = {
            one["name"].lower(): one["value"].strip("\"'").lower()
            for one in _ATTRIBUTE.finditer(raw)
        }
        if not name or found["close"]:
            self.builder.literal(raw)
            return
        kept = (
            name in _SKIPPED
            or attributes.get("translate") == "no"
            or "notranslate" in attributes.get("class", "").split()
        )
        if kept:
            self.builder.literal(raw)
            if name not in _VOID and not raw.endswith("/>"):
                self._skipped, self._depth = name, 1
            return
        self._open_tag(raw, name, attributes, self._lines.place(found.start()))

    def _open_tag(self, raw: str, name: str, attributes: dict[str, str], place: str) -> None:
        wanted = set(_READ)
        kind = attributes.get("name") or attributes.get("property")
        if name == "meta" and kind in _META:
            wanted.add("content")
        if name == "input" and attributes.get("type") in ("button", "submit", "reset"):
            wanted.add("value")
        at = 0
        for one in _ATTRIBUTE.finditer(raw):
            quote = one["value"][0]
            if one["name"].lower() not in wanted or quote not in "\"'":
                continue
            self.builder.literal(raw[at : one.start("value") + 1])
            add_text(self.builder, one["value"][1:-1], place, quote)
            at = one.end("value") - 1
        self.builder.literal(raw[at:])


def add_text(builder: Builder, raw: str, place: str, quote: str = "") -> None:
    """A text, or an attribute's value between quotes."""

    def encode(text: str) -> str:
        text = text.replace("&", "&amp;").replace("\xa0", "&nbsp;")
        if quote:
            return text.replace(quote, "&quot;" if quote == '"' else "&#39;")
        return text.replace("<", "&lt;").replace(">", "&gt;")

    builder.text(raw, place, html.unescape, encode, margin=_MARGIN, alone=bool(quote))
