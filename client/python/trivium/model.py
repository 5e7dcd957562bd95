"""Models in this process, without a server."""

from __future__ import annotations

import importlib
import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import Message

from trivium.arguments import (
    AnswerArguments,
    ChatArguments,
    ClassifyArguments,
    ClassifyTokensArguments,
    EncodeArguments,
    FillMaskArguments,
    GenerateArguments,
    RerankArguments,
    ScoreArguments,
    SimilarityArguments,
    TokenizeArguments,
    TranslateArguments,
)
from trivium.connection import StrPath
from trivium.errors import from_status
from trivium.generation import EventIterator
from trivium.inputs import (
    InputLike,
    MessageLike,
    ScoreLike,
    to_chat_request,
    to_encode_request,
    to_input,
    to_inputs,
    to_questions,
    to_score_inputs,
    to_similarity_request,
    to_texts,
    to_token_ids,
    to_tokenize_request,
)
from trivium.rpc import status_pb2
from trivium.v1 import inference_pb2, models_pb2

if TYPE_CHECKING:
    from typing_extensions import Unpack

M = TypeVar("M", bound=Message)


class LocalGeneration(EventIterator):
    """A running generate() of a Model. It has begun already."""

    def __init__(self, running: Any) -> None:
        super().__init__()
        self._running = running

    def __next__(self) -> inference_pb2.GenerateResponse:
        serialized = _checked(self._running.next)
        if serialized is None:
            raise StopIteration
        event = inference_pb2.GenerateResponse.FromString(serialized)
        self._note(event)
        return event

    def cancel(self) -> None:
        self._running.cancel()


