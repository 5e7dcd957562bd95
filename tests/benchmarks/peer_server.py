"""What people build in front of CTranslate2: grpc.aio, a queue sorted by
length, one translator. Speaks Translate of this project's API, so that
trivium-load can load it. All requests of a run have the same options: a batch
takes those of its first."""

import argparse
import asyncio
import concurrent.futures
import json
import os
import pathlib
import signal

import ctranslate2
import grpc
import sentencepiece
from trivium.v1 import inference_pb2, inference_pb2_grpc

import ctranslate2_model
from length_queue import LengthQueue


class Texts:
    """Inputs to the model's tokens, and back."""

    def __init__(self, folder):
        config = json.loads((folder / "config.json").read_text("utf-8"))
        self._tokens = ctranslate2_model.vocabulary(folder, config)
        if (folder / "source.spm").is_file():
            self._source = sentencepiece.SentencePieceProcessor(
                model_file=str(folder / "source.spm"))
            self._target = sentencepiece.SentencePieceProcessor(
                model_file=str(folder / "target.spm"))

    def tokens(self, message):
        if message.WhichOneof("input") == "ids":
            return [self._tokens[i] for i in message.ids.ids]
        return self._source.encode(message.text, out_type=str) + ["</s>"]

    def text(self, message, tokens):
        if message.WhichOneof("input") == "ids":
            return ""
        return self._target.decode_pieces(tokens)


class Request:
    def __init__(self, tokens, decoding):
        self.tokens = tokens
        self.beam = decoding.beam_size or 1
        self.least = decoding.min_new_tokens or 1
        # This project's default.
        self.most = decoding.max_new_tokens or 3 * len(tokens) + 32
        self.result = asyncio.get_running_loop().create_future()


class Batcher:
    """Gives a translator its next batch as soon as it has a thread free."""

    def __init__(self, options):
        self._translator = ctranslate2.Translator(
            str(options.converted), device="cpu",
            compute_type=options.compute_type,
            inter_threads=1 if options.inside else options.threads,
            intra_threads=options.threads if options.inside else 1)
        self._free = 1 if options.inside else options.threads
        self._threads = concurrent.futures.ThreadPoolExecutor(self._free)
        self._queue = LengthQueue(options.batch, options.window_ms / 1000,
                                  options.among)
        self._timer = None

    async def translate(self, request):
        loop = asyncio.get_running_loop()
        self._queue.add(len(request.tokens), loop.time(), request)
        self._start_batches()
        return await request.result

    def _start_batches(self):
        loop = asyncio.get_running_loop()
        if self._timer:
            self._timer.cancel()
            self._timer = None
        while self._free and len(self._queue):
            wait = self._queue.wait(loop.time())
            if wait > 0:
                self._timer = loop.call_later(wait, self._start_batches)
                return
            # Nobody waits for a call that was cancelled.
            batch = [request for request in self._queue.take()
                     if not request.result.done()]
            if not batch:
                continue
            self._free -= 1
            task = loop.run_in_executor(self._threads, self._run, batch)
            task.add_done_callback(lambda task, b=batch: self._end(b, task))

    def _run(self, batch):
        return self._translator.translate_batch(
            [request.tokens for request in batch], beam_size=batch[0].beam,
            min_decoding_length=batch[0].least,
            max_decoding_length=max(request.most for request in batch),
            length_penalty=1.0, return_scores=False)

    def _end(self, batch, task):
        self._free += 1
        for i, request in enumerate(batch):
            if request.result.done():
                continue
            if task.exception():
                request.result.set_exception(task.exception())
            else:
                request.result.set_result(task.result()[i].hypotheses[0])
        self._start_batches()


class Inference(inference_pb2_grpc.InferenceServicer):
    def __init__(self, options):
        self._texts = Texts(options.folder)
        self._batcher = Batcher(options)

    async def Translate(self, call, context):
        requests = [Request(self._texts.tokens(message), call.options.decoding)
                    for message in call.inputs]
        outputs = await asyncio.gather(
            *(self._batcher.translate(request) for request in requests))
        response = inference_pb2.TranslateResponse()
        for message, request, tokens in zip(call.inputs, requests, outputs):
            result = response.results.add(
                source_token_count=len(request.tokens))
            # Tokens lack the end token, where the length did not cut.
            result.hypotheses.add(
                text=self._texts.text(message, tokens),
                token_count=min(len(tokens) + 1, request.most))
        return response


async def serve(options):
    server = grpc.aio.server()
    inference_pb2_grpc.add_InferenceServicer_to_server(
        Inference(options), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    written = options.port_file.with_suffix(".new")
    written.write_text(f"grpc {port}\n")
    os.replace(written, options.port_file)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await server.stop(grace=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("converted", type=pathlib.Path)
    parser.add_argument("--port-file", type=pathlib.Path, required=True)
    parser.add_argument("--compute-type", default="int8")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--inside", action="store_true",
                        help="the threads share each product")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--window-ms", type=float, default=0)
    parser.add_argument("--among", type=int, default=8)
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
