"""The client of a trivium-server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import grpc

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
from trivium.generation import Generation
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
from trivium.streaming import TextStream
from trivium.v1 import (
    inference_pb2,
    inference_pb2_grpc,
    models_pb2,
    models_pb2_grpc,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

R = TypeVar("R")


class Client:
    """Calls a trivium-server. AsyncClient is the same for asyncio.

        with trivium.Client("127.0.0.1:50051") as client:
            response = client.translate(
                ["I ate an apple."], decoding={"beam_size": 4}
            )
            print(response.results[0].hypotheses[0].text)

    Answers are the messages of proto/trivium/v1. The `options` of a call are the
    fields of its request (trivium.arguments). Every call has a deadline: its own
    `timeout` in seconds, or the client's. Within it, a call is retried if the
    server refuses it for now or no server answers (RetryPolicy).

    Errors are TriviumErrors. InvalidArgumentError names the wrong fields,
    NotFoundError a model that the server lacks, FailedPreconditionError a model
    that cannot do the call. Others are ResourceExhaustedError, UnavailableError
    and DeadlineExceededError.

    The constructor does not connect; the first call does. Keyword arguments are
    those of trivium.Options. Thread-safe.
    """

    def __init__(self, address: str = DEFAULT_ADDRESS, **options: Any) -> None:
        self.options = Options(address, **options)
        arguments = self.options.channel_arguments()
        credentials = self.options.credentials
        self._channel = (
            grpc.insecure_channel(address, arguments)
            if credentials is None
            else grpc.secure_channel(address, credentials, arguments)
        )
        self._inference: Any = inference_pb2_grpc.InferenceStub(self._channel)
        self._models: Any = models_pb2_grpc.ModelsStub(self._channel)

    def close(self) -> None:
        """Cancels running calls and closes the connection."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def encode(
        self,
        inputs: Iterable[InputLike],
        *,
        timeout: float | None = None,
        **options: Unpack[EncodeArguments],
    ) -> inference_pb2.EncodeResponse:
        """Turns texts into vectors. The results, in the order of the inputs, have
        `embedding` [embedding_size] and, on request, `token_vectors`
        [token_count, d_model], hidden states and attention maps.
        `trivium.arrays` converts them to numpy arrays."""
        request = to_encode_request(inputs, options)
        return self._call(self._inference.Encode, request, timeout)

    def encode_stream(
        self,
        inputs: Iterable[InputLike],
        *,
        window: int = 512,
        ordered: bool = True,
        timeout: float | None = None,
        **options: Unpack[EncodeStreamArguments],
    ) -> Iterator[Outcome[inference_pb2.EncodeResult]]:
        """encode() for any number of texts, like translate_stream()."""
        Request = inference_pb2.EncodeStreamRequest
        return TextStream[inference_pb2.EncodeResult](
            self._inference.EncodeStream,
            Request(start=inference_pb2.EncodeRequest(**options)),
            lambda id, input: Request(item=Request.Item(id=id, input=input)),
            inputs,
            Exchange(window, ordered, self.options.retry),
            self.options,
            self._stream_attempts(timeout),
        ).results()

    def translate(
        self,
        inputs: Iterable[InputLike],
        *,
        model: str = "",
        timeout: float | None = None,
        **options: Unpack[TranslateArguments],
    ) -> inference_pb2.TranslateResponse:
        """Translates texts. The results, in the order of the inputs, have
        `hypotheses`, best first, with `text` and `score`."""
        request = inference_pb2.TranslateRequest(
            model=model,
            inputs=to_inputs(inputs),
            options=inference_pb2.TranslateOptions(**options),
        )
        return self._call(self._inference.Translate, request, timeout)

    def translate_stream(
        self,
        inputs: Iterable[InputLike],
        *,
        model: str = "",
        window: int = 512,
        ordered: bool = True,
        timeout: float | None = None,
        **options: Unpack[TranslateArguments],
    ) -> Iterator[Outcome[inference_pb2.TranslateResult]]:
        """translate() for any number of texts over one stream. A bad text fails
        alone, in its Outcome; errors of the whole stream are raised. Outcomes come
        in the order of the inputs or, if `ordered` is false, as they finish. At
        most `window` texts are read from `inputs` and not yet returned. Texts that
        the server refuses for now, or that are lost with a connection, are sent
        again. Another thread iterates over `inputs`."""
        Request = inference_pb2.TranslateStreamRequest
        return TextStream[inference_pb2.TranslateResult](
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

    def translate_document(
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
        """Translates a document: everything except its texts stays, byte for byte.
        Its format is that of `file_name`'s end, or `document_format` ("docx",
        "html", "po"). `document` has options of formats, as {"retranslate": True}.
        `on_progress` is called with the numbers of texts that are done and in all, `on_text`
        with each text and its translation; in a later call with the same options
        `known` has them, so that they are not translated again. result.notes has
        the texts that stay because they failed."""
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
                for response in self._inference.TranslateDocument(
                    request.messages(),
                    timeout=attempts.begin(),
                    metadata=self.options.call_metadata(),
                ):
                    answer.add(response)
                return answer.document()
            except grpc.RpcError as failure:
                time.sleep(attempts.pause(attempts.error(failure)))

    def generate(
        self,
        input: InputLike,
        *,
        timeout: float | None = None,
        **options: Unpack[GenerateArguments],
    ) -> Generation:
        """Returns text piece by piece. It continues a prompt or, with an
        encoder-decoder, is made from a source. The call begins when the first
        message is requested."""
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
    ) -> Generation:
        """Returns the answer to a conversation, piece by piece. The model's own
        chat template makes the prompt. `messages` have "role" and "content",
        oldest first. `chat(...).answer()` is the whole answer, tool calls
        included, as the message to go on with. Raises FailedPreconditionError
        if the model takes no chats."""
        return self._generate(to_chat_request(messages, options), timeout)

    def score(
        self,
        pairs: Iterable[ScoreLike],
        *,
        timeout: float | None = None,
        **options: Unpack[ScoreArguments],
    ) -> inference_pb2.ScoreResponse:
        """Returns natural log-probabilities of targets after their contexts. A
        pair is (source, translation) for an encoder-decoder, (prompt,
        continuation) for a decoder. perplexity = exp(-total_logprob /
        token_count)."""
        request = inference_pb2.ScoreRequest(inputs=to_score_inputs(pairs), **options)
        return self._call(self._inference.Score, request, timeout)

    def classify(
        self,
        inputs: Iterable[InputLike],
        *,
        timeout: float | None = None,
        **options: Unpack[ClassifyArguments],
    ) -> inference_pb2.ClassifyResponse:
        """Labels texts, or pairs of texts. Labels come best first."""
        request = inference_pb2.ClassifyRequest(inputs=to_inputs(inputs), **options)
        return self._call(self._inference.Classify, request, timeout)

    def classify_tokens(
        self,
        inputs: Iterable[InputLike],
        *,
        timeout: float | None = None,
        **options: Unpack[ClassifyTokensArguments],
    ) -> inference_pb2.ClassifyTokensResponse:
        """Finds labelled spans in texts: names, places... Their places are
        [begin, end), in bytes of UTF-8 and in characters
        (`text[span.char_begin:span.char_end]`)."""
        request = inference_pb2.ClassifyTokensRequest(inputs=to_inputs(inputs), **options)
        return self._call(self._inference.ClassifyTokens, request, timeout)

    def answer(
        self,
        questions: Iterable[tuple[str, str]],
        *,
        timeout: float | None = None,
        **options: Unpack[AnswerArguments],
    ) -> inference_pb2.AnswerResponse:
        """Finds the spans of contexts that answer (question, context) pairs."""
        request = inference_pb2.AnswerRequest(inputs=to_questions(questions), **options)
        return self._call(self._inference.Answer, request, timeout)

    def fill_mask(
        self,
        inputs: Iterable[InputLike],
        *,
        timeout: float | None = None,
        **options: Unpack[FillMaskArguments],
    ) -> inference_pb2.FillMaskResponse:
        """Finds the best tokens for each mask ("[MASK]", "<mask>") of the texts."""
        request = inference_pb2.FillMaskRequest(inputs=to_inputs(inputs), **options)
        return self._call(self._inference.FillMask, request, timeout)

    def rerank(
        self,
        query: str,
        documents: Iterable[str],
        *,
        timeout: float | None = None,
        **options: Unpack[RerankArguments],
    ) -> inference_pb2.RerankResponse:
        """Sorts documents by how well they answer the query, best first. Results
        have `score` and `index`, the document's place in `documents`."""
        request = inference_pb2.RerankRequest(
            query=query, documents=to_texts(documents, "documents"), **options
        )
        return self._call(self._inference.Rerank, request, timeout)

    def similarity(
        self,
        first: Iterable[InputLike],
        second: Iterable[InputLike] | None = None,
        *,
        timeout: float | None = None,
        **options: Unpack[SimilarityArguments],
    ) -> inference_pb2.SimilarityResponse:
        """Compares each text of `first` with each of `second`, or with one another.
        `scores` are [first, second], row by row; `trivium.arrays.similarities` makes
        a numpy array of them."""
        request = to_similarity_request(first, second, options)
        return self._call(self._inference.Similarity, request, timeout)

    def tokenize(
        self,
        texts: Iterable[str | tuple[str, str]],
        *,
        timeout: float | None = None,
        **options: Unpack[TokenizeArguments],
    ) -> inference_pb2.TokenizeResponse:
        """Turns texts, or pairs of texts, into tokens: ids and pieces, with their
        places [begin, end) in bytes of UTF-8 and in characters."""
        request = to_tokenize_request(texts, **options)
        return self._call(self._inference.Tokenize, request, timeout)

    def detokenize(
        self,
        ids: Iterable[Sequence[int]],
        *,
        model: str = "",
        timeout: float | None = None,
    ) -> list[str]:
        """Turns ids of the model's target side into texts, without special
        tokens."""
        request = inference_pb2.DetokenizeRequest(model=model, inputs=to_token_ids(ids))
        response = self._call(self._inference.Detokenize, request, timeout)
        return list(response.texts)

    def models(self, *, timeout: float | None = None) -> list[models_pb2.Model]:
        """Returns the models that the server has loaded; the first is the
        default."""
        request = models_pb2.ListModelsRequest()
        response = self._call(self._models.ListModels, request, timeout)
        return list(response.models)

    def model(self, name: str = "", *, timeout: float | None = None) -> models_pb2.Model:
        """Describes one model: languages, labels, limits. An empty name means the
        default model."""
        request = models_pb2.GetModelRequest(name=name)
        return self._call(self._models.GetModel, request, timeout)

    def load_model(
        self,
        folder: str,
        *,
        timeout: float | None = None,
        **options: Unpack[LoadModelArguments],
    ) -> models_pb2.Model:
        """Serves one more model. Needs a server with --model-root, to which
        `folder` is relative. Loading continues if the timeout ends first. A lost
        load or unload is not sent again; models() shows whether it was done.
        Raises AlreadyExistsError if a model of that name is served."""
        request = models_pb2.LoadModelRequest(folder=folder, **options)
        return self._call(self._models.LoadModel, request, timeout, NO_RETRY)

    def reload_model(self, name: str, *, timeout: float | None = None) -> models_pb2.Model:
        """Reads a model's folder again and replaces the served model with it. If
        the folder cannot be loaded, the old model stays."""
        request = models_pb2.ReloadModelRequest(name=name)
        return self._call(self._models.ReloadModel, request, timeout)

    def unload_model(self, name: str, *, timeout: float | None = None) -> None:
        """Stops serving a model. Calls that have begun finish on it."""
        request = models_pb2.UnloadModelRequest(name=name)
        self._call(self._models.UnloadModel, request, timeout, NO_RETRY)

    def _call(
        self,
        method: Callable[..., R],
        request: object,
        timeout: float | None,
        retry: RetryPolicy | None = None,
    ) -> R:
        attempts = Attempts(self.options, timeout, retry)
        while True:
            try:
                return method(
                    request,
                    timeout=attempts.begin(),
                    metadata=self.options.call_metadata(),
                )
            except grpc.RpcError as failure:
                error = attempts.error(failure)
                pause = attempts.pause(error)
            time.sleep(pause)

    def _generate(
        self,
        request: inference_pb2.GenerateRequest,
        timeout: float | None,
    ) -> Generation:
        def start(seconds: float) -> Any:
            return self._inference.Generate(
                request,
                timeout=seconds,
                metadata=self.options.generate_metadata(request),
            )

        return Generation(start, Attempts(self.options, timeout))

    def _stream_attempts(self, timeout: float | None) -> Attempts:
        if timeout is None:
            timeout = self.options.stream_timeout
        return Attempts(self.options, timeout)
