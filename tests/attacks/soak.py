"""Everything at once, for long: Translate, Encode, Classify, Rerank, Generate and
chats over gRPC and HTTP, with too few KV blocks, while clients cancel, go and
give too little time, and a model comes and goes. Each answer must be what the
same request gets alone. After a warm-up the memory must stay, and in the end
files, threads and what is held must be back where they were.

    /usr/bin/python3 tests/attacks/soak.py build/dev/bin/trivium-server \\
        model/embedded build/dev/tests/integration/python 1800
"""

import collections
import http.client
import json
import os
import random
import shutil
import statistics
import tempfile
import threading
import time

import attack
import grpc
from google.protobuf import json_format
from trivium.v1 import inference_pb2, models_pb2

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests", "golden")
THREADS = 8
INFERENCE = "/trivium.v1.Inference/"
MODELS = "/trivium.v1.Models/"
PROGRESS_SECONDS = 10
# Files that the server opens now and then to ask itself, and threads that gRPC
# keeps once it has had much to do: more on a busy machine, but not one for each
# model that came and went.
LEEWAY = {"files": 4, "threads": 8}
# Memory grows to the KV caches' bound and the allocator's; from so many seconds
# on it is judged.
WARM_UP_SECONDS = 300
# What an error may be: the queue is full or the time too short; a client that
# goes is told nothing.
REFUSALS = {"RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"}
# Once it is warm, the memory may move by so much, from the median of one half of
# the time to that of the other.
MOST_GROWTH_PART = 0.03
MOST_GROWTH_BYTES = 6 << 20
SENTENCES = [
    "I ate an apple.", "The house on the hill is older than the church.",
    "Where have you been?", "We will meet again at the station tomorrow, if the "
    "train is not late, and then have dinner at my sister's.", "Good morning!",
    "Two old books lay on the table. Nobody had read them for years.",
    "The price is 12.50 euros.", "She said: <b>do not</b> open it."]


