"""JSON: translates string values, and keys by option."""

from __future__ import annotations

import json
import re

from trivium.documents.document import Builder, DocumentError, Lines, Options, joined
from trivium.documents.encoding import TextDocument, decode
from trivium.documents.escapes import add_string

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|[{}\[\],:]|[^"{}\[\],:]+')
_SURROGATE = re.compile("[\ud800-\udfff]")


def read(data: bytes, options: Options) -> TextDocument:
    source = decode(data, options.encoding)
    text = source.text
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise DocumentError(
            f"line {error.lineno}, column {error.colno}: this is not JSON: {error.msg}"
        ) from None
    except RecursionError:
        raise DocumentError("it is nested too deeply") from None
    ascii_only = text.isascii() and "\\u" in text

    def encode(value: str) -> str:
        return json.dumps(value, ensure_ascii=ascii_only)[1:-1]

    reader = _Reader(Builder(joined(encode)), Lines(text), options)
    reader.read(text)
    return TextDocument(source, reader.builder)


def _unescape(raw: str) -> str:
    value: str = json.loads(f'"{raw}"')
    return value


class _Reader:
    def __init__(
        self,
        builder: Builder,
        lines: Lines,
        options: Options,
    ) -> None:
        self.builder = builder
        self._lines = lines
        self._options = options
        # For each open object its last key, for each open array the current
        # index.
        self._path: list[str | int] = []

    def read(self, text: str) -> None:
        """Reads `text`, which must be valid JSON."""
        tokens = list(_TOKEN.finditer(text))
        for at, token in enumerate(tokens):
            raw = token.group()
            if raw[0] == '"':
                following = (one.group() for one in tokens[at + 1 : at + 3])
                self._string(token, next((f for f in following if f.strip()), ""))
                continue
            self.builder.literal(raw)
            if raw in "{[":
                self._path.append("" if raw == "{" else 0)
            elif raw in "}]":
                self._path.pop()
            elif raw == "," and isinstance(self._path[-1], int):
                self._path[-1] += 1

    def _string(self, token: re.Match[str], following: str) -> None:
        raw = token.group(1)
        value = _unescape(raw)
        is_key = following == ":"
        if is_key:
            self._path[-1] = value
        wanted = self._options.keys if is_key else self._is_wanted()
        if not wanted or _SURROGATE.search(value):
            self.builder.literal(token.group())
            return
        self.builder.literal('"')
        where = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in self._path)
        place = f"{self._lines.place(token.start())} ({where.lstrip('.') or 'the value'})"
        add_string(self.builder, raw, place, _unescape)
        self.builder.literal('"')

    def _is_wanted(self) -> bool:
        only = self._options.only
        return not only or any(one in only for one in self._path)
