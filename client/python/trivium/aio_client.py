"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
import grpc.aio

from trivium.aio_streaming import AnyInputs, AsyncTextStream
from trivium.arguments import (
    AnswerArguments,
    ChatArguments,
    ClassifyArguments,
    ClassifyTokensArguments,
    EncodeArguments,
    EncodeStreamArguments,
    FillMaskArguments,
    GenerateArguments,
    LoadModelArguments,
    RerankArguments,
    ScoreArguments,
    SimilarityArguments,
    TokenizeArguments,
    TranslateArguments,
)
from trivium.connection import DEFAULT_ADDRESS, Attempts, Options
from trivium.documents import (
    DocumentAnswer,
    DocumentOptions,
    OnProgress,
    OnText,
    TranslatedDocument,
    to_document_request,
)
from trivium.exchange import Exchange, Outcome
from trivium.generation import AsyncGeneration
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
from trivium.retry import NO_RETRY, RetryPolicy
from trivium.v1 import (
    inference_pb2,
    inference_pb2_grpc,
    models_pb2,
    models_pb2_grpc,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

R = TypeVar("R")


class AsyncClient:
    """Client for asyncio, with the calls, arguments, answers and errors of Client.

        async with trivium.AsyncClient("127.0.0.1:50051") as client:
            async for outcome in client.translate_stream(lines):
                print(outcome.get().hypotheses[0].text)

    Use it only in the event loop in which it is created.
    """

    def __init__(self, address: str = DEFAULT_ADDRESS, **options: Any) -> None:
        self.options = Options(address, **options)
        arguments = self.options.channel_arguments()
        credentials = self.options.credentials
        self._channel = (
            grpc.aio.insecure_channel(address, arguments)
            if credentials is None
            else grpc.aio.secure_channel(address, credentials, arguments)
        )
        self._inference: Any = inference_pb2_grpc.InferenceStub(self._channel)
        self._models: Any = models_pb2_grpc.ModelsStub(self._channel)

    async def close(self) -> None:
        """Cancels running calls and closes the connection."""
        await self._channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def encode(
        self,
        inputs: Iterable[InputLike],
        *,
        timeout: float | None = None,
        **options: Unpack[EncodeArguments],
    ) -> inference_pb2.EncodeResponse:
        """As Client.encode."""
        request = to_encode_request(inputs, options)
        return await self._call(self._inference.Encode, request, timeout)

    def encode_stream(
        self,
        inputs: AnyInputs,
        *,
        window: int = 512,
        ordered: bool = True,
        timeout: float | None = None,
        **options: Unpack[EncodeStreamArguments],
    ) -> AsyncIterator[Outcome[inference_pb2.EncodeResult]]:
        """As Client.encode_stream."""
        Request = inference_pb2.EncodeStreamRequest
        return AsyncTextStream[inference_pb2.EncodeResult](
            self._inference.EncodeStream,
            Request(start=inference_pb2.EncodeRequest(**options)),
            lambda id, input: Request(item=Request.Item(id=id, input=input)),
            inputs,
            Exchange(window, ordered, self.options.retry),
            self.options,
            self._stream_attempts(timeout),
        ).results()

    async def translate(
        self,
        inputs: Iterable[InputLike],
        *,
        model: str = "",
        timeout: float | None = None,
        **options: Unpack[TranslateArguments],
    ) -> inference_pb2.TranslateResponse:
        """As Client.translate."""
        request = inference_pb2.TranslateRequest(
            model=model,
            inputs=to_inputs(inputs),
            options=inference_pb2.TranslateOptions(**options),
        )
        return await self._call(self._inference.Translate, request, timeout)

    def translate_stream(
        self,
        inputs: AnyInputs,
        *,
        model: str = "",
        window: int = 512,
        ordered: bool = True,
        timeout: float | None = None,
        **options: Unpack[TranslateArguments],
    ) -> AsyncIterator[Outcome[inference_pb2.TranslateResult]]:
        """As Client.translate_stream."""
        Request = inference_pb2.TranslateStreamRequest
        return AsyncTextStream[inference_pb2.TranslateResult](
            self._inference.TranslateStream,
            Request(
                start=Request.Start(
                    model=model,
                    options=inference_pb2.TranslateOptions(**options),
                )
            ),
            lambda id, input: Request(item=Request.Item(id=id, input=input)),
            inputs,
            Exchange(window, ordered, self.options.retry),
            self.options,
            self._stream_attempts(timeout),
        ).results()

    async def translate_document(
        self,
        data: bytes,
        *,
        file_name: str = "",
        document_format: str = "",
        document: DocumentOptions | None = None,
        known: Mapping[str, str] | None = None,
        on_progress: OnProgress | None = None,
        on_text: OnText | None = None,
        model: str = "",
        timeout: float | None = None,
        **options: Unpack[TranslateArguments],
    ) -> TranslatedDocument:
        """As Client.translate_document."""
        request = to_document_request(
            data,
            file_name=file_name,
            format=document_format,
            document=document,
            known=known,
            texts=on_text is not None,
            model=model,
            options=options,
        )
        attempts = self._stream_attempts(timeout)
        while True:
            answer = DocumentAnswer(on_progress, on_text)
            try:
                async for response in self._inference.TranslateDocument(
                    request.messages(),
                    timeout=attempts.begin(),
                    metadata=self.options.call_metadata(),
                ):
                    answer.add(response)
                return answer.document()
            except grpc.RpcError as failure:
                await asyncio.sleep(attempts.pause(attempts.error(failure)))

    def generate(
        self,
        input: InputLike,
        *,
        timeout: float | None = None,
        **options: Unpack[GenerateArguments],
    ) -> AsyncGeneration:
        """As Client.generate."""
        return self._generate(
            inference_pb2.GenerateRequest(input=to_input(input), **options),
            timeout,
        )

    def chat(
        self,
        messages: Iterable[MessageLike],
        *,
        timeout: float | None = None,
        **options: Unpack[ChatArguments],
    ) -> AsyncGeneration:
        """As Client.chat."""
        return self._generate(to_chat_request(messages, options), timeout)

    async def score(
        self,
        pairs: Iterable[ScoreLike],
        *,
        timeout: float | None = None,
        **options: Unpack[ScoreArguments],
    ) -> inference_pb2.ScoreResponse:
        """As Client.score."""
        request = inference_pb2.ScoreRequest(inputs=to_score_inputs(pairs), **options)
        return await self._call(self._inference.Score, request, timeout)

    async def classify(
        self,
        inputs: Iterable[InputLike],
        *,
        timeout: float | None = None,
        **options: Unpack[ClassifyArguments],
    ) -> inference_pb2.ClassifyResponse:
        """As Client.classify."""
        request = inference_pb2.ClassifyRequest(inputs=to_inputs(inputs), **options)
        return await self._call(self._inference.Classify, request, timeout)

    async def classify_tokens(
        self,
        inputs: Iterable[InputLike],
        *,
        timeout: float | None = None,
        **options: Unpack[ClassifyTokensArguments],
    ) -> inference_pb2.ClassifyTokensResponse:
        """As Client.classify_tokens."""
        request = inference_pb2.ClassifyTokensRequest(inputs=to_inputs(inputs), **options)
        return await self._call(self._inference.ClassifyTokens, request, timeout)

    async def answer(
        self,
        questions: Iterable[tuple[str, str]],
        *,
        timeout: float | None = None,
        **options: Unpack[AnswerArguments],
    ) -> inference_pb2.AnswerResponse:
        """As Client.answer."""
        request = inference_pb2.AnswerRequest(inputs=to_questions(questions), **options)
        return await self._call(self._inference.Answer, request, timeout)

    async def fill_mask(
        self,
        inputs: Iterable[InputLike],
        *,
        timeout: float | None = None,
        **options: Unpack[FillMaskArguments],
    ) -> inference_pb2.FillMaskResponse:
        """As Client.fill_mask."""
        request = inference_pb2.FillMaskRequest(inputs=to_inputs(inputs), **options)
        return await self._call(self._inference.FillMask, request, timeout)

    async def rerank(
        self,
        query: str,
        documents: Iterable[str],
        *,
        timeout: float | None = None,
        **options: Unpack[RerankArguments],
    ) -> inference_pb2.RerankResponse:
        """As Client.rerank."""
        request = inference_pb2.RerankRequest(
            query=query, documents=to_texts(documents, "documents"), **options
        )
        return await self._call(self._inference.Rerank, request, timeout)

    async def similarity(
        self,
        first: Iterable[InputLike],
        second: Iterable[InputLike] | None = None,
        *,
        timeout: float | None = None,
        **options: Unpack[SimilarityArguments],
    ) -> inference_pb2.SimilarityResponse:
        """As Client.similarity."""
        request = to_similarity_request(first, second, options)
        return await self._call(self._inference.Similarity, request, timeout)

    async def tokenize(
        self,
        texts: Iterable[str | tuple[str, str]],
        *,
        timeout: float | None = None,
        **options: Unpack[TokenizeArguments],
    ) -> inference_pb2.TokenizeResponse:
        """As Client.tokenize."""
        request = to_tokenize_request(texts, **options)
        return await self._call(self._inference.Tokenize, request, timeout)

    async def detokenize(
        self,
        ids: Iterable[Sequence[int]],
        *,
        model: str = "",
        timeout: float | None = None,
    ) -> list[str]:
        """As Client.detokenize."""
        request = inference_pb2.DetokenizeRequest(model=model, inputs=to_token_ids(ids))
        response = await self._call(self._inference.Detokenize, request, timeout)
        return list(response.texts)

    async def models(self, *, timeout: float | None = None) -> list[models_pb2.Model]:
        """As Client.models."""
        request = models_pb2.ListModelsRequest()
        response = await self._call(self._models.ListModels, request, timeout)
        return list(response.models)

    async def model(self, name: str = "", *, timeout: float | None = None) -> models_pb2.Model:
        """As Client.model."""
        request = models_pb2.GetModelRequest(name=name)
        return await self._call(self._models.GetModel, request, timeout)

    async def load_model(
        self,
        folder: str,
        *,
        timeout: float | None = None,
        **options: Unpack[LoadModelArguments],
    ) -> models_pb2.Model:
        """As Client.load_model."""
        request = models_pb2.LoadModelRequest(folder=folder, **options)
        return await self._call(self._models.LoadModel, request, timeout, NO_RETRY)

    async def reload_model(
        self, name: str, *, timeout: float | None = None
    ) -> models_pb2.Model:
        """As Client.reload_model."""
        request = models_pb2.ReloadModelRequest(name=name)
        return await self._call(self._models.ReloadModel, request, timeout)

    async def unload_model(self, name: str, *, timeout: float | None = None) -> None:
        """As Client.unload_model."""
        request = models_pb2.UnloadModelRequest(name=name)
        await self._call(self._models.UnloadModel, request, timeout, NO_RETRY)

    async def _call(
        self,
        method: Callable[..., Awaitable[R]],
        request: object,
        timeout: float | None,
        retry: RetryPolicy | None = None,
    ) -> R:
        attempts = Attempts(self.options, timeout, retry)
        while True:
            try:
                return await method(
                    request,
                    timeout=attempts.begin(),
                    metadata=self.options.call_metadata(),
                )
            except grpc.RpcError as failure:
                error = attempts.error(failure)
                pause = attempts.pause(error)
            await asyncio.sleep(pause)

    def _generate(
        self,
        request: inference_pb2.GenerateRequest,
        timeout: float | None,
    ) -> AsyncGeneration:
        def start(seconds: float) -> Any:
            return self._inference.Generate(
                request,
                timeout=seconds,
                metadata=self.options.generate_metadata(request),
            )

        return AsyncGeneration(start, Attempts(self.options, timeout))

    def _stream_attempts(self, timeout: float | None) -> Attempts:
        if timeout is None:
            timeout = self.options.stream_timeout
        return Attempts(self.options, timeout)
