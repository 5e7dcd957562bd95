"""Decodes a document's bytes to text, and encodes it to the same bytes again."""

from __future__ import annotations

import codecs
import dataclasses
import re

from trivium.documents.document import (
    Builder,
    DocumentError,
    Segment,
    Translations,
)

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclasses.dataclass(frozen=True)
class DecodedText:
    text: str
    encoding: str
    bom: bytes = b""

    def encode(self, text: str, errors: str) -> bytes:
        try:
            return self.bom + text.encode(self.encoding, errors)
        except UnicodeEncodeError as error:
            missing = text[error.start : error.start + 1]
            raise DocumentError(
                f"the translation has {missing!r}, which {self.encoding} lacks: "
                "save the document as UTF-8 first"
            ) from None


def decode(data: bytes, encoding: str) -> DecodedText:
    """Decodes a document. `encoding` is used if there is no byte order mark."""
    bom = b""
    for mark, name in _BOMS:
        if data.startswith(mark):
            bom, encoding = mark, name
            break
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise DocumentError(f"its encoding {encoding!r} is unknown") from None
    body = data[len(bom) :]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise DocumentError(
            f"line {line}: byte {error.start + len(bom)} is not {encoding}"
        ) from None
    if text.encode(encoding, "surrogatepass") != body:
        raise DocumentError(
            f"encoding it as {encoding} does not restore its bytes: save it as UTF-8"
        )
    return DecodedText(text, encoding, bom)


def declared(data: bytes, pattern: bytes, default: str) -> str:
    """Returns the encoding that the document's first bytes declare."""
    found = re.search(pattern, data[:4096], re.IGNORECASE)
    return found.group(1).decode("ascii", "replace") if found else default


XML_DECLARATION = rb"""^<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["']"""


class TextDocument:
    """A document in one encoded text."""

    def __init__(self, source: DecodedText, builder: Builder, errors: str = "strict") -> None:
        """`errors`: how str.encode() treats characters that the encoding lacks."""
        builder.close()
        self._source = source
        self._builder = builder
        self._errors = errors

    @property
    def segments(self) -> list[Segment]:
        return self._builder.segments

    def render(self, translations: Translations) -> bytes:
        return self._source.encode(self._builder.render(translations), self._errors)
