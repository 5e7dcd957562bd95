"""Translates a document's texts, each different text once. The server keeps markup
and placeholders."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Union

from trivium.documents.document import DocumentError, Segment, Sent
from trivium.errors import TriviumError

#: The reason why a text has no translation.
Error = Union[TriviumError, DocumentError]


class Translator(Protocol):
    def translate(self, texts: Sequence[Sent]) -> Iterator[tuple[int, str | Error]]:
        """Yields the index and the translation or error of each text, in any
        order."""


class Memory(Protocol):
    """Translations of an earlier run."""

    def find(self, sent: Sent) -> str | None: ...
    def keep(self, sent: Sent, translation: str) -> None: ...


@dataclasses.dataclass(frozen=True)
class Failure:
    place: str
    text: str
    error: Error


def translate(
    segments: Sequence[Segment],
    translator: Translator,
    memory: Memory,
    on_progress: Callable[[int, int], None],
) -> tuple[list[str | None], list[Failure]]:
    """Returns the translation of each segment, and the failures. A translation is
    None if there is nothing to translate or it failed. `on_progress` is called with
    the number of different texts that are done, and of all."""
    wanted: dict[Sent, Segment] = {}
    for segment in segments:
        if segment.sent.has_letters():
            wanted.setdefault(segment.sent, segment)
    done: dict[Sent, str] = {}
    for sent in wanted:
        known = memory.find(sent)
        if known is not None:
            done[sent] = known
    missing = [sent for sent in wanted if sent not in done]
    failed: dict[Sent, Error] = {}
    on_progress(len(done), len(wanted))
    for index, result in translator.translate(missing):
        sent = missing[index]
        if isinstance(result, str):
            try:
                wanted[sent].parts(result)
                done[sent] = result
                memory.keep(sent, result)
            except DocumentError as error:
                failed[sent] = error
        else:
            failed[sent] = result
        on_progress(len(done) + len(failed), len(wanted))
    failures = [
        Failure(one.place, one.sent.text, failed[one.sent])
        for one in segments
        if one.sent in failed
    ]
    return [done.get(one.sent) for one in segments], failures
