"""Documents: what TranslateDocument sends and receives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Union

import grpc

from trivium.errors import TriviumError
from trivium.v1 import inference_pb2

#: Called with the number of texts that are done, and of all.
OnProgress = Callable[[int, int], None]
#: Called with each text that was translated, and its translation.
OnText = Callable[[str, str], None]
DocumentOptions = Union["inference_pb2.DocumentOptions", Mapping[str, Any]]

# Bytes of a message.
_PIECE = 64 << 10


class DocumentError(ValueError):
    """A document cannot be read or written. The message says where and why."""


@dataclasses.dataclass(frozen=True)
class TranslatedDocument:
    """A translated document: its bytes, and what happened to its texts."""

    data: bytes
    result: inference_pb2.DocumentResult


@dataclasses.dataclass(frozen=True)
class DocumentRequest:
    """A document to translate. `known` are translations that an earlier call with
    the same options told, by their texts."""

    start: inference_pb2.TranslateDocumentRequest.Start
    data: bytes
    known: Mapping[str, str]

    def messages(self) -> Iterator[inference_pb2.TranslateDocumentRequest]:
        Request = inference_pb2.TranslateDocumentRequest
        yield Request(start=self.start)
        for text, translation in self.known.items():
            known = inference_pb2.DocumentText(text=text, translation=translation)
            yield Request(known=known)
        for begin in range(0, len(self.data), _PIECE):
            yield Request(data=self.data[begin : begin + _PIECE])


class DocumentAnswer:
    """Collects the responses of a call."""

    def __init__(self, on_progress: OnProgress | None, on_text: OnText | None) -> None:
        self._on_progress = on_progress
        self._on_text = on_text
        self._done = 0
        self._data = bytearray()
        self._result: inference_pb2.DocumentResult | None = None

    def add(self, response: inference_pb2.TranslateDocumentResponse) -> None:
        if response.HasField("result"):
            self._result = response.result
        elif response.HasField("progress"):
            told = response.progress
            # Texts finish side by side, so that counts may come out of order.
            self._done = max(self._done, told.done)
            if self._on_text is not None and told.HasField("text"):
                self._on_text(told.text.text, told.text.translation)
            if self._on_progress is not None:
                self._on_progress(self._done, told.total)
        else:
            self._data += response.data

    def document(self) -> TranslatedDocument:
        if self._result is None:
            raise TriviumError(grpc.StatusCode.DATA_LOSS, "the server ended the document early")
        return TranslatedDocument(bytes(self._data), self._result)


def to_document_request(
    data: bytes,
    *,
    file_name: str,
    format: str,
    document: DocumentOptions | None,
    known: Mapping[str, str] | None,
    texts: bool,
    model: str,
    options: Mapping[str, Any],
) -> DocumentRequest:
    start = inference_pb2.TranslateDocumentRequest.Start(
        model=model,
        options=inference_pb2.TranslateOptions(**options),
        format=format,
        file_name=file_name,
        document=document,
        texts=texts,
    )
    return DocumentRequest(start, data, known or {})