class Model:
    """A model in this process: the calls of a Client, without a server.

        with trivium.Model.load("/models/opus-mt-en-de") as model:
            response = model.translate(["I ate an apple."])
            print(response.results[0].hypotheses[0].text)

    Needs the package trivium-engine (`pip install ./library/python`). Answers,
    options and errors are those of a Client. Thread-safe: other Python threads run
    while the engine works, and calls of several threads share batches. With
    asyncio, use `await asyncio.to_thread(model.translate, texts)`.

    A call has no deadline. Ctrl-C takes effect at the end of a call, or between
    two messages of generate(). A forked process cannot use the model and must
    load its own.
    """

    def __init__(self, engine: Any) -> None:
        """Not for callers: use load()."""
        self._engine = engine
        # Closes the engine before the interpreter ends, too.
        self._finalizer = weakref.finalize(self, engine.close)

    @classmethod
    def load(
        cls,
        folder: StrPath,
        *,
        name: str = "",
        precision: str = "auto",
        kv_precision: str = "auto",
        vocabulary_shortlist: bool = False,
        workers: int = 0,
        worker_threads: int = 0,
        kv_cache_bytes: int = 0,
        weights_cache: StrPath = "",
    ) -> Model:
        """Loads a Hugging Face folder or a .gguf file. Defaults are those of
        trivium-server's flags. Precisions are "auto", "f32", "bf16", "int8" or
        "int4", which keys and values do not have. 0 workers or threads means as
        many as suit the cores. `kv_cache_bytes` is the
        size of each worker's cache of keys and values; by default all caches take
        at most a quarter of the memory. `weights_cache` is a folder in which packed
        weights are kept for the next load and for other processes. `name` is the
        model's name in answers; empty: its folder's.

        Raises ImportError if trivium-engine is not installed, and NotFoundError
        and other TriviumErrors that say what is wrong with the folder."""
        return cls(
            _checked(
                lambda: _trivium_engine().Engine(
                    os.fspath(folder),
                    name=name,
                    precision=precision,
                    kv_precision=kv_precision,
                    vocabulary_shortlist=vocabulary_shortlist,
                    workers=workers,
                    worker_threads=worker_threads,
                    kv_cache_bytes=kv_cache_bytes,
                    weights_cache=os.fspath(weights_cache),
                )
            )
        )

    def close(self) -> None:
        """Frees the model as soon as running calls have ended. Later calls raise
        FailedPreconditionError."""
        self._finalizer()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def encode(
        self, inputs: Iterable[InputLike], **options: Unpack[EncodeArguments]
    ) -> inference_pb2.EncodeResponse:
        """Turns texts into vectors, as Client.encode. `trivium.arrays` converts them
        to numpy arrays."""
        request = to_encode_request(inputs, options)
        return self._call("encode", request, inference_pb2.EncodeResponse)

    def translate(
        self,
        inputs: Iterable[InputLike],
        *,
        model: str = "",
        **options: Unpack[TranslateArguments],
    ) -> inference_pb2.TranslateResponse:
        """Translates texts, as Client.translate."""
        request = inference_pb2.TranslateRequest(
            model=model,
            inputs=to_inputs(inputs),
            options=inference_pb2.TranslateOptions(**options),
        )
        return self._call("translate", request, inference_pb2.TranslateResponse)

    def generate(
        self, input: InputLike, **options: Unpack[GenerateArguments]
    ) -> LocalGeneration:
        """Returns text piece by piece, as Client.generate."""
        request = inference_pb2.GenerateRequest(input=to_input(input), **options)
        return self._generate(request)

    def chat(
        self,
        messages: Iterable[MessageLike],
        **options: Unpack[ChatArguments],
    ) -> LocalGeneration:
        """Returns the answer to a conversation, as Client.chat."""
        return self._generate(to_chat_request(messages, options))

    def score(
        self, pairs: Iterable[ScoreLike], **options: Unpack[ScoreArguments]
    ) -> inference_pb2.ScoreResponse:
        """Returns log-probabilities of targets after their contexts, as
        Client.score."""
        request = inference_pb2.ScoreRequest(inputs=to_score_inputs(pairs), **options)
        return self._call("score", request, inference_pb2.ScoreResponse)

    def classify(
        self, inputs: Iterable[InputLike], **options: Unpack[ClassifyArguments]
    ) -> inference_pb2.ClassifyResponse:
        """Labels texts, or pairs of texts, as Client.classify."""
        request = inference_pb2.ClassifyRequest(inputs=to_inputs(inputs), **options)
        return self._call("classify", request, inference_pb2.ClassifyResponse)

    def classify_tokens(
        self, inputs: Iterable[InputLike], **options: Unpack[ClassifyTokensArguments]
    ) -> inference_pb2.ClassifyTokensResponse:
        """Finds labelled spans in texts, as Client.classify_tokens."""
        request = inference_pb2.ClassifyTokensRequest(inputs=to_inputs(inputs), **options)
        return self._call("classify_tokens", request, inference_pb2.ClassifyTokensResponse)

    def answer(
        self, questions: Iterable[tuple[str, str]], **options: Unpack[AnswerArguments]
    ) -> inference_pb2.AnswerResponse:
        """Finds the spans of contexts that answer (question, context) pairs."""
        request = inference_pb2.AnswerRequest(inputs=to_questions(questions), **options)
        return self._call("answer", request, inference_pb2.AnswerResponse)

    def fill_mask(
        self, inputs: Iterable[InputLike], **options: Unpack[FillMaskArguments]
    ) -> inference_pb2.FillMaskResponse:
        """Finds the best tokens for each mask ("[MASK]", "<mask>") of the texts."""
        request = inference_pb2.FillMaskRequest(inputs=to_inputs(inputs), **options)
        return self._call("fill_mask", request, inference_pb2.FillMaskResponse)

    def rerank(
        self, query: str, documents: Iterable[str], **options: Unpack[RerankArguments]
    ) -> inference_pb2.RerankResponse:
        """Sorts documents by how well they answer the query, best first."""
        request = inference_pb2.RerankRequest(
            query=query, documents=to_texts(documents, "documents"), **options
        )
        return self._call("rerank", request, inference_pb2.RerankResponse)

    def similarity(
        self,
        first: Iterable[InputLike],
        second: Iterable[InputLike] | None = None,
        **options: Unpack[SimilarityArguments],
    ) -> inference_pb2.SimilarityResponse:
        """Compares each text of `first` with each of `second`, as Client.similarity."""
        request = to_similarity_request(first, second, options)
        return self._call("similarity", request, inference_pb2.SimilarityResponse)

    def tokenize(
        self,
        texts: Iterable[str | tuple[str, str]],
        **options: Unpack[TokenizeArguments],
    ) -> inference_pb2.TokenizeResponse:
        """Turns texts, or pairs of texts, into tokens, as Client.tokenize."""
        request = to_tokenize_request(texts, **options)
        return self._call("tokenize", request, inference_pb2.TokenizeResponse)

    def detokenize(self, ids: Iterable[Sequence[int]], *, model: str = "") -> list[str]:
        """Turns ids of the model's target side into texts, without special
        tokens."""
        request = inference_pb2.DetokenizeRequest(model=model, inputs=to_token_ids(ids))
        return list(self._call("detokenize", request, inference_pb2.DetokenizeResponse).texts)

    def info(self) -> models_pb2.Model:
        """Describes the model: family, calls, languages, labels, limits."""
        return models_pb2.Model.FromString(_checked(self._engine.info))

    def _call(self, name: str, request: Message, response: type[M]) -> M:
        call = getattr(self._engine, name)
        return response.FromString(_checked(lambda: call(request.SerializeToString())))

    def _generate(self, request: inference_pb2.GenerateRequest) -> LocalGeneration:
        return LocalGeneration(
            _checked(lambda: self._engine.generate(request.SerializeToString()))
        )


def _trivium_engine() -> Any:
    try:
        return importlib.import_module("trivium_engine")
    except ImportError as error:
        raise ImportError(
            f"models in this process need the package trivium-engine ({error}): "
            "pip install ./library/python of a checkout of Trivium"
        ) from error


def _checked(call: Callable[[], Any]) -> Any:
    """Returns the result of `call`. Turns the engine's errors into
    TriviumErrors."""
    module = _trivium_engine()
    try:
        return call()
    except module.StatusError as error:
        raise from_status(status_pb2.Status.FromString(error.args[0])) from None
