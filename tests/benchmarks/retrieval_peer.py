"""What people build with fastembed: FastAPI and uvicorn before an embedder and
a reranker, in int8. Calls that wait are embedded together, up to --batch texts;
each worker thread has sessions of its own. Speaks OpenAI's /v1/embeddings and
/v1/rerank."""

import argparse
import concurrent.futures
import os
import pathlib
import queue
import socket
import threading

import fastapi
import numpy as np
import uvicorn
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
from fastembed.rerank.cross_encoder import TextCrossEncoder

import retrieval_folders


def load(options):
    common = {"threads": options.session_threads, "cuda": False}
    folder = options.folders / retrieval_folders.EMBEDDER
    embedder = TextEmbedding("own/embedder", specific_model_path=str(folder),
                             **common)
    folder = options.folders / retrieval_folders.RANKER
    ranker = TextCrossEncoder("own/ranker", specific_model_path=str(folder),
                              **common)
    return embedder, ranker


def register():
    source = ModelSource(hf="own/model")
    TextEmbedding.add_custom_model(
        model="own/embedder", pooling=PoolingType.MEAN, normalization=True,
        sources=source, dim=384, model_file="model.onnx")
    TextCrossEncoder.add_custom_model(
        model="own/ranker", sources=source, model_file="model.onnx")


class Workers:
    """Threads that take the oldest job, and more embeddings that wait."""

    def __init__(self, options):
        self._batch = options.batch
        self._jobs = queue.Queue()
        for _ in range(options.workers):
            threading.Thread(target=self._work, args=load(options),
                             daemon=True).start()

    def ask(self, kind, what):
        future = concurrent.futures.Future()
        self._jobs.put((kind, what, future))
        return future

    def _work(self, embedder, ranker):
        held = None
        while True:
            kind, what, future = held or self._jobs.get()
            held = None
            try:
                if kind == "rank":
                    future.set_result(list(ranker.rerank(*what)))
                    continue
                texts, futures = [what], [future]
                while len(texts) < self._batch:
                    try:
                        job = self._jobs.get_nowait()
                    except queue.Empty:
                        break
                    if job[0] == "rank":
                        held = job
                        break
                    texts.append(job[1])
                    futures.append(job[2])
                vectors = embedder.embed(texts, batch_size=len(texts))
                for one, vector in zip(futures, vectors):
                    one.set_result(vector)
            except Exception as error:
                future.set_exception(error)


def make_app(workers):
    import asyncio
    app = fastapi.FastAPI()

    @app.post("/v1/embeddings")
    async def embeddings(request: fastapi.Request):
        body = await request.json()
        vector = await asyncio.wrap_future(workers.ask("embed", body["input"]))
        return {"object": "list", "model": body["model"], "data": [
            {"object": "embedding", "index": 0,
             "embedding": np.asarray(vector, np.float32).tolist()}]}

    @app.post("/v1/rerank")
    async def rerank(request: fastapi.Request):
        body = await request.json()
        scores = await asyncio.wrap_future(
            workers.ask("rank", (body["query"], body["documents"])))
        order = sorted(range(len(scores)), key=lambda i: -scores[i])
        return {"model": body["model"], "results": [
            {"index": i, "relevance_score": float(scores[i])} for i in order]}

    return app


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=pathlib.Path)
    parser.add_argument("--port-file", type=pathlib.Path, required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--session-threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=8)
    options = parser.parse_args()
    register()
    app = make_app(Workers(options))
    listener = socket.create_server(("127.0.0.1", 0))
    written = options.port_file.with_suffix(".new")
    port = listener.getsockname()[1]
    written.write_text(f"grpc {port}\nhttp {port}\n")
    os.replace(written, options.port_file)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run([listener])


if __name__ == "__main__":
    main()
