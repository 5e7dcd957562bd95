"""A fake server that tests control, on a free port."""

import concurrent.futures
import html
import re
import threading

import grpc

from trivium.rpc import error_details_pb2, status_pb2
from trivium.v1 import (
    inference_pb2,
    inference_pb2_grpc,
    models_pb2,
    models_pb2_grpc,
)


def status_of(code, message, retry_delay=None, field=None):
    """Makes a google.rpc.Status, with the type URLs of the real server's details."""
    status = status_pb2.Status(code=code.value[0], message=message)
    if retry_delay is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromNanoseconds(int(retry_delay * 1e9))
        status.details.add(
            type_url="type.googleapis.com/google.rpc.RetryInfo",
            value=retry.SerializeToString())
    if field is not None:
        bad = error_details_pb2.BadRequest()
        bad.field_violations.add(field=field, description="is wrong")
        status.details.add(
            type_url="type.googleapis.com/google.rpc.BadRequest",
            value=bad.SerializeToString())
    return status


def translated(text, is_html, change):
    """Applies `change` to a text; in HTML, to the texts between tags."""
    if not is_html:
        return change(text)
    return "".join(
        html.escape(change(html.unescape(part)), quote=False) if at % 2 == 0 else part
        for at, part in enumerate(re.split("(<[^>]*>)", text)))


