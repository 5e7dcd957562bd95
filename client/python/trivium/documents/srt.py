"""SubRip subtitles: a cue's lines are one text, written in as many lines again,
unless they begin with dashes: then each is somebody's. Numbers, times and tags
(<i>, {\\an8}) stay."""

from __future__ import annotations

import functools
import re

from trivium.documents.document import Builder, DocumentError, Lines, Options
from trivium.documents.encoding import TextDocument, decode

_TIMES = re.compile(r"[ \t]*\d+:\d+:\d+[,.]\d+[ \t]*-->[ \t]*\d+:\d+:\d+[,.]\d+")
_TAG = re.compile(r"(</?[a-zA-Z][^<>]*>|\{\\[^{}]*\})")


def read(data: bytes, options: Options) -> TextDocument:
    source = decode(data, options.encoding)
    lines = source.text.splitlines(keepends=True)
    builder = Builder()
    places = Lines(source.text)
    offset = at = cues = 0
    while at < len(lines):
        line = lines[at]
        builder.literal(line)
        offset += len(line)
        at += 1
        if not _TIMES.match(line):
            continue
        cues += 1
        end = at
        while end < len(lines) and lines[end].strip():
            end += 1
        cue = "".join(lines[at:end])
        _read_cue(builder, cue, places.place(offset))
        offset += len(cue)
        at = end
    if not cues and source.text.strip():
        raise DocumentError("line 1: no cue (HH:MM:SS,mmm --> HH:MM:SS,mmm) is in it")
    return TextDocument(source, builder)


def _read_cue(builder: Builder, cue: str, place: str) -> None:
    pieces = _TAG.split(cue)
    dialogue = re.search(r"^\s*[-–—]", cue, re.MULTILINE) is not None
    for index, piece in enumerate(pieces):
        if index % 2:
            builder.literal(piece)
        elif dialogue:
            for row in piece.splitlines(keepends=True):
                dash = re.match(r"\s*[-–—]*", row)
                assert dash is not None
                builder.literal(dash.group())
                builder.text(row[dash.end() :], place, str, str)
                if row.endswith(("\r", "\n")):
                    builder.close()
        else:
            breaks = re.findall(r"\r\n|\r|\n", piece.strip())
            builder.text(piece, place, str, functools.partial(_wrap, breaks))
    builder.close()


def _wrap(breaks: list[str], text: str) -> str:
    """The text with these line breaks, its lines about equally long."""
    words = text.split(" ")
    lines: list[str] = []
    for left in range(len(breaks) + 1, 0, -1):
        goal = len(" ".join(words)) / left
        taken = words[:1]
        while len(words) > len(taken) and left > 1:
            longer = len(" ".join(words[: len(taken) + 1]))
            if longer - goal > goal - len(" ".join(taken)):
                break
            taken = words[: len(taken) + 1]
        if left == 1:
            taken = words
        lines.append(" ".join(taken))
        words = words[len(taken) :]
        if not words:
            break
    return "".join(
        line + (breaks[index] if index + 1 < len(lines) else "")
        for index, line in enumerate(lines)
    )
