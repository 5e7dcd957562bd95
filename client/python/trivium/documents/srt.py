"""SubRip subtitles. The lines of a cue are one text; its translation has as many
lines. If they begin with dashes, each is a text of another speaker. Numbers, times
and tags (<i>, {\\an8}) stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from trivium.documents.document import (
    Builder,
    DocumentError,
    Item,
    Lines,
    Options,
    Part,
    Segment,
    collapse,
    joined,
)
from trivium.documents.encoding import TextDocument, decode
from trivium.documents.escapes import add_tagged

_TIMES = re.compile(r"[ \t]*\d+:\d+:\d+[,.]\d+[ \t]*-->[ \t]*\d+:\d+:\d+[,.]\d+")
_TAG = re.compile(r"<(?P<close>/?)(?P<name>[a-zA-Z][^\s<>]*)[^<>]*>|\{\\[^{}]*\}")
_BREAK = re.compile(r"\r\n|\r|\n")


def read(data: bytes, options: Options) -> TextDocument:
    source = decode(data, options.encoding)
    lines = source.text.splitlines(keepends=True)
    builder = Builder(_write)
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
        builder.close()
        end = at
        while end < len(lines) and lines[end].strip():
            end += 1
        cue = "".join(lines[at:end])
        _read_cue(builder, cue, places.place(offset))
        offset += len(cue)
        at = end
    if not cues and source.text.strip():
        raise DocumentError("line 1: it has no cue (HH:MM:SS,mmm --> HH:MM:SS,mmm)")
    return TextDocument(source, builder)


def _read_cue(builder: Builder, cue: str, place: str) -> None:
    dialogue = re.search(r"^\s*[-–—]", cue, re.MULTILINE) is not None
    for row in cue.splitlines(keepends=True) if dialogue else [cue]:
        dash = re.match(r"\s*[-–—]*" if dialogue else "", row)
        assert dash is not None
        builder.literal(dash.group())
        add_tagged(builder, row[dash.end() :], place, _TAG)
        builder.close()


def _write(segment: Segment, parts: Sequence[Part], render: Callable[[Item], str]) -> str:
    """Writes a segment in as many lines as it had, about equally long."""
    raw = "".join(render(item) for item in segment.items)
    breaks = _BREAK.findall(raw)
    # Splits at spaces, but not at those in tags.
    text = collapse(joined(str)(segment, parts, render))
    words = re.split(r" (?![^<>]*>|[^{}]*\})", text)
    lines: list[str] = []
    for left in range(len(breaks) + 1, 0, -1):
        goal = _length(words) / left
        taken = words[:1]
        while len(words) > len(taken) and left > 1:
            longer = _length(words[: len(taken) + 1])
            if longer - goal > goal - _length(taken):
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


def _length(words: Sequence[str]) -> int:
    return len(_TAG.sub("", " ".join(words)))
