"""DOCX: the texts of paragraphs in the body, headers, footers and notes.

Runs of one formatting next to each other are one text, however the program that
wrote them cut it; where the formatting changes, or something that is not text
stands between (a link's border, a note's number, a picture), there is inline
markup. Tabs and line breaks end a text. What is deleted, fields' instructions
and everything else stays. A translated text is written into the first of its
runs; the others of it are left empty."""

from __future__ import annotations

import dataclasses
import io
import re
import zipfile

from trivium.documents import xml_tokens
from trivium.documents.document import (
    Builder,
    DocumentError,
    Options,
    Segment,
    Slot,
    Translations,
)
from trivium.documents.encoding import XML_DECLARATION, DecodedText, declared, decode
from trivium.documents.xml_tokens import Token

_PARTS = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml")
_NAMESPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
# Between two runs of one formatting these change nothing that is seen.
_TRANSPARENT = frozenset(
    "w:r w:t w:rPr w:proofErr w:bookmarkStart w:bookmarkEnd w:permStart w:permEnd "
    "w:lastRenderedPageBreak w:commentRangeStart w:commentRangeEnd".split()
)
_BREAKS = frozenset(["w:tab", "w:br", "w:cr", "w:ptab"])
# Properties that do not show.
_UNSEEN = re.compile(r"<w:(?:lang|noProof|proofErr)\b[^>]*/>")


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
            raise DocumentError(f"no DOCX: {error}") from None
        if "word/document.xml" not in self._parts:
            raise DocumentError("no DOCX: it has no word/document.xml")

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


@dataclasses.dataclass
class _Text:
    """A slot in the making: tokens from the first <w:t> to the last </w:t>."""

    formatting: str
    first: int
    last: int  # the </w:t>
    text: str


class _PartReader:
    def __init__(self, name: str, tokens: list[Token]) -> None:
        self.builder = Builder()
        self._name = name
        self._tokens = tokens
        self._paragraph = 0
        self._formatting = ""  # of the run
        self._text: _Text | None = None
        self._written = 0  # tokens

    def read(self) -> None:
        tokens = self._tokens
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.kind == "open" and token.name == "w:t":
                at = self._add_text(at)
            elif token.name == "w:r" and token.kind == "open":
                self._formatting = ""
            elif token.name == "w:rPr" and token.kind == "open" and self._in_run(at):
                at = self._read_formatting(at)
            elif token.name == "w:p":
                self._end_text()
                self.builder.close()
                self._paragraph += token.kind != "close"
            elif token.name in _BREAKS and token.kind != "close":
                self._end_text()
                self.builder.close()
            elif token.name and token.name not in _TRANSPARENT:
                self._end_text()
            at += 1
        self._end_text()
        self._copy(len(tokens))

    def _in_run(self, at: int) -> bool:
        before = next((t for t in reversed(self._tokens[:at][-4:]) if t.name), self._tokens[0])
        return before.name == "w:r"

    def _read_formatting(self, at: int) -> int:
        """The end of a run's properties."""
        end = at
        while not (self._tokens[end].name == "w:rPr" and self._tokens[end].kind == "close"):
            end += 1
        raw = "".join(token.raw for token in self._tokens[at + 1 : end])
        self._formatting = re.sub(r"\s+", " ", _UNSEEN.sub("", raw)).strip()
        return end

    def _add_text(self, at: int) -> int:
        """The place of the </w:t> that ends the <w:t> here."""
        end = at
        while self._tokens[end].kind != "close":
            end += 1
        text = "".join(
            xml_tokens.unescape(t.raw) if t.kind == "text" else t.raw[9:-3]
            for t in self._tokens[at + 1 : end]
            if t.kind in ("text", "cdata")
        )
        if self._text is not None and self._text.formatting == self._formatting:
            self._text.last = end
            self._text.text += text
        else:
            self._end_text()
            self._text = _Text(self._formatting, at, end, text)
        return end

    def _end_text(self) -> None:
        made, self._text = self._text, None
        if made is None:
            return
        self._copy(made.first)
        self._written = made.last + 1
        tokens = self._tokens[made.first : made.last + 1]
        raw = "".join(token.raw for token in tokens)
        inner = made.text.strip()
        if not inner:
            self.builder.literal(raw)
            self.builder.space()
            return
        begin = made.text.index(inner)
        before, after = made.text[:begin], made.text[begin + len(inner) :]

        def encode(text: str) -> str:
            return _write_runs(tokens, before + text + after)

        place = f"{self._name}, paragraph {self._paragraph}"
        self.builder.slot(Slot(raw, inner, encode, bool(before), bool(after)), place)

    def _copy(self, end: int) -> None:
        for token in self._tokens[self._written : end]:
            self.builder.literal(token.raw)
        self._written = max(self._written, end)


def _write_runs(tokens: list[Token], text: str) -> str:
    """The tokens with the text in the first <w:t> and nothing in the others."""
    end = next(at for at, token in enumerate(tokens) if token.kind == "close")
    out = [f'<w:t xml:space="preserve">{xml_tokens.escape(text)}</w:t>']
    inside = False
    for token in tokens[end + 1 :]:
        if token.name == "w:t":
            inside = token.kind == "open"
        if not inside or token.name:
            out.append(token.raw)
    return "".join(out)
