"""DOCX: the texts of paragraphs in the body, headers, footers and notes.

Neighbouring runs with the same formatting are one text, even if the program that
wrote them split it. A text has a usual formatting, that of most of it. Words with
another formatting, or in a link, a field or the like, are marked; so are numbers of
notes and pictures. Tabs and line breaks end a text. Deleted text, fields'
instructions and everything else stay. A translated text has as few runs as it has
formattings."""

from __future__ import annotations

import collections
import functools
import io
import re
import zipfile
from collections.abc import Callable, Sequence

from trivium.documents import xml_tokens
from trivium.documents.document import (
    Builder,
    DocumentError,
    Item,
    Options,
    Part,
    Segment,
    Translations,
    collapse,
    escape,
    partners_of,
)
from trivium.documents.encoding import XML_DECLARATION, DecodedText, declared, decode
from trivium.documents.xml_tokens import Token

_PARTS = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml")
_NAMESPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
_BREAKS = frozenset(["w:tab", "w:br", "w:cr", "w:ptab"])
# Invisible elements that programs leave between runs.
_UNSEEN_ELEMENTS = frozenset(["w:proofErr", "w:lastRenderedPageBreak"])
_UNSEEN_PROPERTIES = re.compile(r"<w:(?:lang|noProof|proofErr)\b[^>]*/>")
# Pairs of empty elements that mark ranges.
_RANGE = re.compile(r"w:(bookmark|commentRange|perm)(Start|End)")


class DocxDocument:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._parts: dict[str, tuple[DecodedText, Builder]] = {}
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for name in archive.namelist():
                    if _PARTS.fullmatch(name):
                        self._parts[name] = _read_part(name, archive.read(name))
        except (zipfile.BadZipFile, zipfile.LargeZipFile, RuntimeError) as error:
            raise DocumentError(f"this is not a DOCX file: {error}") from None
        if "word/document.xml" not in self._parts:
            raise DocumentError("this is not a DOCX file: it has no word/document.xml")

    @property
    def segments(self) -> list[Segment]:
        return [s for _, builder in self._parts.values() for s in builder.segments]

    def render(self, translations: Translations) -> bytes:
        changed: dict[str, bytes] = {}
        begin = 0
        for name, (source, builder) in self._parts.items():
            end = begin + len(builder.segments)
            text = builder.render(translations[begin:end])
            begin = end
            if text != source.text:
                changed[name] = source.encode(text, "xmlcharrefreplace")
        if not changed:
            return self._data
        out = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(self._data)) as before,
            zipfile.ZipFile(out, "w") as after,
        ):
            after.comment = before.comment
            for entry in before.infolist():
                content = changed.get(entry.filename)
                if content is None:
                    content = before.read(entry)
                after.writestr(entry, content, compress_type=entry.compress_type)
        return out.getvalue()


def read(data: bytes, _: Options) -> DocxDocument:
    return DocxDocument(data)


def _read_part(name: str, data: bytes) -> tuple[DecodedText, Builder]:
    try:
        source = decode(data, declared(data, XML_DECLARATION, "utf-8"))
        xml_tokens.check(source.text)
    except DocumentError as error:
        raise DocumentError(f"{name}: {error}") from None
    tokens = list(xml_tokens.tokens(source.text))
    root = next(token for token in tokens if token.kind in ("open", "empty"))
    if root.attributes().get("xmlns:w") not in _NAMESPACES:
        raise DocumentError(f"{name}: its elements are not WordprocessingML's (w:)")
    reader = _PartReader(name, tokens)
    reader.read()
    return source, reader.builder


