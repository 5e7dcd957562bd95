"""What befalls a server: it is ended under load, killed and started again; it
has no file descriptors, no room on the disk, and folders of models that cannot
be read. What it answers is right or an error, and it goes on.

To end it 1,000 times (6 times a second given, at least 3):

    /usr/bin/python3 tests/attacks/faults.py build/dev/bin/trivium-server \\
        model/embedded build/dev/tests/integration/python 167 \\
        Stops.test_ended_under_load

To end it 1,000 times while it also loads models and translates documents and
streams, give 500 and Stops.test_ended_in_work_of_every_kind.
"""

import mmap
import os
import random
import resource
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import unittest.mock

import attack
import grpc
from trivium.v1 import inference_pb2, models_pb2

INFERENCE = "/trivium.v1.Inference/"
MODELS = "/trivium.v1.Models/"
# What a call may end with while its server is ended or killed.
GONE = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
CLIENTS = 4
PROGRESS = 50


def translate_request():
    request = inference_pb2.TranslateRequest()
    request.inputs.add().text = "I ate an apple."
    return request


def translate(address, timeout=30):
    """The translation of a sentence, on a connection of its own."""
    with grpc.insecure_channel(
            address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        call = channel.unary_unary(
            INFERENCE + "Translate",
            inference_pb2.TranslateRequest.SerializeToString,
            inference_pb2.TranslateResponse.FromString)
        return text_of(call(translate_request(), timeout=timeout))


def text_of(response):
    return response.results[0].hypotheses[0].text


class Load:
    """Clients that translate one sentence until their server has gone."""

    def __init__(self, address):
        self._address = address
        self._over = threading.Event()
        self.answers = set()
        self.count = 0
        self.faults = []

    def __enter__(self):
        self._threads = [threading.Thread(target=self._run)
                         for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _run(self):
        with grpc.insecure_channel(
                self._address,
                [("grpc.use_local_subchannel_pool", 1)]) as channel:
            call = channel.unary_unary(
                INFERENCE + "Translate",
                inference_pb2.TranslateRequest.SerializeToString,
                inference_pb2.TranslateResponse.FromString)
            while not self._over.is_set():
                try:
                    self.answers.add(text_of(call(translate_request(),
                                                  timeout=30)))
                    self.count += 1
                except grpc.RpcError as error:
                    if error.code() in GONE:
                        return
                    self.faults.append(f"{error.code()} {error.details()}")


class WorkOfEveryKind:
    """Clients of a stream, of a document and of a model that is loaded and
    unloaded, until their server has gone."""

    MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                         "golden", "retrieval", "dense.modernbert")
    LINES = "".join(f"There are {i} apples in the garden.\n"
                    for i in range(300))
    # What may come besides GONE: the orders of others, or of before.
    ORDERS = {grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.NOT_FOUND,
              grpc.StatusCode.FAILED_PRECONDITION}

    def __init__(self, address):
        self._address = address
        self.faults = []
        self.texts = set()
        self.counts = {}

    def __enter__(self):
        self._threads = [threading.Thread(target=self._run, args=(work,))
                         for work in (self._stream, self._document, self._load)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        for thread in self._threads:
            thread.join()

    def _run(self, work):
        with grpc.insecure_channel(
                self._address,
                [("grpc.use_local_subchannel_pool", 1)]) as channel:
            while True:
                try:
                    work(channel)
                    self.counts[work.__name__] = self.counts.get(
                        work.__name__, 0) + 1
                except grpc.RpcError as error:
                    if error.code() in GONE:
                        return
                    if work != self._load or error.code() not in self.ORDERS:
                        self.faults.append(f"{work.__name__}: {error.code()} "
                                           f"{error.details()}")
                        return

    def _stream(self, channel):
        def messages():
            yield inference_pb2.TranslateStreamRequest(
                start=inference_pb2.TranslateStreamRequest.Start())
            for i in range(50):
                message = inference_pb2.TranslateStreamRequest()
                message.item.id = str(i)
                message.item.input.text = "I ate an apple."
                yield message

        call = channel.stream_stream(
            INFERENCE + "TranslateStream",
            inference_pb2.TranslateStreamRequest.SerializeToString,
            inference_pb2.TranslateStreamResponse.FromString)
        for answer in call(messages(), timeout=600):
            if answer.HasField("error"):
                self.faults.append(f"an item: {answer.error}")
            else:
                self.texts.add(answer.result.hypotheses[0].text)

    def _document(self, channel):
        def messages():
            message = inference_pb2.TranslateDocumentRequest()
            message.start.format = "text"
            yield message
            yield inference_pb2.TranslateDocumentRequest(
                data=self.LINES.encode())

        call = channel.stream_stream(
            INFERENCE + "TranslateDocument",
            inference_pb2.TranslateDocumentRequest.SerializeToString,
            inference_pb2.TranslateDocumentResponse.FromString)
        data = b""
        for answer in call(messages(), timeout=600):
            data += answer.data
            for note in answer.result.notes:
                self.faults.append(f"a note: {note}")
        if data.count(b"\n") != self.LINES.count("\n"):
            self.faults.append(f"a document of {len(data)} bytes")

    def _load(self, channel):
        def order(name, request):
            channel.unary_unary(
                MODELS + name, type(request).SerializeToString)(
                    request, timeout=600)

        order("LoadModel", models_pb2.LoadModelRequest(folder="dense"))
        order("UnloadModel", models_pb2.UnloadModelRequest(name="dense"))


class Stops(unittest.TestCase):
    def stop_under_load(self, draw, end):
        """Starts a server, and ends it while clients call it. Returns how many
        calls were answered."""
        server = attack.start_server(("--log-level", "error"))
        self.addCleanup(server.process.kill)
        expected = translate(server.address)
        with Load(server.address) as load:
            time.sleep(draw.random() / 10)
            end(server)
        self.assertEqual(load.faults, [])
        self.assertLessEqual(load.answers, {expected})
        return load.count

    def test_ended_under_load(self):
        draw = random.Random(7)
        longest = 0

        def end(server):
            nonlocal longest
            code, seconds = server.stop()
            self.assertEqual(code, 0)
            longest = max(longest, seconds)

        times = max(3, round(6 * attack.seconds()))
        answered = 0
        for i in range(1, times + 1):
            answered += self.stop_under_load(draw, end)
            if i % PROGRESS == 0:
                print(f"{i} of {times}: {answered} answered", flush=True)
        print(f"ended {times} times; {answered} answered; the longest end took "
              f"{longest:.2f} s", flush=True)

    def test_ended_in_work_of_every_kind(self):
        draw = random.Random(9)
        times = max(2, round(2 * attack.seconds()))
        longest = 0
        counts = {}
        with tempfile.TemporaryDirectory() as root:
            shutil.copytree(WorkOfEveryKind.MODEL, os.path.join(root, "dense"))
            for i in range(1, times + 1):
                server = attack.start_server(
                    ("--log-level", "error", "--model-root", root))
                self.addCleanup(server.process.kill)
                expected = translate(server.address)
                with WorkOfEveryKind(server.address) as work:
                    time.sleep(draw.random())
                    code, seconds = server.stop()
                self.assertEqual(code, 0, f"after {seconds:.1f} s")
                self.assertEqual(work.faults, [])
                self.assertLessEqual(work.texts, {expected})
                longest = max(longest, seconds)
                for kind, count in work.counts.items():
                    counts[kind] = counts.get(kind, 0) + count
                if i % PROGRESS == 0:
                    print(f"{i} of {times}: {counts}", flush=True)
        print(f"ended {times} times; {counts}; the longest end took "
              f"{longest:.2f} s", flush=True)

    def test_killed_and_started_again(self):
        draw = random.Random(8)

        def kill(server):
            server.process.send_signal(signal.SIGKILL)
            server.process.wait(30)

        for _ in range(max(2, round(2 * attack.seconds()))):
            self.stop_under_load(draw, kill)


class Resources(attack.Attack):
    FLAGS = ("--log-level", "error")

    def files(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def translates(self):
        """Whether a new client is answered."""
        try:
            return "Apfel" in translate(self.server.address)
        except grpc.RpcError:
            return False

    def test_no_descriptors(self):
        process = self.server.process.pid
        limits = resource.prlimit(process, resource.RLIMIT_NOFILE)
        with self.honest_client() as honest:
            resource.prlimit(process, resource.RLIMIT_NOFILE,
                             (self.files(), limits[1]))
            refused = 0
            until = attack.deadline()
            while time.monotonic() < until:
                try:
                    translate(self.server.address, timeout=0.2)
                except grpc.RpcError:
                    refused += 1
            resource.prlimit(process, resource.RLIMIT_NOFILE, limits)
            self.assertGreater(refused, 0)
            self.wait_for(self.translates)
        # Who was connected felt nothing.
        self.assertEqual(honest.errors, [])


class Clock(unittest.TestCase):
    """The machine's clock is set forth and back while clients call."""
    # Beside the server's program.
    SHIM = "libjumping_clock.so"
    JUMPS = (3600, -3600, 400 * 86400, -400 * 86400, -2, 0)

    def test_jumps(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(8))
            file.flush()
            shim = os.path.join(os.path.dirname(attack.program()), self.SHIM)
            with unittest.mock.patch.dict(os.environ, {
                    "LD_PRELOAD": shim, "JUMPING_CLOCK_FILE": file.name}):
                server = attack.start_server(
                    ("--log-level", "warn", "--http-listen", "127.0.0.1:0"))
                self.addCleanup(server.process.kill)
            with mmap.mmap(file.fileno(), 8) as offset, \
                    attack.HonestClient(server.address) as grpcs, \
                    attack.HonestClient(server.http_address, "http") as https:
                for seconds in self.JUMPS * max(1, round(attack.seconds())):
                    offset[:] = struct.pack("<q", seconds * 10**9)
                    time.sleep(0.3)
        self.assertEqual(server.stop()[0], 0)
        self.assertEqual(grpcs.errors, [])
        self.assertEqual(https.errors, [])
        # It was not waiting for another year.
        self.assertGreater(min(len(grpcs.seconds), len(https.seconds)), 0)


class Disk(unittest.TestCase):
    def test_no_room_for_the_audit_log_and_the_log(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            server = attack.start_server(
                ("--audit-log", "/dev/full", "--log-level", "debug"), full)
            self.addCleanup(server.process.kill)
        for _ in range(20):
            self.assertIn("Apfel", translate(server.address))
        self.assertEqual(server.stop()[0], 0)

    def ports_written_to(self, path):
        """Why the server does not start with this --port-file."""
        run = subprocess.run(
            [attack.program(), "--listen", "127.0.0.1:0", "--http-listen",
             "off", "--metrics-listen", "127.0.0.1:0", "--port-file", path],
            stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn(path, run.stderr)

    def test_no_room_for_the_ports(self):
        with tempfile.TemporaryDirectory() as folder:
            # Where the server writes them before it renames the file.
            os.symlink("/dev/full", os.path.join(folder, "ports.part"))
            self.ports_written_to(os.path.join(folder, "ports"))

    def test_no_room_for_packed_weights(self):
        """A model whose packed weights cannot be kept is served, and nothing of
        them is left."""
        with tempfile.TemporaryDirectory() as folder:
            cache = os.path.join(folder, "cache")
            root = os.path.join(folder, "models")
            shutil.copytree(WorkOfEveryKind.MODEL, os.path.join(root, "dense"))
            server = attack.start_server(
                ("--weights-cache", cache, "--model-root", root,
                 "--log-level", "error"))
            self.addCleanup(server.process.kill)
            # The embedded model's, in time.
            self.assertEqual(len(os.listdir(cache)), 1)
            # The limit of a file's size stands for a full disk.
            limits = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE,
                             (4096, limits[1]))
            with grpc.insecure_channel(server.address) as channel:
                load = channel.unary_unary(
                    MODELS + "LoadModel",
                    models_pb2.LoadModelRequest.SerializeToString)
                encode = channel.unary_unary(
                    INFERENCE + "Encode",
                    inference_pb2.EncodeRequest.SerializeToString,
                    inference_pb2.EncodeResponse.FromString)
                load(models_pb2.LoadModelRequest(folder="dense"), timeout=60)
                request = inference_pb2.EncodeRequest(model="dense")
                request.inputs.add().text = "a"
                answer = encode(request, timeout=60)
                self.assertTrue(answer.results[0].embedding)
            self.assertEqual(len(os.listdir(cache)), 1)
            self.assertEqual(server.stop()[0], 0)

    def test_a_pipe_is_not_replaced_by_ports(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "ports")
            os.mkfifo(pipe)
            self.ports_written_to(pipe)
            self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    def spoil(self, folder, name, how):
        """Makes a file of a model's folder unreadable in one of many ways."""
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            content = file.read()
        os.remove(path)
        if how == "missing":
            return
        if how == "folder":
            os.mkdir(path)
        elif how == "pipe":
            os.mkfifo(path)
        elif how == "short":
            with open(path, "wb") as file:
                file.write(content[:len(content) // 2])
        elif how == "empty":
            with open(path, "wb"):
                pass
        else:
            os.symlink(how, path)

    def test_folders_that_cannot_be_read(self):
        """Reads of /proc/self/mem give EIO."""
        good = os.path.join(
            os.path.dirname(os.path.abspath(__file__)), "..", "golden",
            "retrieval", "dense.modernbert")
        ways = ("missing", "folder", "pipe", "short", "empty", "/proc/self/mem",
                "/dev/zero", "/dev/full", "/nowhere")
        with tempfile.TemporaryDirectory() as root:
            server = attack.start_server(
                ("--model-root", root, "--log-level", "error"))
            self.addCleanup(server.process.kill)
            with grpc.insecure_channel(server.address) as channel:
                load = channel.unary_unary(
                    MODELS + "LoadModel",
                    models_pb2.LoadModelRequest.SerializeToString)
                tried = 0
                for name in ("config.json", "model.safetensors",
                             "tokenizer.json", "modules.json"):
                    for how in ways:
                        folder = f"model{tried}"
                        tried += 1
                        shutil.copytree(good, os.path.join(root, folder))
                        self.spoil(os.path.join(root, folder), name, how)
                        request = models_pb2.LoadModelRequest(folder=folder)
                        try:
                            load(request, timeout=30)
                            # It reads token ids, or is a plain encoder.
                            self.assertIn((name, how),
                                          {("tokenizer.json", "missing"),
                                           ("tokenizer.json", "/nowhere"),
                                           ("modules.json", "missing"),
                                           ("modules.json", "/nowhere")})
                        except grpc.RpcError as error:
                            self.assertIn(
                                error.code(),
                                {grpc.StatusCode.FAILED_PRECONDITION,
                                 grpc.StatusCode.INVALID_ARGUMENT,
                                 grpc.StatusCode.NOT_FOUND,
                                 grpc.StatusCode.UNAVAILABLE},
                                (name, how, error.details()))
                            self.assertTrue(error.details(), (name, how))
            self.assertIn("Apfel", translate(server.address))
            self.assertEqual(server.stop()[0], 0)


if __name__ == "__main__":
    attack.main()
