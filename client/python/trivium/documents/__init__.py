"""Documents of several formats: extracts their texts and inserts translations."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

from trivium.documents import (
    docx,
    html,
    json_values,
    markdown,
    plain,
    po,
    srt,
    xliff,
)
from trivium.documents.document import (
    Document,
    DocumentError,
    Options,
    Segment,
    Translations,
)

#: Readers of documents, by the names of `--format`.
FORMATS: dict[str, Callable[[bytes, Options], Document]] = {
    "docx": docx.read,
    "html": html.read,
    "json": json_values.read,
    "markdown": markdown.read,
    "po": po.read,
    "srt": srt.read,
    "text": plain.read,
    "xliff": xliff.read,
}
_SUFFIXES = {
    ".docx": "docx",
    ".htm": "html",
    ".html": "html",
    ".xhtml": "html",
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".po": "po",
    ".pot": "po",
    ".srt": "srt",
    ".txt": "text",
    ".xlf": "xliff",
    ".xliff": "xliff",
}


def format_of(path: pathlib.Path) -> str | None:
    """Returns the format that a file's name ends with, or None."""
    return _SUFFIXES.get(path.suffix.lower())


__all__ = [
    "FORMATS",
    "Document",
    "DocumentError",
    "Options",
    "Segment",
    "Translations",
    "format_of",
]
