"""A document's texts, translated: each text once, in parts where there is inline
markup, with what programs read in it kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from trivium.documents import carry, protect
from trivium.documents.carry import Alignment, Source
from trivium.documents.document import Segment
from trivium.errors import TriviumError


@dataclasses.dataclass(frozen=True)
class Translated:
    text: str
    alignment: Alignment | None = None  # where it was asked for


class Translator(Protocol):
    def translate(
        self, texts: Sequence[str], align: bool
    ) -> Iterator[tuple[int, Translated | TriviumError]]:
        """What becomes of each text, by its index, in any order."""


class Memory(Protocol):
    """What an earlier run has translated."""

    def find(self, source: Source) -> list[str] | None: ...
    def keep(self, source: Source, parts: list[str]) -> None: ...


@dataclasses.dataclass(frozen=True)
class Failure:
    place: str
    text: str
    error: TriviumError


def translate(
    segments: Sequence[Segment],
    translator: Translator,
    memory: Memory,
    on_progress: Callable[[int, int], None],
) -> tuple[list[list[str] | None], list[Failure]]:
    """Of each segment the texts of its slots, None where there is nothing to
    translate or it failed. `on_progress` is told how many different texts are
    done, and of how many."""
    work = _Work(segments, translator, memory, on_progress)
    work.run()
    translations = [work.done.get(source) for source in work.sources]
    failures = [
        Failure(segment.place, source.text, work.failed[source])
        for segment, source in zip(segments, work.sources)
        if source in work.failed
    ]
    return translations, failures


class _Work:
    def __init__(
        self,
        segments: Sequence[Segment],
        translator: Translator,
        memory: Memory,
        on_progress: Callable[[int, int], None],
    ) -> None:
        self.sources = [carry.join(segment) for segment in segments]
        self.done: dict[Source, list[str]] = {}
        self.failed: dict[Source, TriviumError] = {}
        self._translator = translator
        self._memory = memory
        self._on_progress = on_progress
        wanted = (one for one in self.sources if protect.has_text(one.text))
        self._wanted = list(dict.fromkeys(wanted))

    def run(self) -> None:
        missing = []
        for source in self._wanted:
            known = self._memory.find(source)
            if known is None:
                missing.append(source)
            else:
                self.done[source] = known
        self._tell()
        plain = [one for one in missing if len(one.ends) == 1]
        marked = [one for one in missing if len(one.ends) > 1]
        broken = [*self._whole(plain, align=False), *self._whole(marked, align=True)]
        self._by_fragments(broken)

    def _tell(self) -> None:
        self._on_progress(len(self.done) + len(self.failed), len(self._wanted))

    def _settle(self, source: Source, result: list[str] | TriviumError) -> None:
        if isinstance(result, TriviumError):
            self.failed[source] = result
        else:
            self.done[source] = result
            self._memory.keep(source, result)
        self._tell()

    def _whole(self, sources: Sequence[Source], align: bool) -> Iterable[Source]:
        """Gives those whose translation has not what it must have."""
        if not sources:
            return
        texts = [source.text for source in sources]
        for index, result in self._translator.translate(texts, align):
            source = sources[index]
            if isinstance(result, TriviumError):
                self._settle(source, result)
                continue
            parts = _parts(source, result)
            if parts is None or not protect.is_kept(source.text, result.text):
                yield source
            else:
                self._settle(source, parts)

    def _by_fragments(self, sources: Sequence[Source]) -> None:
        """Translates what is between markup and protected spans by itself."""
        pieces: dict[Source, list[list[str]]] = {
            source: [protect.split(part) for part in carry.parts_of(source)]
            for source in sources
        }
        fragments = list(
            dict.fromkeys(
                piece.strip()
                for parts in pieces.values()
                for part in parts
                for piece in part[::2]
                if protect.piece_has_letters(piece)
            )
        )
        if not fragments:
            return
        results: dict[str, Translated | TriviumError] = {}
        for index, result in self._translator.translate(fragments, False):
            results[fragments[index]] = result
        for source, parts in pieces.items():
            self._settle(source, _assemble(parts, results))


def _parts(source: Source, result: Translated) -> list[str] | None:
    if len(source.ends) == 1:
        return [result.text.strip()]
    if result.alignment is None:
        return None
    return carry.divide(source, result.text.strip(), result.alignment)


def _assemble(
    parts: list[list[str]], results: dict[str, Translated | TriviumError]
) -> list[str] | TriviumError:
    texts = []
    for pieces in parts:
        text = ""
        for index, piece in enumerate(pieces):
            bare = piece.strip()
            result = results.get(bare) if index % 2 == 0 else None
            if isinstance(result, TriviumError):
                return result
            if result is not None:
                translated = "".join(protect.split(result.text)[::2]).strip()
                text += piece.replace(bare, translated or bare, 1)
            else:
                text += piece
        texts.append(text)
    return texts