class _PartReader:
    """Reads the runs of a part. A translated text may need other runs than the
    source has, so each item records which run is open before and after it: the
    beginning of that run (its tag and its properties), or nothing."""

    def __init__(self, name: str, tokens: list[Token]) -> None:
        self.builder = Builder()
        self._name = name
        self._tokens = tokens
        self._paragraph = 0
        self._run = ""  # the open run
        self._outer: list[str] = []  # open runs around text boxes
        self._items: list[Item] = []  # items of the open segment

    def read(self) -> None:
        at = 0
        while at < len(self._tokens):
            at = self._read(at)
        self._close()

    def _read(self, at: int) -> int:
        """Reads the element or text at a place; returns the place after it."""
        token = self._tokens[at]
        bounds = _RANGE.fullmatch(token.name)
        if token.name == "w:p":
            self._close()
            if token.kind == "open":
                self._outer.append(self._run)
            self._run = ""
            self._add("void", token.raw)
            if token.kind == "close":
                self._run = self._outer.pop()
            self._paragraph += token.kind != "close"
        elif token.name == "w:r" and token.kind == "open":
            return self._begin_run(at)
        elif token.name == "w:r" and token.kind == "close":
            self._add("glue", token.raw, run="")
        elif token.name in _UNSEEN_ELEMENTS or not token.name:  # no name: white space
            self._add("glue", token.raw)
        elif self._run and token.kind in ("open", "empty"):
            return self._read_child(at)
        elif bounds is not None:
            kind = "open" if bounds[2] == "Start" else "close"
            key = f"#{bounds[1]} {token.attributes().get('w:id')}"
            self._add(kind, token.raw, key=key)
        else:
            kind = token.kind if token.kind in ("open", "close") else "void"
            self._add(kind, token.raw, key=token.name)
        return at + 1

    def _add(
        self, kind: str, raw: str, *, text: str = "", key: str = "", run: str | None = None
    ) -> None:
        """Adds an item. `run`: the run that is open from here on, if it changes."""
        before = self._run
        self._run = before if run is None else run
        self._items.append(Item(kind, [raw], text, key, before, self._run))

    def _end_of(self, at: int) -> int:
        """Returns the place of the tag that closes the element."""
        depth = 0
        while True:
            depth += {"open": 1, "close": -1}.get(self._tokens[at].kind, 0)
            if depth == 0:
                return at
            at += 1

    def _begin_run(self, at: int) -> int:
        end = at
        properties = next(i for i in range(at + 1, len(self._tokens)) if self._tokens[i].name)
        if self._tokens[properties].name == "w:rPr":
            end = self._end_of(properties)
        raw = "".join(token.raw for token in self._tokens[at : end + 1])
        self._add("glue", raw, run=raw)
        return end + 1

    def _read_child(self, at: int) -> int:
        """Reads a child of a run."""
        name = self._tokens[at].name
        end = self._end_of(at)
        tokens = self._tokens[at : end + 1]
        if any(token.name == "w:p" for token in tokens):
            # A text box: its paragraphs have runs of their own.
            self._close()
            self._add("void", tokens[0].raw)
            return at + 1
        raw = "".join(token.raw for token in tokens)
        if name == "w:t":
            text = "".join(
                xml_tokens.unescape(token.raw) if token.kind == "text" else token.raw[9:-3]
                for token in tokens
                if token.kind in ("text", "cdata")
            )
            self._add("text", raw, text=collapse(text))
        elif name in _BREAKS:
            self._close()
            self._add("void", raw)
        elif name == "w:fldChar":
            self._add_field(tokens[0].attributes().get("w:fldCharType", ""), raw)
        else:
            self._add("void", raw)
        return end + 1

    def _add_field(self, what: str, raw: str) -> None:
        """Adds a part of a field. A field's result is between two marks: its begin,
        with the instructions, and its end. A field without text is one mark."""
        kind = {"begin": "open", "end": "close"}.get(what, "void")
        self._add(kind, raw, key="#field")
        begins = [i for i, one in enumerate(self._items[:-1]) if one.key == "#field"]
        begin = begins[-1] if begins else len(self._items)
        items = self._items[begin:]
        if what == "begin" or not items or any(one.kind == "text" for one in items):
            return
        if items[0].kind != "open":
            return
        pieces = [piece for one in items for piece in one.raw]
        kind, key = ("void", "") if what == "end" else ("open", "#field")
        joined = Item(kind, pieces, "", key, items[0].before, items[-1].after)
        self._items[begin:] = [joined]

    def _close(self) -> None:
        """Ends the segment."""
        items, self._items = self._items, []
        partners = partners_of(items)
        lengths: collections.Counter[str] = collections.Counter()
        runs: dict[str, str] = {}  # the first run of each formatting
        for item in items:
            if item.kind == "text":
                formatting = _formatting(item.before)
                lengths[formatting] += len(item.text.strip())
                runs.setdefault(formatting, item.before)
        usual = max(lengths, key=lambda one: lengths[one], default="")
        write = functools.partial(_write, runs.get(usual, ""))
        place = f"{self._name}, paragraph {self._paragraph}"
        for item in _marked(items, usual):
            # An element that begins or ends elsewhere ends the segment.
            border = item.kind in ("open", "close") and item.key[0] != "#"
            border = border and bool(item.raw) and item not in partners
            if border:
                self.builder.close(write)
            self.builder.item(item, place)
            if border:
                self.builder.close(write)
        self.builder.close(write)


def _formatting(run: str) -> str:
    """Returns the visible properties of a run's beginning."""
    bare = re.sub(r"^<[^>]*>|</?w:rPr\b[^>]*>", "", run)
    return re.sub(r"\s+", " ", _UNSEEN_PROPERTIES.sub("", bare)).strip()


def _marked(items: Sequence[Item], usual: str) -> list[Item]:
    """Returns the items with marks around texts that have another formatting than
    the usual one."""
    marked: list[Item] = []
    current = usual
    end = 0  # place after the last text of the current formatting

    def change(formatting: str, run: str) -> None:
        nonlocal current
        if current != usual:
            before = marked[end - 1].after
            marked.insert(end, Item("close", [], "", "run", before, before))
        current = formatting
        if current != usual:
            marked.append(Item("open", [], "", "run", run, run))

    for item in items:
        if item.kind == "text" and item.text.strip():
            if _formatting(item.before) != current:
                change(_formatting(item.before), item.before)
            marked.append(item)
            end = len(marked)
            continue
        if item.kind in ("open", "close"):
            change(usual, "")
        marked.append(item)
    change(usual, "")
    return marked


def _write(
    usual: str, segment: Segment, parts: Sequence[Part], render: Callable[[Item], str]
) -> str:
    """Writes a translated segment. `usual`: the run for text without another
    formatting."""
    out: list[str] = []
    open_run = segment.items[0].before
    runs = [usual]

    def add(before: str, raw: str, after: str) -> None:
        nonlocal open_run
        if open_run != before:
            out.extend(["</w:r>" if open_run else "", before])
        out.append(raw)
        open_run = after

    for part in parts:
        if isinstance(part, str):
            text = f'<w:t xml:space="preserve">{escape(part)}</w:t>'
            add(runs[-1], text, runs[-1])
        elif part.raw:
            add(part.before, render(part), part.after)
        elif part.kind == "open":
            runs.append(part.after)
        else:
            runs.pop()
    last = segment.items[-1].after
    add(last, "", last)
    return "".join(out)
