"""Quoted strings with backslash escapes, as in PO and JSON."""

from __future__ import annotations

import re
from collections.abc import Callable

from trivium.documents.document import Builder

_TOKEN = re.compile(r"\\u[0-9a-fA-F]{4}|\\[0-7]{1,3}|\\.|[^\\]+", re.DOTALL)
_TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[a-zA-Z][^\s/>]*)(?:[^<>\"']|\\?\"[^<>\"]*\"|'[^<>']*')*>"
)


def split_lines(raw: str) -> list[str]:
    """Splits a string into lines: texts at even places, the escapes of line breaks
    at odd ones."""
    parts = [""]
    for token in _TOKEN.findall(raw):
        if token in ("\\n", "\\r"):
            parts += [token, ""]
        else:
            parts[-1] += token
    return parts


def add_string(builder: Builder, raw: str, place: str, decode: Callable[[str], str]) -> None:
    """Adds a string. Each of its lines is a segment; HTML tags in it are marks."""
    for index, line in enumerate(split_lines(raw)):
        if index % 2:
            builder.literal(line)
        else:
            add_tagged(builder, line, place, _TAG, decode, margin=r"\s|(?<!\\)\\t")
        builder.close()


def add_tagged(
    builder: Builder,
    raw: str,
    place: str,
    tag: re.Pattern[str],
    decode: Callable[[str], str] = str,
    *,
    margin: str = r"\s",
) -> None:
    """Adds texts and tags. `tag` matches a tag; its groups are the name and whether
    it closes. A tag without a name is a mark at a place."""
    at = 0
    for found in tag.finditer(raw):
        builder.text(raw[at : found.start()], place, decode, margin=margin)
        kind = "void" if not found["name"] else "close" if found["close"] else "open"
        builder.mark(kind, [found.group()], (found["name"] or "").lower())
        at = found.end()
    builder.text(raw[at:], place, decode, margin=margin)
