"""Running Generate calls."""

from __future__ import annotations

import abc
import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, TypeVar, cast

import grpc
import grpc.aio

from trivium.connection import Attempts
from trivium.v1 import inference_pb2

Self = TypeVar("Self", bound="EventIterator")


class _Events:
    """Records the ends of a generation's texts."""

    def __init__(self) -> None:
        #: The last message of each index that has ended: finish_reason, usage...
        self.done: dict[int, inference_pb2.GenerateResponse.Done] = {}
        self._started = False

    def _note(self, event: inference_pb2.GenerateResponse) -> None:
        self._started = True
        if event.HasField("done"):
            self.done[event.index] = event.done


def _message(
    pieces: Iterable[inference_pb2.GenerateResponse.Piece],
) -> inference_pb2.Chat.Message:
    """Joins the pieces of an answer."""
    pieces = list(pieces)
    answer = inference_pb2.Chat.Message(role="assistant")
    if text := "".join(piece.text for piece in pieces):
        answer.content = text
    if reasoning := "".join(piece.reasoning for piece in pieces):
        answer.reasoning_content = reasoning
    for part in (part for piece in pieces for part in piece.tool_calls):
        if part.name:
            answer.tool_calls.add(name=part.name, id=part.id or None)
        if answer.tool_calls:
            answer.tool_calls[-1].arguments += part.arguments
    return answer


class EventIterator(_Events):
    """A running generation: an iterator of its messages.

        for event in client.generate("Once upon a time"):
            print(event.piece.text, end="", flush=True)

    or `client.generate(...).text()`. To leave it early, call cancel() or use a
    `with` block.
    """

    def __iter__(self) -> Iterator[inference_pb2.GenerateResponse]:
        return self

    @abc.abstractmethod
    def __next__(self) -> inference_pb2.GenerateResponse: ...

    def text(self, index: int = 0) -> str:
        """Reads the stream to its end. Returns the whole text of an index."""
        return "".join(e.piece.text for e in self if e.index == index)

    def answer(self, index: int = 0) -> inference_pb2.Chat.Message:
        """Reads the stream to its end. Returns the whole answer of an index, as
        the message to go on with: content and, of answers in parts,
        reasoning_content and tool_calls."""
        return _message(e.piece for e in self if e.index == index)

    @abc.abstractmethod
    def cancel(self) -> None:
        """Cancels the call. Reading the next message raises CancelledError."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()


class Generation(EventIterator):
    """A running Generate call of a server."""

    def __init__(self, start: Callable[[float], Any], attempts: Attempts) -> None:
        super().__init__()
        self._start = start
        self._attempts = attempts
        self._call: Any = None

    def __next__(self) -> inference_pb2.GenerateResponse:
        while True:
            try:
                if self._call is None:
                    self._call = self._start(self._attempts.begin())
                event: inference_pb2.GenerateResponse = next(self._call)
                self._note(event)
                return event
            except grpc.RpcError as failure:
                error = self._attempts.error(failure)
                # The caller has messages of this attempt already.
                if self._started:
                    raise error from failure
                self._call = None
                time.sleep(self._attempts.pause(error))

    def cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()


class AsyncGeneration(_Events):
    """The same for asyncio: `async for event in client.generate(...)`, or
    `await client.generate(...).text()`."""

    def __init__(self, start: Callable[[float], Any], attempts: Attempts) -> None:
        super().__init__()
        self._start = start
        self._attempts = attempts
        self._call: Any = None

    def __aiter__(self) -> AsyncIterator[inference_pb2.GenerateResponse]:
        return self

    async def __anext__(self) -> inference_pb2.GenerateResponse:
        while True:
            try:
                if self._call is None:
                    self._call = self._start(self._attempts.begin())
                event: Any = await self._call.read()
                if event is grpc.aio.EOF:
                    # read() returns EOF for failed calls, too.
                    await raise_status(self._call)
                    raise StopAsyncIteration
                self._note(event)
                return cast(inference_pb2.GenerateResponse, event)
            except grpc.RpcError as failure:
                error = self._attempts.error(failure)
                if self._started:
                    raise error from failure
                self._call = None
                await asyncio.sleep(self._attempts.pause(error))

    async def text(self, index: int = 0) -> str:
        return "".join([e.piece.text async for e in self if e.index == index])

    async def answer(self, index: int = 0) -> inference_pb2.Chat.Message:
        """As EventIterator.answer."""
        return _message([e.piece async for e in self if e.index == index])

    def cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()

    async def __aenter__(self) -> AsyncGeneration:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()


async def raise_status(call: Any) -> None:
    code = await call.code()
    if code != grpc.StatusCode.OK:
        raise grpc.aio.AioRpcError(
            code,
            await call.initial_metadata(),
            await call.trailing_metadata(),
            details=await call.details(),
        )
