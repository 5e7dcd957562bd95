"""A server as Python calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import grpc

from trivium.arguments import (
    AnswerArguments,
    ClassifyArguments,
    ClassifyTokensArguments,
    EncodeArguments,
    FillMaskArguments,
    GenerateArguments,
    LoadModelArguments,
    RerankArguments,
    ScoreArguments,
    TokenizeArguments,
    TranslateArguments,
)
from trivium.connection import DEFAULT_ADDRESS, Attempts, Options
from trivium.exchange import Exchange, Outcome
from trivium.generation import Generation
from trivium.inputs import (
    InputLike,
    MessageLike,
    ScoreLike,
    to_chat,
    to_input,
    to_inputs,
    to_questions,
    to_score_inputs,
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
    """A server as Python calls; AsyncClient is the same for asyncio.

        with trivium.Client("127.0.0.1:50051") as client:
            response = client.translate(
                ["I ate an apple."], decoding={"beam_size": 4}
            )
            print(response.results[0].hypotheses[0].text)

    Answers are the messages of proto/trivium/v1. `options` of a call are the
    fields of its request (trivium.arguments). Every call has a deadline,
    `timeout` seconds or the client's; one that the server refuses for now, or
    that finds no server, is made again within it (RetryPolicy). Errors are
    TriviumErrors: InvalidArgumentError names the fields, NotFoundError a model
    that is not there, FailedPreconditionError a model that cannot do the call,
    ResourceExhaustedError, UnavailableError, DeadlineExceededError.

    Does not connect yet: the first call does. Thread-safe. keyword arguments
    are those of trivium.Options.
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
        """Ends what runs, and the connection."""
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
        """Texts to vectors, in the order of the inputs: of each, `embedding`
        [embedding_size], and on request `token_vectors` [token_count, d_model],
        hidden states, attention maps. `trivium.arrays` makes numpy arrays of
        them."""
        request = inference_pb2.EncodeRequest(inputs=to_inputs(inputs), **options)
        return self._call(self._inference.Encode, request, timeout)

    def encode_stream(
        self,
        inputs: Iterable[InputLike],
        *,
        window: int = 512,
        ordered: bool = True,
        timeout: float | None = None,
        **options: Unpack[EncodeArguments],
    ) -> Iterator[Outcome[inference_pb2.EncodeResult]]:
        """encode() for any number of texts: see translate_stream."""
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
        """Texts to texts in another language, in the order of the inputs: of
        each `hypotheses`, best first, with `text` and `score`."""
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
        alone, in its Outcome; errors of the whole stream are raised. At most
        `window` texts are taken and not yet given back as outcomes; they come
        in the order of the inputs, or as they finish. Texts that the server
        refuses for now, or that were on their way when it went, are sent again.
        The inputs are asked for in another thread."""
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

    def generate(
        self,
        input: InputLike,
        *,
        timeout: float | None = None,
        **options: Unpack[GenerateArguments],
    ) -> Generation:
        """Text, piece by piece, that continues a prompt or, of encoder-decoders,
        is made of a source. The call begins with the first message asked for."""
        return self._generate(
            inference_pb2.GenerateRequest(input=to_input(input), **options),
            timeout,
        )

    def chat(
        self,
        messages: Iterable[MessageLike],
        *,
        tools: Sequence[str] = (),
        variables: Mapping[str, Any] | None = None,
        template_name: str | None = None,
        add_generation_prompt: bool | None = None,
        continue_final_message: bool | None = None,
        timeout: float | None = None,
        **options: Unpack[GenerateArguments],
    ) -> Generation:
        """The answer to a conversation, whose prompt the model's own chat template
        makes: messages of "role" and "content", oldest first; tools as JSON
        objects; more names for the template (`enable_thinking`) as variables.
        FailedPreconditionError where the model takes no chats."""
        chat = to_chat(
            messages,
            tools,
            variables,
            template_name=template_name,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
        )
        return self._generate(inference_pb2.GenerateRequest(chat=chat, **options), timeout)

    def score(
        self,
        pairs: Iterable[ScoreLike],
        *,
        timeout: float | None = None,
        **options: Unpack[ScoreArguments],
    ) -> inference_pb2.ScoreResponse:
        """Log-probabilities (natural) of targets after their contexts: for
        encoder-decoders (source, translation), for decoders (prompt, what
        follows). perplexity = exp(-total_logprob / token_count)."""
        request = inference_pb2.ScoreRequest(inputs=to_score_inputs(pairs), **options)
        return self._call(self._inference.Score, request, timeout)

    def classify(
        self,
        inputs: Iterable[InputLike],
        *,
        timeout: float | None = None,
        **options: Unpack[ClassifyArguments],
    ) -> inference_pb2.ClassifyResponse:
        """Texts, or pairs of texts, to labels, best first."""
        request = inference_pb2.ClassifyRequest(inputs=to_inputs(inputs), **options)
        return self._call(self._inference.Classify, request, timeout)

    def classify_tokens(
        self,
        inputs: Iterable[InputLike],
        *,
        timeout: float | None = None,
        **options: Unpack[ClassifyTokensArguments],
    ) -> inference_pb2.ClassifyTokensResponse:
        """Texts to labelled spans: names, places... Offsets are [begin, end), in
        bytes of UTF-8 and in characters (`text[span.char_begin:span.char_end]`)."""
        request = inference_pb2.ClassifyTokensRequest(inputs=to_inputs(inputs), **options)
        return self._call(self._inference.ClassifyTokens, request, timeout)

    def answer(
        self,
        questions: Iterable[tuple[str, str]],
        *,
        timeout: float | None = None,
        **options: Unpack[AnswerArguments],
    ) -> inference_pb2.AnswerResponse:
        """The places in contexts that answer (question, context) pairs."""
        request = inference_pb2.AnswerRequest(inputs=to_questions(questions), **options)
        return self._call(self._inference.Answer, request, timeout)

    def fill_mask(
        self,
        inputs: Iterable[InputLike],
        *,
        timeout: float | None = None,
        **options: Unpack[FillMaskArguments],
    ) -> inference_pb2.FillMaskResponse:
        """The best tokens for each of the texts' masks ("[MASK]", "<mask>")."""
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
        """Documents in the order in which they answer the query, best first:
        `index` among them, `score`."""
        request = inference_pb2.RerankRequest(
            query=query, documents=to_texts(documents, "documents"), **options
        )
        return self._call(self._inference.Rerank, request, timeout)

    def tokenize(
        self,
        texts: Iterable[str | tuple[str, str]],
        *,
        timeout: float | None = None,
        **options: Unpack[TokenizeArguments],
    ) -> inference_pb2.TokenizeResponse:
        """Texts, or pairs of texts, to ids and pieces with their [begin, end) in
        bytes of UTF-8 and in characters."""
        request = to_tokenize_request(texts, **options)
        return self._call(self._inference.Tokenize, request, timeout)

    def detokenize(
        self,
        ids: Iterable[Sequence[int]],
        *,
        model: str = "",
        timeout: float | None = None,
    ) -> list[str]:
        """Ids of the model's target side to texts, without special tokens."""
        request = inference_pb2.DetokenizeRequest(model=model, inputs=to_token_ids(ids))
        response = self._call(self._inference.Detokenize, request, timeout)
        return list(response.texts)

    def models(self, *, timeout: float | None = None) -> list[models_pb2.Model]:
        """What the server has loaded; the first is the default."""
        request = models_pb2.ListModelsRequest()
        response = self._call(self._models.ListModels, request, timeout)
        return list(response.models)

    def model(self, name: str = "", *, timeout: float | None = None) -> models_pb2.Model:
        """One model: languages, labels, limits. Empty: the default."""
        request = models_pb2.GetModelRequest(name=name)
        return self._call(self._models.GetModel, request, timeout)

    def load_model(
        self,
        folder: str,
        *,
        timeout: float | None = None,
        **options: Unpack[LoadModelArguments],
    ) -> models_pb2.Model:
        """Serves one more model, beside the others; the server was started with
        --model-root, and `folder` is relative to it. Loading goes on where the
        timeout ends first. A load or unload that was lost is not sent again:
        models() tells whether it was done. AlreadyExistsError: one of that name
        is served."""
        request = models_pb2.LoadModelRequest(folder=folder, **options)
        return self._call(self._models.LoadModel, request, timeout, NO_RETRY)

    def reload_model(self, name: str, *, timeout: float | None = None) -> models_pb2.Model:
        """Reads a model's folder anew and serves that in the old one's place;
        where it cannot be loaded, the old one stays."""
        request = models_pb2.ReloadModelRequest(name=name)
        return self._call(self._models.ReloadModel, request, timeout)

    def unload_model(self, name: str, *, timeout: float | None = None) -> None:
        """Serves a model no longer. Calls that have begun finish on it."""
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
