"""The state of a stream of texts: what was sent and what is owed. It uses no thread
and no clock.

If the server refuses texts for now, or goes away, one stream of texts becomes
several gRPC streams, one after the other. Each begins with the texts that the
earlier ones left unanswered. So every text is answered once, and results stay in
order.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Generic, TypeVar

import grpc

from trivium.errors import TriviumError
from trivium.retry import RetryPolicy
from trivium.v1 import common_pb2

Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Outcome(Generic[Result]):
    """The outcome of one text of a stream: a result, or its own error."""

    index: int  # among the inputs, from 0
    result: Result | None
    error: TriviumError | None = None

    def get(self) -> Result:
        """Returns the result; raises the error if there is none."""
        if self.result is None:
            assert self.error is not None
            raise self.error
        return self.result


class Exchange(Generic[Result]):
    def __init__(self, window: int, ordered: bool, retry: RetryPolicy) -> None:
        if window < 1:
            raise ValueError(f"window is {window}; it is at least 1")
        self._window = window
        self._ordered = ordered
        self._retry = retry
        self._taken = 0  # from the caller
        self._emitted = 0  # to the caller
        self._pending: dict[int, common_pb2.Input] = {}
        self._unsent: collections.deque[int] = collections.deque()
        self._ready: dict[int, Outcome[Result]] = {}
        # Texts that the server has refused for now in the open stream.
        self._refused: dict[int, TriviumError] = {}
        self._attempts = 0  # streams since the last result
        self._progressed = False
        #: True if the caller has no more texts.
        self.exhausted = False

    @property
    def owed(self) -> bool:
        """True if the open stream has texts that are not answered yet."""
        return len(self._pending) > len(self._unsent) + len(self._refused)

    @property
    def refused(self) -> bool:
        """True if the server accepts no more texts for now."""
        return bool(self._refused)

    @property
    def has_room(self) -> bool:
        return self._taken - self._emitted < self._window

    def open(self) -> None:
        """Begins a new stream."""
        self._refused.clear()
        self._unsent = collections.deque(sorted(self._pending))
        self._progressed = False
        self._attempts += 1

    def add(self, value: common_pb2.Input) -> None:
        self._pending[self._taken] = value
        self._unsent.append(self._taken)
        self._taken += 1

    def next_unsent(self) -> tuple[str, common_pb2.Input] | None:
        """Returns an id and an input to send in the open stream, or None."""
        if not self._unsent:
            return None
        index = self._unsent.popleft()
        return str(index), self._pending[index]

    def answer(self, id: str, result: Result | None, error: TriviumError | None) -> None:
        index = int(id) if id.isdecimal() else -1
        if index not in self._pending:
            raise TriviumError(
                grpc.StatusCode.DATA_LOSS,
                f"the server sent a result with the id {id!r}, which no text has",
            )
        if error is not None and self._retry.delay(error, 1) is not None:
            self._refused[index] = error
            return
        self._progressed = True
        self._settle(Outcome(index, result, error))

    def ready(self) -> list[Outcome[Result]]:
        """Returns the outcomes that the caller may have now."""
        if not self._ordered:
            out = list(self._ready.values())
            self._ready.clear()
        else:
            out = []
            while one := self._ready.pop(self._emitted + len(out), None):
                out.append(one)
        self._emitted += len(out)
        return out

    def ended(self, error: TriviumError | None) -> float | None:
        """Ends the open stream. Returns the pause before the next one, or None if
        all is done. Raises an error that no retry can mend."""
        if error is None and not self._refused:
            if self._pending or not self.exhausted:
                raise TriviumError(
                    grpc.StatusCode.DATA_LOSS,
                    "the server ended the stream early: "
                    f"{len(self._pending)} texts have no answer",
                )
            return None
        if self._progressed:
            self._attempts = 1
        reason = error or max(self._refused.values(), key=lambda one: one.retry_delay or 0.0)
        pause = self._retry.pause(reason, self._attempts)
        if pause is not None:
            return pause
        if error is not None:
            raise error
        # The refused texts fail alone, each with its own error.
        for index, refusal in self._refused.items():
            self._settle(Outcome(index, None, refusal))
        self._attempts = 0
        return None if self.exhausted and not self._pending else 0.0

    def _settle(self, outcome: Outcome[Result]) -> None:
        del self._pending[outcome.index]
        self._ready[outcome.index] = outcome
