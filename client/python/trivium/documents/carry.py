"""Inline markup carried into a translation.

What stands between tags is sent as one text, without the tags, and the server
tells how its model looked at the source for each new token (cross-attention).
The translation is then cut into as many parts as the source had, in the same
order, so that most of that attention stays within its part: a cut falls between
words, tags keep their order and their nesting, and none is lost. Where word
order differs between the languages, markup may cover a neighbouring word.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Sequence

from trivium.documents.document import Segment

# What a part that has letters loses by getting no word, in the attention of a
# word to a part.
_EMPTY_COST = 0.5


@dataclasses.dataclass(frozen=True)
class Alignment:
    """How a translation's tokens look at its source's."""

    source_pieces: Sequence[str]
    target_pieces: Sequence[str]
    weights: Sequence[Sequence[float]]  # [target tokens][source tokens]


@dataclasses.dataclass(frozen=True)
class Source:
    """A segment as it is sent: its parts joined."""

    text: str
    ends: tuple[int, ...]  # of the parts, in text


def join(segment: Segment) -> Source:
    text = ""
    ends = []
    space = False
    for slot in segment.slots:
        if text and (space or slot.space_before):
            text += " "
        text += slot.text
        space = slot.space_after
        ends.append(len(text))
    return Source(text, tuple(ends))


def parts_of(source: Source) -> list[str]:
    begins = (0, *source.ends[:-1])
    return [source.text[b:e].strip() for b, e in zip(begins, source.ends)]


def divide(source: Source, target: str, alignment: Alignment) -> list[str] | None:
    """The target in the source's parts; None where the pieces do not tell which
    part they are of."""
    source_spans = _locate(alignment.source_pieces, source.text)
    target_spans = _locate(alignment.target_pieces, target)
    if source_spans is None or target_spans is None:
        return None
    count = len(source.ends)
    part_of = [
        next(p for p, end in enumerate(source.ends) if begin < end) if begin < finish else None
        for begin, finish in source_spans
    ]
    words = _words(target)
    scores = [[0.0] * count for _ in words]
    for (begin, finish), weights in zip(target_spans, alignment.weights):
        if begin == finish:
            continue
        word = next(w for w, (_, end) in enumerate(words) if begin < end)
        for part, weight in zip(part_of, weights):
            if part is not None:
                scores[word][part] += weight
    scores = [[one / (sum(row) or 1.0) for one in row] for row in scores]
    wanted = [any(c.isalnum() for c in part) for part in parts_of(source)]
    counts = _best_cuts(scores, wanted)
    return _cut(target, words, counts, source)


def _locate(pieces: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """[begin, end) of each piece in the text, empty for special tokens; None
    where much of the text is in no piece."""
    spans = []
    at = found = 0
    for piece in pieces:
        bare = re.sub(r"^##|</w>$", "", piece).replace("▁", " ").replace("Ġ", " ").strip()
        begin = text.find(bare, at, at + len(bare) + 4) if bare else -1
        if begin < 0:
            spans.append((at, at))
            continue
        at = begin + len(bare)
        found += len(bare)
        spans.append((begin, at))
    letters = sum(not character.isspace() for character in text)
    return spans if letters and found >= 0.8 * letters else None


def _words(text: str) -> list[tuple[int, int]]:
    """[begin, end) of what is not cut: words, and characters of scripts that
    have no spaces, each with the white space after it."""
    spans: list[tuple[int, int]] = []
    for found in re.finditer(r"\S+\s*", text):
        begin = found.start()
        for at in range(found.start() + 1, found.end()):
            if _stands_alone(text[at]) and unicodedata.category(text[at])[0] != "P":
                spans.append((begin, at))
                begin = at
        spans.append((begin, found.end()))
    return spans


def _stands_alone(character: str) -> bool:
    return "\u2e80" <= character <= "\u9fff" or "\U00020000" <= character <= "\U0003ffff"


def _best_cuts(scores: list[list[float]], wanted: list[bool]) -> list[int]:
    """How many words each part gets, in order, for the greatest sum of scores."""
    count = len(wanted)
    sums = [[0.0] for _ in range(count)]
    for row in scores:
        for part in range(count):
            sums[part].append(sums[part][-1] + row[part])
    total = len(scores)
    # best[w]: of the parts so far, when they have the first w words.
    best = [0.0] + [float("-inf")] * total
    choices: list[list[int]] = []
    for part in range(count):
        cost = _EMPTY_COST if wanted[part] else 0.0
        after = [best[w] - cost for w in range(total + 1)]
        choice = list(range(total + 1))
        lead, lead_at = float("-inf"), 0
        for w in range(1, total + 1):
            if best[w - 1] - sums[part][w - 1] > lead:
                lead, lead_at = best[w - 1] - sums[part][w - 1], w - 1
            if lead + sums[part][w] > after[w]:
                after[w], choice[w] = lead + sums[part][w], lead_at
        choices.append(choice)
        best = after
    counts = []
    at = total
    for choice in reversed(choices):
        counts.append(at - choice[at])
        at = choice[at]
    return counts[::-1]


def _cut(
    target: str, words: list[tuple[int, int]], counts: list[int], source: Source
) -> list[str]:
    parts = []
    at = 0
    for part, count in enumerate(counts):
        begin = words[at][0] if at < len(words) else len(target)
        at += count
        end = words[at - 1][1] if count else begin
        text = target[begin:end]
        # White space beside the markup is the document's own; where it has
        # none, the translation's stays.
        border = source.ends[part]
        if source.text[border : border + 1] == " " or part + 1 == len(counts):
            text = text.rstrip()
        parts.append(text)
    return parts