class FakeServer(inference_pb2_grpc.InferenceServicer,
                 models_pb2_grpc.ModelsServicer):
    """Translates to upper case. The next calls or streams end with `failures`.
    `item_errors` are the errors, by text, with which texts of streams are refused,
    each once."""

    def __init__(self):
        self.requests = []
        self.metadata = {}  # of the last call
        self.failures = []  # (code, Status or None)
        self.item_errors = {}  # text: [Status...]
        self.unkept = {}  # text: [(span, count)...]
        self.break_after = []  # results after which the next streams break
        self.streams = 0
        self.lock = threading.Lock()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        inference_pb2_grpc.add_InferenceServicer_to_server(self, self.server)
        models_pb2_grpc.add_ModelsServicer_to_server(self, self.server)
        port = self.server.add_insecure_port("127.0.0.1:0")
        self.address = f"127.0.0.1:{port}"
        self.server.start()

    def stop(self):
        self.server.stop(None).wait()

    def begin(self, request, context):
        self.requests.append(request)
        self.metadata = dict(context.invocation_metadata())
        trailers = [("x-request-id", "fake-1")]
        if self.failures:
            code, status = self.failures.pop(0)
            if status is not None:
                trailers.append(
                    ("grpc-status-details-bin", status.SerializeToString()))
            context.set_trailing_metadata(trailers)
            context.abort(code, status.message if status else "as told")
        context.set_trailing_metadata(trailers)

    def Encode(self, request, context):
        self.begin(request, context)
        response = inference_pb2.EncodeResponse()
        for one in request.inputs:
            response.results.add(embedding=[len(one.text), 1.0], token_count=1)
        return response

    def Translate(self, request, context):
        self.begin(request, context)
        response = inference_pb2.TranslateResponse()
        for one in request.inputs:
            response.results.add().hypotheses.add(text=one.text.upper())
        return response

    def Generate(self, request, context):
        self.begin(request, context)
        text = request.input.text or request.chat.messages[-1].content
        for word in text.split():
            event = inference_pb2.GenerateResponse()
            event.piece.text = word + " "
            yield event
        if request.chat.tools and request.chat.messages[-1].role != "tool":
            event = inference_pb2.GenerateResponse()
            event.piece.reasoning = "hm"
            event.piece.tool_calls.add(index=0, name="sum", id="c1", arguments='{"a"')
            event.piece.tool_calls.add(index=1, name="now")
            yield event
            event = inference_pb2.GenerateResponse()
            event.piece.tool_calls.add(index=1, arguments="{}", complete=True)
            yield event
        done = inference_pb2.GenerateResponse()
        done.done.finish_reason = 1
        yield done

    def Score(self, request, context):
        self.begin(request, context)
        return inference_pb2.ScoreResponse(
            results=[{"total_logprob": -1.0} for _ in request.inputs])

    def Classify(self, request, context):
        self.begin(request, context)
        return inference_pb2.ClassifyResponse()

    def ClassifyTokens(self, request, context):
        self.begin(request, context)
        return inference_pb2.ClassifyTokensResponse()

    def Answer(self, request, context):
        self.begin(request, context)
        return inference_pb2.AnswerResponse()

    def FillMask(self, request, context):
        self.begin(request, context)
        return inference_pb2.FillMaskResponse()

    def Rerank(self, request, context):
        self.begin(request, context)
        return inference_pb2.RerankResponse()

    def Similarity(self, request, context):
        self.begin(request, context)
        return inference_pb2.SimilarityResponse()

    def Tokenize(self, request, context):
        self.begin(request, context)
        return inference_pb2.TokenizeResponse()

    def Detokenize(self, request, context):
        self.begin(request, context)
        return inference_pb2.DetokenizeResponse(
            texts=[" ".join(map(str, one.ids)) for one in request.inputs])

    def ListModels(self, request, context):
        self.begin(request, context)
        return models_pb2.ListModelsResponse(models=[{"name": "fake"}])

    def GetModel(self, request, context):
        self.begin(request, context)
        return models_pb2.Model(name=request.name or "fake", decoder_layer_count=2)

    def LoadModel(self, request, context):
        self.begin(request, context)
        return models_pb2.Model(name=request.name, precision=request.precision)

    def ReloadModel(self, request, context):
        self.begin(request, context)
        return models_pb2.Model(name=request.name)

    def UnloadModel(self, request, context):
        self.begin(request, context)
        return models_pb2.UnloadModelResponse()

    def TranslateStream(self, requests, context):
        with self.lock:
            self.streams += 1
            break_after = self.break_after.pop(0) if self.break_after else -1
        start = next(requests).start
        self.begin(start, context)
        answered = 0
        for request in requests:
            if answered == break_after:
                context.abort(grpc.StatusCode.UNAVAILABLE, "stopping")
            answered += 1
            item = request.item
            response = inference_pb2.TranslateStreamResponse(id=item.id)
            text = item.input.text
            errors = self.item_errors.get(text)
            if errors:
                response.error.CopyFrom(errors.pop(0))
            else:
                is_html = start.options.format == inference_pb2.TEXT_FORMAT_HTML
                response.result.hypotheses.add(
                    text=translated(text, is_html, str.upper))
                for kept in self.unkept.get(text, ()):
                    response.result.unkept.add(text=kept[0], count=kept[1])
            yield response
        if answered == break_after:
            context.abort(grpc.StatusCode.UNAVAILABLE, "stopping")

    def TranslateDocument(self, requests, context):
        """Takes every document as lines of text."""
        with self.lock:
            self.streams += 1
            break_after = self.break_after.pop(0) if self.break_after else -1
        start = next(requests).start
        self.begin(start, context)
        Response = inference_pb2.TranslateDocumentResponse
        known, data = {}, b""
        for request in requests:
            if request.HasField("known"):
                known[request.known.text] = request.known.translation
            data += request.data
        self.known = known
        lines = data.decode().split("\n")
        texts = [line for line in dict.fromkeys(lines) if line]
        result = inference_pb2.DocumentResult(format="text", text_count=len(texts))
        translations = {}
        for at, text in enumerate(texts):
            if at == break_after:
                context.abort(grpc.StatusCode.UNAVAILABLE, "stopping")
            progress = inference_pb2.DocumentProgress(done=at + 1, total=len(texts))
            if self.item_errors.get(text):
                place = f"line {lines.index(text) + 1}"
                error = self.item_errors[text].pop(0)
                result.notes.add(place=place, text=text, error=error)
                result.untranslated_count += 1
            else:
                translations[text] = known.get(text, text.upper())
                if start.texts:
                    progress.text.text = text
                    progress.text.translation = translations[text]
            yield Response(progress=progress)
        for line in "\n".join(translations.get(line, line) for line in lines):
            yield Response(data=line.encode())
        yield Response(result=result)

    def EncodeStream(self, requests, context):
        self.begin(next(requests).start, context)
        for request in requests:
            yield inference_pb2.EncodeStreamResponse(
                id=request.item.id, result={"embedding": [len(request.item.input.text)]})
