"""Quoted strings with backslash escapes, as PO and JSON have them."""

from __future__ import annotations

import re
from collections.abc import Callable

from trivium.documents.document import Builder

_TOKEN = re.compile(r"\\u[0-9a-fA-F]{4}|\\[0-7]{1,3}|\\.|[^\\]+", re.DOTALL)
_TAG = re.compile(r"(</?[a-zA-Z](?:[^<>\"']|\\?\"[^<>\"]*\"|'[^<>']*')*>)")


def split_lines(raw: str) -> list[str]:
    """Texts at even places, escapes of line breaks between them."""
    parts = [""]
    for token in _TOKEN.findall(raw):
        if token in ("\\n", "\\r"):
            parts += [token, ""]
        else:
            parts[-1] += token
    return parts


def add_string(
    builder: Builder,
    raw: str,
    place: str,
    decode: Callable[[str], str],
    encode: Callable[[str], str],
) -> None:
    """Each line of a string is a segment, HTML tags in it are inline markup."""
    for index, line in enumerate(split_lines(raw)):
        if index % 2:
            builder.literal(line)
            continue
        for number, part in enumerate(_TAG.split(line)):
            if number % 2:
                builder.literal(part)
            else:
                builder.text(part, place, decode, encode, margin=r"\s|(?<!\\)\\t")
        builder.close()
