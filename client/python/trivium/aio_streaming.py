"""Streams of texts for asyncio: EncodeStream and TranslateStream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import Any, Generic, TypeVar, Union

import grpc
import grpc.aio

from trivium.connection import Attempts, Options
from trivium.errors import DeadlineExceededError, TriviumError, from_status
from trivium.exchange import Exchange, Outcome
from trivium.generation import raise_status
from trivium.inputs import InputLike, to_input

Result = TypeVar("Result")
AnyInputs = Union[Iterable[InputLike], AsyncIterable[InputLike]]


async def _iterate(inputs: AnyInputs) -> AsyncIterator[InputLike]:
    if isinstance(inputs, AsyncIterable):
        async for one in inputs:
            yield one
    else:
        for one in inputs:
            yield one


class AsyncTextStream(Generic[Result]):
    """One stream. A task writes as much as the window allows; the caller reads."""

    def __init__(
        self,
        method: Callable[..., Any],
        start: Any,
        make_item: Callable[..., Any],
        inputs: AnyInputs,
        exchange: Exchange[Result],
        options: Options,
        attempts: Attempts,
    ) -> None:
        self._method = method
        self._start = start
        self._make_item = make_item
        self._source = _iterate(inputs)
        self._exchange = exchange
        self._options = options
        self._attempts = attempts
        self._room = asyncio.Event()
        self._source_error: Exception | None = None
        # A pending request for the next text, left by a stream that has ended.
        self._asked: asyncio.Future[InputLike] | None = None

    async def results(self) -> AsyncIterator[Outcome[Result]]:
        try:
            while True:
                error: TriviumError | None = None
                self._exchange.open()
                call = self._method(
                    timeout=self._attempts.begin(),
                    metadata=self._options.call_metadata(),
                )
                writer = asyncio.ensure_future(self._write(call))
                try:
                    async for response in self._read(call):
                        self._take(response)
                        for outcome in self._exchange.ready():
                            yield outcome
                        self._room.set()
                except grpc.RpcError as failure:
                    error = self._attempts.error(failure)
                finally:
                    writer.cancel()
                    await asyncio.gather(writer, return_exceptions=True)
                    call.cancel()
                if self._source_error is not None:
                    raise self._source_error
                pause = self._exchange.ended(error)
                if pause is not None and error is not None:
                    self._attempts.check_pause(pause, error)
                for outcome in self._exchange.ready():
                    yield outcome
                if pause is None:
                    return
                await asyncio.sleep(pause)
        finally:
            if self._asked is not None:
                self._asked.cancel()

    def _take(self, response: Any) -> None:
        failed = response.HasField("error")
        self._exchange.answer(
            response.id,
            None if failed else response.result,
            from_status(response.error) if failed else None,
        )

    async def _read(self, call: Any) -> AsyncIterator[Any]:
        while True:
            reading = asyncio.ensure_future(call.read())
            try:
                while not reading.done():
                    owed = self._exchange.owed
                    await asyncio.wait({reading}, timeout=self._options.stall_timeout)
                    if not reading.done() and owed:
                        raise DeadlineExceededError(
                            grpc.StatusCode.DEADLINE_EXCEEDED,
                            f"{self._options.address} owes results and sent "
                            f"none for {self._options.stall_timeout:g} s",
                        )
            finally:
                if not reading.done():
                    reading.cancel()
            response = reading.result()
            if response is grpc.aio.EOF:
                await raise_status(call)
                return
            yield response

    async def _write(self, call: Any) -> None:
        """Sends the start and the texts. If the stream breaks, the reader notices."""
        await call.write(self._start)
        while True:
            if self._exchange.refused:
                break
            item = self._exchange.next_unsent()
            if item is not None:
                await call.write(self._make_item(*item))
            elif self._exchange.exhausted:
                break
            elif not self._exchange.has_room:
                self._room.clear()
                await self._room.wait()
            else:
                try:
                    await self._ask_source()
                except Exception as error:  # raised where the caller reads
                    self._source_error = error
                    break
        await call.done_writing()

    async def _ask_source(self) -> None:
        if self._asked is None:
            self._asked = asyncio.ensure_future(self._source.__anext__())
        try:
            value = await asyncio.shield(self._asked)
        except StopAsyncIteration:
            self._exchange.exhausted = True
        else:
            self._asked = None
            self._exchange.add(to_input(value))
