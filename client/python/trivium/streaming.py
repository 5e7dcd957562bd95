"""Streams of texts for threads: EncodeStream and TranslateStream."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import grpc

from trivium.connection import Attempts, Options
from trivium.errors import DeadlineExceededError, TriviumError, from_status
from trivium.exchange import Exchange, Outcome
from trivium.inputs import InputLike, to_input

Result = TypeVar("Result")


class TextStream(Generic[Result]):
    """One stream. gRPC's thread reads the caller's texts, as many as the window
    allows. The caller's thread reads results. A third thread watches for a server
    that stalls.
    """

    def __init__(
        self,
        method: Callable[..., Any],
        start: Any,
        make_item: Callable[..., Any],
        inputs: Iterable[InputLike],
        exchange: Exchange[Result],
        options: Options,
        attempts: Attempts,
    ) -> None:
        self._method = method
        self._start = start
        self._make_item = make_item
        self._source = iter(inputs)
        self._exchange = exchange
        self._options = options
        self._attempts = attempts
        # Held while reading the source, so that only one thread consumes texts.
        self._source_lock = threading.Lock()
        self._changed = threading.Condition()  # guards all members below
        self._stream = 0  # number of the open gRPC stream; 0: none is open
        self._source_error: BaseException | None = None
        # Since when the reader has waited for the server; None while the caller
        # uses the reader's thread.
        self._owed_since: float | None = None
        self._reading = False
        self._stalled = False

    def results(self) -> Iterator[Outcome[Result]]:
        number = 0
        while True:
            number += 1
            error: TriviumError | None = None
            with self._changed:
                self._exchange.open()
                self._stream = number
                self._owed_since = None
                self._reading = True
            call = self._method(
                self._requests(number),
                timeout=self._attempts.begin(),
                metadata=self._options.call_metadata(),
            )
            watcher = threading.Thread(target=self._watch, args=(call, number), daemon=True)
            watcher.start()
            try:
                yield from self._read(call)
            except grpc.RpcError as failure:
                error = self._attempts.error(failure)
            finally:
                with self._changed:
                    self._stream = 0
                    self._changed.notify_all()
                call.cancel()
                watcher.join()
            pause = self._end(error)
            yield from self._take_ready()
            if pause is None:
                return
            time.sleep(pause)

    def _end(self, error: TriviumError | None) -> float | None:
        with self._changed:
            if self._stalled:
                raise DeadlineExceededError(
                    grpc.StatusCode.DEADLINE_EXCEEDED,
                    f"{self._options.address} owes results and sent none for "
                    f"{self._options.stall_timeout:g} s",
                )
            if self._source_error is not None:
                raise self._source_error
            pause = self._exchange.ended(error)
            if pause is not None and error is not None:
                self._attempts.check_pause(pause, error)
            return pause

    def _read(self, call: Any) -> Iterator[Outcome[Result]]:
        for response in call:
            failed = response.HasField("error")
            with self._changed:
                self._owed_since = None
                self._reading = False
                self._exchange.answer(
                    response.id,
                    None if failed else response.result,
                    from_status(response.error) if failed else None,
                )
            yield from self._take_ready()
            with self._changed:
                self._reading = True
                if self._exchange.owed:
                    self._owed_since = time.monotonic()
                self._changed.notify_all()

    def _take_ready(self) -> list[Outcome[Result]]:
        with self._changed:
            ready = self._exchange.ready()
            self._changed.notify_all()
            return ready

    def _requests(self, number: int) -> Iterator[Any]:
        yield self._start
        while (item := self._next_item(number)) is not None:
            yield item

    def _next_item(self, number: int) -> Any | None:
        """Returns the next text for this stream; None: there are no more, or the
        stream has ended."""
        with self._source_lock:
            exchange = self._exchange
            while True:
                with self._changed:
                    item = self._wait_for_item(number)
                    if item is not None:
                        id, value = item
                        return self._make_item(id, value)
                    if (
                        self._stream != number
                        or exchange.refused
                        or exchange.exhausted
                        or self._source_error is not None
                    ):
                        return None
                self._ask_source()

    def _wait_for_item(self, number: int) -> tuple[str, Any] | None:
        """Waits for a text to send and returns it. Returns None if the source should
        be read, or the stream has ended."""
        while self._stream == number and not self._exchange.refused:
            item = self._exchange.next_unsent()
            if item is not None:
                if self._reading and self._owed_since is None:
                    self._owed_since = time.monotonic()
                    self._changed.notify_all()
                return item
            if self._exchange.exhausted or self._exchange.has_room:
                return None
            self._changed.wait()
        return None

    def _ask_source(self) -> None:
        try:
            value = to_input(next(self._source))
        except StopIteration:
            with self._changed:
                self._exchange.exhausted = True
        except BaseException as error:  # raised where the caller reads
            with self._changed:
                self._source_error = error
        else:
            with self._changed:
                self._exchange.add(value)

    def _watch(self, call: Any, number: int) -> None:
        with self._changed:
            while self._stream == number:
                if self._owed_since is None:
                    self._changed.wait()
                    continue
                left = self._owed_since + self._options.stall_timeout - time.monotonic()
                if left <= 0:
                    self._stalled = True
                    call.cancel()
                    return
                self._changed.wait(left)
