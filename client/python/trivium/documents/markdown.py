"""Markdown (CommonMark's blocks, and tables). A paragraph's lines are one text,
written in one line; headings, list items and cells are texts. Front matter, code,
HTML blocks and link definitions stay; emphasis, links, code spans, tags and
footnote marks are inline markup."""

from __future__ import annotations

import html
import re

from trivium.documents.document import Builder, Options
from trivium.documents.encoding import TextDocument, decode
from trivium.documents.html import add_text

# Quotes and list markers, which may be nested.
_PREFIX = re.compile(r"(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*)*")
_QUOTES = re.compile(r"[ \t>]*")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+")
_HEADING_END = re.compile(r"[ \t]+#+[ \t]*$")
_RULE = re.compile(r"[ \t]*(?:=+|-+|(?:[-*_][ \t]*){3,})[ \t]*$")
_DEFINITION = re.compile(r" {0,3}\[[^\]]+\]:")
_HTML_BLOCK = re.compile(
    r"""\ {0,3}<(?:[!?]|/?(?:address|article|aside|blockquote|body|center|details|dialog
        |dd|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|head|header|hr|html
        |iframe|legend|li|link|main|menu|nav|ol|optgroup|option|p|pre|script|section|style
        |summary|table|tbody|td|textarea|tfoot|th|thead|title|tr|ul)(?=[\s/>]))""",
    re.VERBOSE | re.IGNORECASE,
)
_LONE_TAG = re.compile(r""" {0,3}</?[a-zA-Z](?:[^<>"']|"[^"]*"|'[^']*')*>[ \t]*$""")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_CELL = re.compile(r"((?<!\\)\|)")
_TASK = re.compile(r"\[[ xX]\][ \t]+")
_INLINE = re.compile(
    r"""(?P<escaped>\\[!-/:-@\[-`{-~])
      | (?P<code>(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))
      | (?P<image>!\[(?P<alt>[^\[\]]*)\](?P<target>\([^()\s]*(?:[ \t]+"[^"]*")?\)|\[[^\]]*\]))
      | <(?:https?|mailto|ftp)[^<>\s]*> | </?[a-zA-Z](?:[^<>"']|"[^"]*"|'[^']*')*> | <!--.*?-->
      | \[\^[^\]]+\]
      | \[(?=[^\[\]]*\](?:\(|\[)) | (?<=\S)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\])
      | (?:\*{1,3}|~~) | (?<!\w)_{1,3}(?=\S) | (?<=\S)_{1,3}(?!\w)""",
    re.VERBOSE | re.DOTALL,
)
_BLOCK_START = re.compile(r"(?:#{1,6}|[-+*]|\d{1,9}[.)])(?=\s|$)|[>|]")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def read(data: bytes, _: Options) -> TextDocument:
    source = decode(data, "utf-8")
    reader = _Reader(source.text.splitlines(keepends=True))
    reader.read()
    return TextDocument(source, reader.builder)


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.builder = Builder()
        self._lines = lines
        self._at = 0
        # Lines of a paragraph, the first without its prefix.
        self._paragraph: list[str] = []
        self._begin = 0
        self._quoted = 0  # how many quotes it is in

    def read(self) -> None:
        if self._lines and self._lines[0].rstrip() in ("---", "+++"):
            self._front_matter(self._lines[0].rstrip())
        while self._at < len(self._lines):
            self._line(self._lines[self._at])
        self._end_paragraph()

    def _literal(self) -> None:
        self.builder.literal(self._lines[self._at])
        self._at += 1

    def _front_matter(self, mark: str) -> None:
        ends = [i for i, line in enumerate(self._lines) if line.rstrip() == mark]
        for _ in range(ends[1] + 1 if len(ends) > 1 else 0):
            self._literal()

    def _line(self, line: str) -> None:
        if not line.strip(" \t\r\n>"):
            self._end_paragraph()
            self._literal()
        elif self._paragraph and not self._interrupts(line):
            self._paragraph.append(line)
            self._at += 1
            if re.search(r"(?: {2}|\\)\r?\n?$", line):
                self._end_paragraph()
        else:
            self._end_paragraph()
            self._block(line)

    def _interrupts(self, line: str) -> bool:
        """Whether a line after those of a paragraph is none of it."""
        quotes = _QUOTES.match(line)
        assert quotes is not None  # it matches anything
        bare = line[quotes.end() :]
        prefix = _PREFIX.match(line)
        new_item = prefix is not None and re.search(r"[-+*\d]", prefix.group())
        return bool(
            new_item
            or quotes.group().count(">") > self._quoted
            or _FENCE.match(bare)
            or _HEADING.match(bare)
            or _RULE.match(bare.rstrip("\r\n"))
            or _TABLE_RULE.match(bare.rstrip("\r\n"))
            or _HTML_BLOCK.match(bare)
        )

    def _block(self, line: str) -> None:
        prefix = _PREFIX.match(line)
        assert prefix is not None  # it matches anything
        bare = line[prefix.end() :]
        body = bare.rstrip("\r\n")
        following = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        if _FENCE.match(bare):
            self._fenced(bare)
        elif _RULE.match(body) or _DEFINITION.match(bare) or _TABLE_RULE.match(body):
            self._literal()
        elif not prefix.group().strip() and re.match(r" {4}|\t", line):
            self._indented(line)
        elif _HTML_BLOCK.match(bare) or (
            _LONE_TAG.match(body) and not re.match(r"\s*<(?:https?|mailto|ftp):", bare)
        ):
            while self._at < len(self._lines) and self._lines[self._at].strip():
                self._literal()
        elif "|" in body and _TABLE_RULE.match(following.rstrip("\r\n").lstrip("> ")):
            self._table()
        elif (heading := _HEADING.match(bare)) is not None:
            self.builder.literal(line[: prefix.end()] + heading.group())
            text = bare[heading.end() :]
            end = _HEADING_END.search(text.rstrip("\r\n"))
            cut = end.start() if end else len(text)
            self._inline(text[:cut], self._at)
            self.builder.literal(text[cut:])
            self._at += 1
        else:
            task = _TASK.match(bare)
            begin = prefix.end() + (task.end() if task else 0)
            self.builder.literal(line[:begin])
            self._paragraph, self._begin = [line[begin:]], self._at
            self._quoted = prefix.group().count(">")
            self._at += 1
            if re.search(r"(?: {2}|\\)\r?\n?$", line):
                self._end_paragraph()

    def _fenced(self, bare: str) -> None:
        mark = _FENCE.match(bare)
        assert mark is not None
        fence = mark.group(1)
        self._literal()
        while self._at < len(self._lines):
            line = self._lines[self._at].strip(" \t\r\n>")
            self._literal()
            if len(line) >= len(fence) and not line.strip(fence[0]):
                return

    def _indented(self, line: str) -> None:
        """Code, unless it goes on with a list's item."""
        above = next((one for one in reversed(self._lines[: self._at]) if one.strip()), "")
        prefix = _PREFIX.match(above)
        in_list = (prefix is not None and prefix.group().strip(" \t>")) or re.match(
            r"[ \t]", above
        )
        if not in_list:
            self._literal()
            return
        indent = len(line) - len(line.lstrip(" \t"))
        self.builder.literal(line[:indent])
        self._paragraph, self._begin, self._quoted = [line[indent:]], self._at, 0
        self._at += 1

    def _table(self) -> None:
        while self._at < len(self._lines) and "|" in self._lines[self._at]:
            line = self._lines[self._at]
            if _TABLE_RULE.match(line.rstrip("\r\n").lstrip("> ")):
                self._literal()
                continue
            for index, cell in enumerate(_CELL.split(line)):
                if index % 2:
                    self.builder.literal(cell)
                else:
                    self._inline(cell, self._at)
            self._at += 1

    def _end_paragraph(self) -> None:
        if not self._paragraph:
            return
        text = "".join(self._paragraph)
        self._paragraph = []
        # A hard break stays.
        end = re.search(r"\s*\\?\s*$", text)
        assert end is not None
        self._inline(text[: end.start()], self._begin)
        self.builder.literal(text[end.start() :])

    def _inline(self, text: str, line: int) -> None:
        place = f"line {line + 1}"
        at = 0
        for found in _INLINE.finditer(text):
            if found["escaped"]:
                continue  # is text
            self._add(text[at : found.start()], place)
            if found["image"]:
                self.builder.literal("![")
                add_text(self.builder, found["alt"], place, "]")
                self.builder.literal("]" + found["target"])
            else:
                self.builder.literal(found.group())
            at = found.end()
        self._add(text[at:], place)
        self.builder.close()

    def _add(self, raw: str, place: str) -> None:
        self.builder.text(raw, place, _decode, _escape, margin=r"\s|&nbsp;|(?:(?<=\n)[ \t]*>)")


def _decode(raw: str) -> str:
    # Quotes' marks at the begins of a paragraph's lines.
    raw = re.sub(r"(\n)[ \t]*(?:>[ \t]?)+", r"\1", raw)
    return html.unescape(_ESCAPED.sub(r"\1", raw))


def _escape(text: str) -> str:
    text = re.sub(r"[\\`*\[\]]|<(?=[a-zA-Z/!?])|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("\xa0", "&nbsp;")
    start = _BLOCK_START.match(text)
    if start is not None:
        text = text[: start.end() - 1] + "\\" + text[start.end() - 1 :]
    return text