def make_chat_folder(folder):
    """As tests/integration/chat_folder.h does."""
    os.makedirs(folder)
    golden = os.path.join(GOLDEN, "qwen3.lm")
    chats = os.path.join(ROOT, "tests", "integration", "chats")
    for source, name in ((golden, "generation_config.json"),
                         (golden, "model.safetensors"),
                         (chats, "tokenizer.json"),
                         (chats, "chat_template.jinja")):
        shutil.copy(os.path.join(source, name), folder)
    with open(os.path.join(golden, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    config["max_position_embeddings"] = 1024
    with open(os.path.join(folder, "config.json"), "w",
              encoding="utf-8") as file:
        json.dump(config, file)


def without(value, names):
    """A JSON value without members that differ from call to call."""
    if isinstance(value, dict):
        return {name: without(one, names) for name, one in value.items()
                if name not in names}
    if isinstance(value, list):
        return [without(one, names) for one in value]
    return value


CHANGING = {"timings", "id", "created", "cached_tokens", "cachedTokens",
            "prompt_tokens_details", "model", "system_fingerprint"}


class Request:
    """One request, as a message of gRPC or a body of HTTP."""

    def __init__(self, path, body):
        self.path = path
        self.body = body

    def http(self, address, timeout=60.0):
        """The status and the answer over HTTP."""
        connection = http.client.HTTPConnection(address, timeout=timeout)
        try:
            connection.request("POST", self.path, json.dumps(self.body),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def go_away(self, address, seconds):
        """Asks over HTTP, and leaves before the answer comes."""
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.request("POST", self.path, json.dumps(self.body),
                           {"Content-Type": "application/json"})
        time.sleep(seconds)
        connection.close()

    def begin(self, channel, timeout):
        """Begins the call over gRPC; None where it has none."""
        if not self.path.startswith(INFERENCE):
            return None
        name = self.path[len(INFERENCE):]
        message = json_format.ParseDict(
            self.body, getattr(inference_pb2, name + "Request")())
        response = getattr(inference_pb2, name + "Response")
        call = channel.unary_unary(
            self.path, request_serializer=type(message).SerializeToString,
            response_deserializer=response.FromString)
        return call.future(message, timeout=timeout)


def requests(draw):
    """Those of the soak: some hundred, of all kinds and lengths."""
    def text(most):
        return " ".join(draw.choices(SENTENCES, k=draw.randint(1, most)))

    found = []
    for _ in range(40):
        decoding = {"beamSize": draw.choice([1, 1, 2, 4])}
        found.append(Request(INFERENCE + "Translate", {
            "model": "en-de", "inputs": [
                {"text": text(6)} for _ in range(draw.randint(1, 4))],
            "options": {"decoding": decoding,
                        "format": draw.choice(
                            ["TEXT_FORMAT_PLAIN", "TEXT_FORMAT_HTML"])}}))
        found.append(Request(INFERENCE + "Encode", {
            "model": "embed", "truncate": True, "inputs": [
                {"text": text(8)} for _ in range(draw.randint(1, 6))]}))
        found.append(Request(INFERENCE + "Classify", {
            "model": "classify", "inputs": [{"text": text(2)}],
            "labels": ["food", "travel"], "truncate": True}))
        found.append(Request(INFERENCE + "Rerank", {
            "model": "rerank", "truncate": True, "query": text(1), "documents": [
                text(3) for _ in range(draw.randint(1, 5))]}))
        found.append(Request("/v1/completions", {
            "model": "chat", "prompt": text(6), "temperature": 0,
            "max_tokens": draw.randint(1, 200)}))
        found.append(Request("/v1/chat/completions", {
            "model": "chat", "max_tokens": draw.randint(1, 100),
            "temperature": draw.choice([0, 1]), "seed": draw.randint(0, 99),
            "messages": [{"role": "user", "content": text(4)}]}))
    return found


class Soak(attack.Attack):
    FLAGS = ("--http-listen", "127.0.0.1:0", "--kv-cache-bytes", "256KiB",
             "--log-level", "error", "--model-root",
             os.path.join(GOLDEN, "retrieval"))

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        chat = os.path.join(cls.folder.name, "chat")
        make_chat_folder(chat)
        models = {"embed": os.path.join(GOLDEN, "sentences", "qwen3.embedding"),
                  "rerank": os.path.join(GOLDEN, "sentences", "qwen3.reranker"),
                  "classify": os.path.join(GOLDEN, "retrieval",
                                           "zero_shot.bert"),
                  "chat": chat}
        flags = list(cls.FLAGS)
        for name, path in models.items():
            flags += ["--model", f"{name}={path}"]
        cls.server = attack.start_server(tuple(flags))

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def counts(self):
        """Files and threads of the server."""
        process = f"/proc/{self.server.process.pid}"
        return {"files": len(os.listdir(process + "/fd")),
                "threads": len(os.listdir(process + "/task"))}

    def wait_for_peace(self):
        """Until nothing is held for clients, and no connection is open."""
        give_up = time.monotonic() + 40
        while True:
            held = {name: value for name, value in self.server.metrics().items()
                    if value > 0 and name.startswith(
                        ("trivium_held_bytes", "trivium_connections",
                         "trivium_queue_requests", "trivium_running_requests"))
                    and "_total" not in name}
            # The page itself is not among the connections.
            if not held:
                return
            self.assertLess(time.monotonic(), give_up, held)
            time.sleep(0.1)

    def note(self, kind):
        with self.lock:
            self.ends[kind] += 1

    def wrong(self, request, what):
        with self.lock:
            self.faults.append(f"{request.path} {json.dumps(request.body)[:200]}"
                               f": {what}")

    def answers(self, request):
        """What the request gets alone: over HTTP, and over gRPC, which write
        numbers with other digits."""
        status, answer = request.http(self.server.http_address)
        self.assertEqual(status, 200, (request.path, request.body, answer))
        found = {"http": without(answer, CHANGING)}
        with grpc.insecure_channel(self.server.address) as channel:
            future = request.begin(channel, 60)
            if future is not None:
                found["grpc"] = without(
                    json_format.MessageToDict(future.result()), CHANGING)
        return found

    def check(self, number, answer, way):
        with self.lock:
            self.answered += 1
        alone = self.alone[number][way]
        if without(answer, CHANGING) != alone:
            self.wrong(self.requests[number],
                       f"got {json.dumps(answer)[:300]}, alone "
                       f"{json.dumps(alone)[:300]}")

    def ask(self, draw, channel, number):
        """One request, in one of the ways that clients have."""
        request = self.requests[number]
        way = draw.random()
        if way < 0.05:
            request.go_away(self.server.http_address, draw.random() / 50)
            return self.note("went")
        timeout = 60.0 if way > 0.2 else draw.choice([0.003, 0.02, 0.1])
        future = None
        if draw.random() < 0.6:
            future = request.begin(channel, timeout)
        if future is None:
            status, answer = request.http(self.server.http_address)
            if status == 200:
                return self.check(number, answer, "http")
            if status not in (429, 503, 504):
                self.wrong(request, f"{status} {answer}")
            return self.note(status)
        if way > 0.95:
            time.sleep(draw.random() / 50)
            future.cancel()
        try:
            answer = json_format.MessageToDict(future.result())
            return self.check(number, answer, "grpc")
        except grpc.FutureCancelledError:
            return self.note("cancelled")
        except grpc.RpcError as error:
            code = error.code().name
            if code not in REFUSALS:
                self.wrong(request, f"{code} {error.details()}")
            return self.note(code)

    def client(self, seed):
        draw = random.Random(seed)
        while not self.over.is_set():
            # A connection lives for some calls.
            with grpc.insecure_channel(
                    self.server.address,
                    [("grpc.use_local_subchannel_pool", 1)]) as channel:
                for _ in range(50):
                    if self.over.is_set():
                        break
                    self.ask(draw, channel, draw.randrange(len(self.requests)))

    def orders(self):
        """A model that comes, is asked, and goes."""
        folder = "dense.modernbert"
        with grpc.insecure_channel(self.server.address) as channel:
            def call(path, message):
                return channel.unary_unary(
                    path, type(message).SerializeToString)(message, timeout=60)
            while not self.over.is_set():
                try:
                    call(MODELS + "LoadModel", models_pb2.LoadModelRequest(
                        name="passing", folder=folder))
                    message = inference_pb2.EncodeRequest(model="passing")
                    message.inputs.add().text = SENTENCES[0]
                    call(INFERENCE + "Encode", message)
                    call(MODELS + "UnloadModel",
                         models_pb2.UnloadModelRequest(name="passing"))
                    self.note("loaded and unloaded")
                except grpc.RpcError as error:
                    with self.lock:
                        self.faults.append(f"orders: {error.code().name} "
                                           f"{error.details()}")
                self.over.wait(0.5)

    def run_clients(self):
        """The server's memory, in bytes, four times a second while all clients
        run."""
        threads = [threading.Thread(target=self.client, args=(i,))
                   for i in range(THREADS)]
        threads.append(threading.Thread(target=self.orders))
        for thread in threads:
            thread.start()
        memory = []
        begin = time.monotonic()
        told = begin
        try:
            while (time.monotonic() < begin + attack.seconds()
                   and not self.faults):
                time.sleep(0.25)
                memory.append(self.server.resident_bytes())
                if time.monotonic() >= told + PROGRESS_SECONDS:
                    told = time.monotonic()
                    with self.lock:
                        print(f"{told - begin:.0f} s: {self.answered} answered, "
                              f"{memory[-1] / 1e6:.0f} MB, {self.counts()}",
                              flush=True)
        finally:  # else the clients would outlive the test
            self.over.set()
            for thread in threads:
                thread.join()
        return memory

    def test_everything_at_once(self):
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.ends = collections.Counter()
        self.faults = []
        self.answered = 0
        self.requests = requests(random.Random(1))
        self.alone = [self.answers(request) for request in self.requests]
        self.wait_for_peace()
        before = self.counts()
        memory = self.run_clients()
        self.assertEqual(self.faults[:5], [])
        self.wait_for_peace()
        metrics = self.server.metrics()
        suspended = sum(value for name, value in metrics.items()
                        if name.startswith("trivium_suspensions_total"))
        warm = memory[len(memory) // 2:]
        halves = warm[:len(warm) // 2], warm[len(warm) // 2:]
        first, second = (statistics.median(half) for half in halves)
        print(f"{self.answered} answered as alone, other ends "
              f"{dict(self.ends)}; {suspended:.0f} suspensions; memory "
              f"{first / 1e6:.1f} MB, then {second / 1e6:.1f} MB, peak "
              f"{max(memory) / 1e6:.1f} MB; in the end {self.counts()}",
              flush=True)
        self.assertGreater(self.answered, 0)
        self.assertLess(max(memory), self.MOST_BYTES)
        if attack.seconds() >= 2 * WARM_UP_SECONDS:
            self.assertLess(second - first, MOST_GROWTH_BYTES
                            + MOST_GROWTH_PART * first)
        # Once more alone: what has happened leaves no trace in the answers.
        for request, expected in zip(self.requests, self.alone):
            self.assertEqual(self.answers(request), expected)
        self.wait_for_peace()
        for kind, count in self.counts().items():
            self.assertLessEqual(count, before[kind] + LEEWAY[kind], kind)


if __name__ == "__main__":
    attack.main()
