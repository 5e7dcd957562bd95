"""Tests models by name against a hub of our own (fake_hub.py).

hub_test.py PROGRAMS PACKAGES: the folder of trivium and trivium-server, and one
that keeps the packages from pip for HuggingfaceHubTest, which is skipped if
they were not fetched before and cannot be fetched.
"""

import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from fake_hub import FakeHub, TunnelProxy, blob_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from started_server import ports_of  # noqa: E402

PROGRAMS, PACKAGES = (pathlib.Path(path).absolute() for path in sys.argv[1:3])
GOLDEN = ROOT / "tests/golden/bert.base"
WEIGHTS = "model.safetensors"
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def tiny_model():
    """The files of a small encoder, with a vocabulary of its size."""
    files = {name: (GOLDEN / name).read_bytes() for name in ("config.json", WEIGHTS)}
    size = json.loads(files["config.json"])["vocab_size"]
    words = VOCABULARY + [f"word{i}" for i in range(size - len(VOCABULARY))]
    files["vocab.txt"] = "\n".join(words).encode()
    files["tokenizer_config.json"] = b'{"tokenizer_class": "BertTokenizer"}'
    # Not needed.
    files["onnx/model.onnx"] = b"onnx"
    files["pytorch_model.bin"] = b"bin"
    files[".gitattributes"] = b"*.bin"
    return files


NEEDED = {"config.json", WEIGHTS, "tokenizer_config.json", "vocab.txt"}


def big_model():
    """The same with a tensor more, so that it takes many pieces to send."""
    files = tiny_model()
    weights = files[WEIGHTS]
    size = int.from_bytes(weights[:8], "little")
    header, data = json.loads(weights[8:8 + size]), weights[8 + size:]
    more = bytes(i * i % 251 for i in range(1 << 20))
    header["more"] = {"dtype": "U8", "shape": [len(more)],
                      "data_offsets": [len(data), len(data) + len(more)]}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    files[WEIGHTS] = len(head).to_bytes(8, "little") + head + data + more
    return files


def tree(folder):
    """What is below a folder: the targets of links and the bytes of files."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = "-> " + os.readlink(path)
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def size_of(path):
    """The size of a file; 0 if it has got its name meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


class HubTestCase(unittest.TestCase):
    def setUp(self):
        self.hub = FakeHub()
        self.addCleanup(lambda: self.hub.stop())
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.cache = self.scratch / "hub"

    def environment(self, **more):
        variables = {name: value for name, value in os.environ.items()
                     if not name.upper().startswith(("HF_", "TRIVIUM_"))
                     and not name.upper().endswith("_PROXY")}
        variables |= {"HF_HOME": str(self.scratch), "HF_ENDPOINT": self.hub.url}
        return variables | more

    def start_pull(self, name="hf:test/tiny", **variables):
        return subprocess.Popen(
            [PROGRAMS / "trivium", "pull", name], text=True,
            env=self.environment(**variables), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def pull(self, name="hf:test/tiny", **variables):
        """Returns the printed path and standard error."""
        process = self.start_pull(name, **variables)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        return pathlib.Path(out.removesuffix("\n")), err

    def pull_fails(self, name="hf:test/tiny", **variables):
        """Returns the last line of standard error, and the exit status."""
        process = self.start_pull(name, **variables)
        out, err = process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(out, "")
        return err.splitlines()[-1], process.returncode

    def wait_until(self, condition, process):
        """Waits until the condition holds, while the process lives."""
        give_up = time.monotonic() + 60
        while not condition():
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.01)

    def start_held_pull(self, at):
        """A pull of a large file, of which it has `at` bytes and gets no more."""
        self.hub.hold_at = at
        process = self.start_pull()
        self.addCleanup(process.kill)
        self.wait_until(
            lambda: any(size_of(file) >= at for file in self.incomplete()), process)
        return process

    def repository(self, name="test/tiny"):
        return self.cache / ("models--" + name.replace("/", "--"))

    def incomplete(self):
        return list(self.repository().glob("blobs/*.incomplete"))


class PullTest(HubTestCase):
    def test_fetches_what_is_needed_into_the_known_layout(self):
        files = tiny_model()
        commit = self.hub.add("test/tiny", files).commit
        path, _ = self.pull()
        self.assertEqual(path, self.repository() / "snapshots" / commit)
        expected = {f"snapshots/{commit}/{name}": "-> ../../blobs/" +
                    blob_of(name, files[name]) for name in NEEDED}
        expected |= {"blobs/" + blob_of(name, files[name]): files[name]
                     for name in NEEDED}
        expected["refs/main"] = commit.encode()
        self.assertEqual(tree(self.repository()), expected)

    def test_fetches_nothing_twice(self):
        self.hub.add("test/tiny", tiny_model())
        first, _ = self.pull()
        requests = len(self.hub.requests)
        second, _ = self.pull()
        self.assertEqual(second, first)
        # Only the list of files.
        self.assertEqual(len(self.hub.requests), requests + 1)

    def test_a_new_commit_shares_what_did_not_change(self):
        self.hub.add("test/tiny", tiny_model())
        old, _ = self.pull()
        files = tiny_model() | {"README.md": b"new"}
        self.hub.add("test/tiny", files)
        new, _ = self.pull()
        self.assertNotEqual(new, old)
        self.assertEqual((new / "README.md").read_bytes(), b"new")
        self.assertEqual(len(self.hub.fetched(WEIGHTS)), 1)

    def test_a_revision(self):
        commit = self.hub.add("test/tiny", tiny_model(), revision="refs/pr/1").commit
        path, _ = self.pull("hf:test/tiny@refs/pr/1")
        self.assertEqual((self.repository() / "refs/refs/pr/1").read_text(), commit)
        self.assertEqual(self.pull(f"hf:test/tiny@{commit}")[0], path)
        error, _ = self.pull_fails("hf:test/tiny@v2")
        self.assertIn("'v2'", error)

    def test_shards(self):
        files = tiny_model()
        del files[WEIGHTS]
        files["model-00001-of-00002.safetensors"] = b"1"
        files["model-00002-of-00002.safetensors"] = b"2"
        files["model-00003-of-00003.safetensors"] = b"of another model"
        files["model.safetensors.index.json"] = json.dumps({"weight_map": {
            "a": "model-00001-of-00002.safetensors",
            "b": "model-00002-of-00002.safetensors"}}).encode()
        self.hub.add("test/tiny", files)
        path, _ = self.pull()
        self.assertEqual({file.name for file in path.glob("model*")},
                         {"model-00001-of-00002.safetensors",
                          "model-00002-of-00002.safetensors",
                          "model.safetensors.index.json"})
        # Without the hub they are known, too.
        self.hub.stop()
        self.assertEqual(self.pull(HF_HUB_OFFLINE="1")[0], path)
        (path / "model-00002-of-00002.safetensors").unlink()
        self.assertIn("model.safetensors.index.json",
                      self.pull_fails(HF_HUB_OFFLINE="1")[0])

    def test_one_gguf_file(self):
        self.hub.add("test/gguf", {"m-Q4_K_M.gguf": b"4", "m-Q8_0.gguf": b"8"},
                     gguf={"architecture": "llama"})
        path, _ = self.pull("hf:test/gguf:q8_0")
        self.assertEqual(path.name, "m-Q8_0.gguf")
        self.assertEqual(path.read_bytes(), b"8")
        self.assertEqual(self.pull("hf:test/gguf")[0].name, "m-Q4_K_M.gguf")
        error, _ = self.pull_fails("hf:test/gguf:Q2_K")
        self.assertIn("m-Q4_K_M.gguf, m-Q8_0.gguf", error)
        self.assertEqual(
            self.pull("hf:test/gguf:Q8_0", HF_HUB_OFFLINE="1")[0], path)

    def test_refuses_a_model_before_its_weights(self):
        files = tiny_model()
        config = json.loads(files["config.json"])
        files["config.json"] = json.dumps(config | {"model_type": "mamba9"}).encode()
        self.hub.add("test/tiny", files)
        error, _ = self.pull_fails()
        self.assertIn("mamba9", error)
        self.assertEqual(self.hub.fetched(WEIGHTS), [])
        self.hub.add("test/gguf", {"m.gguf": b"4"}, gguf={"architecture": "mamba9"})
        error, _ = self.pull_fails("hf:test/gguf")
        self.assertIn("mamba9", error)
        self.assertEqual(self.hub.fetched("m.gguf"), [])

    def test_names_that_are_none(self):
        for name in ("test/tiny", "hf:", "hf:../tiny", "hf:test/tiny@../x"):
            self.pull_fails(name)
        self.assertEqual(self.hub.requests, [])


class NetworkTest(HubTestCase):
    def test_the_token_stays_with_the_hub(self):
        self.hub.add("test/tiny", tiny_model())
        self.pull(HF_TOKEN="hf_secret")
        for place, path, headers in self.hub.requests:
            self.assertEqual(headers.get("Authorization"),
                             "Bearer hf_secret" if place == "hub" else None, path)
        # The signature of a redirect comes as it was written.
        self.assertTrue(any(path.endswith("?signature=a%2Fb%2B%3D")
                            for place, path, _ in self.hub.requests
                            if place == "store"))

    def test_the_token_of_a_login(self):
        self.hub.add("test/tiny", tiny_model())
        (self.scratch / "token").write_text("hf_file\n")
        self.pull()
        self.assertEqual(self.hub.requests[0][2]["Authorization"], "Bearer hf_file")

    def test_a_killed_pull_goes_on(self):
        files = big_model()
        self.hub.add("test/tiny", files)
        process = self.start_held_pull(100_000)
        process.kill()
        process.communicate()
        [left] = self.incomplete()
        have = left.stat().st_size
        self.hub.hold_at = None
        path, err = self.pull()
        self.assertIn("going on after", err)
        self.assertEqual(self.hub.fetched(WEIGHTS)[-1]["Range"], f"bytes={have}-")
        self.assertEqual((path / WEIGHTS).read_bytes(), files[WEIGHTS])
        self.assertEqual(self.incomplete(), [])

    def test_a_hub_without_ranges_begins_again(self):
        files = big_model()
        self.hub.add("test/tiny", files)
        self.hub.ranges = False
        self.hub.cut_after[WEIGHTS] = [300_000]
        path, _ = self.pull()
        self.assertEqual((path / WEIGHTS).read_bytes(), files[WEIGHTS])

    def test_a_hub_of_wrong_parts_is_asked_for_the_whole(self):
        files = big_model()
        self.hub.add("test/tiny", files)
        for ranges in ("unnamed", "first", "none"):
            with self.subTest(ranges=ranges):
                self.hub.ranges = ranges
                self.hub.cut_after[WEIGHTS] = [300_000]
                cache = str(self.scratch / ranges)
                path, _ = self.pull(HF_HUB_CACHE=cache)
                self.assertEqual((path / WEIGHTS).read_bytes(), files[WEIGHTS])

    def test_a_file_of_another_size_is_told_at_once(self):
        files = big_model()
        self.hub.add("test/tiny", files)
        for size in (300_000, 0, 2 * len(files[WEIGHTS])):
            with self.subTest(size=size):
                self.hub.tampered[WEIGHTS] = (files[WEIGHTS] * 2)[:size]
                asked = len(self.hub.fetched(WEIGHTS))
                error, _ = self.pull_fails()
                self.assertIn(f"{WEIGHTS} has {size} bytes", error)
                self.assertEqual(len(self.hub.fetched(WEIGHTS)), asked + 1)
        del self.hub.tampered[WEIGHTS]
        path, _ = self.pull()
        self.assertEqual((path / WEIGHTS).read_bytes(), files[WEIGHTS])

    def test_compressed_answers_are_named(self):
        self.hub.add("test/tiny", tiny_model())
        self.hub.coding = "gzip"
        error, _ = self.pull_fails()
        self.assertIn("compressed", error)
        self.assertIn(self.hub.url, error)

    def test_redirects_may_be_relative(self):
        files = tiny_model()
        self.hub.add("test/tiny", files)
        for i, location in enumerate(("/{path}?e=%22x%22", "../../../../{path}",
                                      "./../../../../x/../{path}")):
            with self.subTest(location=location):
                self.hub.location = location
                path, _ = self.pull(HF_HUB_CACHE=str(self.scratch / str(i)))
                self.assertEqual((path / "vocab.txt").read_bytes(), files["vocab.txt"])

    def test_a_redirect_without_end(self):
        self.hub.add("test/tiny", tiny_model())
        self.hub.location = "?again"
        self.assertIn("without end", self.pull_fails()[0])

    def test_a_broken_connection_is_tried_again(self):
        files = big_model()
        self.hub.add("test/tiny", files)
        self.hub.cut_after[WEIGHTS] = [300_000, 200_000]
        path, _ = self.pull()
        self.assertEqual((path / WEIGHTS).read_bytes(), files[WEIGHTS])
        self.assertEqual([headers.get("Range")
                          for headers in self.hub.fetched(WEIGHTS)],
                         [None, "bytes=300000-", "bytes=500000-"])

    def test_changed_bytes_are_not_kept(self):
        files = big_model()
        self.hub.add("test/tiny", files)
        changed = bytearray(files[WEIGHTS])
        changed[777_777] ^= 1
        self.hub.tampered[WEIGHTS] = bytes(changed)
        error, _ = self.pull_fails()
        self.assertIn(WEIGHTS, error)
        self.assertIn(blob_of(WEIGHTS, files[WEIGHTS]), error)
        self.assertFalse(
            (self.repository() / "blobs" / blob_of(WEIGHTS, files[WEIGHTS])).exists())
        self.assertFalse((self.repository() / "refs").exists())
        del self.hub.tampered[WEIGHTS]
        path, _ = self.pull()
        self.assertEqual((path / WEIGHTS).read_bytes(), files[WEIGHTS])

    def test_a_small_file_is_checked_too(self):
        self.hub.add("test/tiny", tiny_model())
        self.hub.tampered["vocab.txt"] = b"x" * len(tiny_model()["vocab.txt"])
        self.assertIn("vocab.txt", self.pull_fails()[0])

    def test_what_an_earlier_run_left_is_not_trusted(self):
        files = big_model()
        self.hub.add("test/tiny", files)
        blobs = self.repository() / "blobs"
        blobs.mkdir(parents=True)
        left = blobs / (blob_of(WEIGHTS, files[WEIGHTS]) + ".incomplete")
        for rest in (b"x" * 5000, b"x" * (2 << 20)):
            left.write_bytes(rest)
            path, _ = self.pull()
            self.assertEqual((path / WEIGHTS).read_bytes(), files[WEIGHTS])
            os.unlink(blobs / blob_of(WEIGHTS, files[WEIGHTS]))

    def test_no_more_bytes_than_listed(self):
        files = big_model()
        self.hub.add("test/tiny", files)
        self.hub.tampered[WEIGHTS] = files[WEIGHTS] * 4
        self.hub.lengths = False
        self.assertIn(WEIGHTS, self.pull_fails()[0])
        self.assertLess(sum(file.stat().st_size for file in self.incomplete()),
                        len(files[WEIGHTS]) + 1)

    def test_a_busy_hub_is_asked_again(self):
        self.hub.add("test/tiny", tiny_model())
        self.hub.failures = [(429, {"Retry-After": "0"}), (503, {"Retry-After": "1"})]
        begin = time.monotonic()
        _, err = self.pull()
        self.assertGreaterEqual(time.monotonic() - begin, 1)
        self.assertIn("trying again in 1s", err)

    def test_a_hub_that_stays_busy_is_given_up(self):
        self.hub.add("test/tiny", tiny_model())
        self.hub.failures = [(503, {"Retry-After": "0"})] * 100
        self.assertEqual(self.pull_fails()[1], 3)
        self.assertEqual(len(self.hub.requests), 5)
        self.hub.failures = [(429, {"Retry-After": "3600"})]
        self.assertIn("1h", self.pull_fails()[0])

    def test_a_gated_model(self):
        self.hub.add("test/tiny", tiny_model()).gated = True
        error, _ = self.pull_fails()
        self.assertIn("gated", error)
        self.assertIn("HF_TOKEN", error)
        self.assertIn(self.hub.url + "/test/tiny", error)

    def test_a_missing_model(self):
        error, _ = self.pull_fails("hf:test/none")
        self.assertIn("test/none", error)
        self.assertNotIn("gated", error)

    def test_paths_of_a_listing_lead_nowhere_else(self):
        for path in ("../../evil.json", "/tmp/evil.json", "a/../../../evil.json"):
            self.hub.add("test/tiny", tiny_model() | {path: b"evil"})
            self.pull_fails()
            self.assertEqual(list(self.scratch.rglob("*evil*")), [])

    def test_without_a_network_the_cache_is_enough(self):
        self.hub.add("test/tiny", tiny_model())
        error, _ = self.pull_fails(HF_HUB_OFFLINE="1")
        self.assertIn("HF_HUB_OFFLINE", error)
        path, _ = self.pull()
        requests = len(self.hub.requests)
        self.assertEqual(self.pull(HF_HUB_OFFLINE="1")[0], path)
        self.assertEqual(len(self.hub.requests), requests)
        self.hub.stop()
        offline, err = self.pull()
        self.assertEqual(offline, path)
        self.assertIn("cannot be reached", err)

    def test_a_complete_cache_may_be_read_only(self):
        self.hub.add("test/tiny", tiny_model())
        path, _ = self.pull()
        shutil.rmtree(self.cache / ".locks")
        # The administrator may write everywhere.
        user = ["setpriv", "--reuid=65534", "--clear-groups"] if os.getuid() == 0 else []
        for folder, _, _ in os.walk(self.scratch):
            os.chmod(folder, 0o555)
        self.addCleanup(lambda: [os.chmod(folder, 0o755)
                                 for folder, _, _ in os.walk(self.scratch)])
        def pull(name):
            return subprocess.run(
                user + [PROGRAMS / "trivium", "pull", name], text=True, check=False,
                env=self.environment(), timeout=60, capture_output=True)
        result = pull("hf:test/tiny")
        self.assertEqual(result.stdout, f"{path}\n", result.stderr)
        self.hub.add("test/other", tiny_model())
        error = pull("hf:test/other").stderr
        self.assertIn("HF_HUB_CACHE", error)
        self.assertIn("models--test--other", error)

    def test_a_part_of_a_model_is_not_enough(self):
        self.hub.add("test/tiny", tiny_model())
        path, _ = self.pull()
        os.unlink(path / WEIGHTS)
        error, _ = self.pull_fails(HF_HUB_OFFLINE="1")
        self.assertIn(str(path), error)
        self.assertIn("a part of the model", error)

    def test_a_killed_process_leaves_its_place_to_another(self):
        files = big_model()
        self.hub.add("test/tiny", files)
        killed = self.start_held_pull(200_000)
        other = self.start_pull()
        self.assertIn("waiting for it", other.stderr.readline())
        killed.kill()
        killed.communicate()
        self.hub.hold_at = None
        out, err = other.communicate(timeout=60)
        self.assertEqual(other.returncode, 0, err)
        self.assertEqual((pathlib.Path(out.strip()) / WEIGHTS).read_bytes(),
                         files[WEIGHTS])
        self.assertEqual(len(self.hub.fetched(WEIGHTS)), 2)

    def test_two_processes_fetch_once(self):
        files = big_model()
        self.hub.add("test/tiny", files)
        self.hub.seconds_a_piece = 0.01
        processes = [self.start_pull() for _ in range(3)]
        outputs = [process.communicate(timeout=120) for process in processes]
        self.assertEqual([process.returncode for process in processes], [0] * 3,
                         outputs)
        self.assertEqual(len({out for out, _ in outputs}), 1)
        self.assertEqual(len(self.hub.fetched(WEIGHTS)), 1)
        path = pathlib.Path(outputs[0][0].strip())
        self.assertEqual((path / WEIGHTS).read_bytes(), files[WEIGHTS])

    def test_a_proxy(self):
        self.hub.add("test/tiny", tiny_model())
        proxied = {"http_proxy": self.hub.url, "HF_ENDPOINT": "http://hub.invalid"}
        # The store is reached directly.
        self.pull(no_proxy="127.0.0.1", **proxied)
        self.assertEqual({place for place, _, _ in self.hub.requests},
                         {"proxy", "store"})
        error, _ = self.pull_fails("hf:test/other", http_proxy="socks5://a:1",
                                   HF_ENDPOINT="http://hub.invalid")
        self.assertIn("proxy", error)


class TlsTest(HubTestCase):
    """A hub that speaks https, with a certificate of its own."""

    def setUp(self):
        super().setUp()
        self.hub.stop()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.certificate = [os.path.join(folder.name, name)
                            for name in ("certificate.pem", "key.pem")]
        try:
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                 "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                 "-out", self.certificate[0], "-keyout", self.certificate[1]],
                check=True, stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            self.skipTest("skipped: TLS of a hub, which needs openssl")

    def start(self, **options):
        self.hub = FakeHub(self.certificate, **options)
        self.hub.add("test/tiny", tiny_model())

    def environment(self, **more):
        return super().environment(**{"SSL_CERT_FILE": self.certificate[0]} | more)

    def test_fetches(self):
        self.start()
        path, _ = self.pull()
        self.assertEqual((path / WEIGHTS).read_bytes(), tiny_model()[WEIGHTS])

    def test_a_stranger_is_not_trusted(self):
        self.start()
        error, _ = self.pull_fails(SSL_CERT_FILE="/dev/null")
        self.assertIn("certificate", error)
        self.assertEqual(self.hub.requests, [])

    def test_by_way_of_a_proxy(self):
        self.start()
        with TunnelProxy() as proxy:
            path, _ = self.pull(HTTPS_PROXY=proxy.url)
            self.assertEqual({method for method, _ in proxy.targets}, {"CONNECT"})
            self.assertEqual({f"https://{target}" for _, target in proxy.targets},
                             {self.hub.url, self.hub.store_url})
            proxy.shutdown()
        self.assertEqual((path / WEIGHTS).read_bytes(), tiny_model()[WEIGHTS])

    def test_does_not_follow_to_plain_http(self):
        self.start(safe_store=False)
        error, _ = self.pull_fails()
        self.assertIn("http://", error)
        self.assertEqual(self.hub.fetched(WEIGHTS), [])


class ServerTest(HubTestCase):
    def start(self, *flags, limit=None, **variables):
        def before():
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.Popen(
            [PROGRAMS / "trivium-server", "--listen=127.0.0.1:0", "--http-listen=",
             "--metrics-listen=", "--workers=1", "--worker-threads=1", *flags],
            text=True, env=self.environment(**variables), preexec_fn=before,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_serves_a_model_by_its_name(self):
        commit = self.hub.add("test/tiny", tiny_model()).commit
        ports = self.scratch / "ports"
        server = self.start("--model", "hf:test/tiny", "--model",
                            f"mine=hf:test/tiny@{commit},precision=f32",
                            "--port-file", ports)
        try:
            port = ports_of(server, ports)["grpc"]
            for model in ("tiny", "mine"):
                answer = subprocess.run(
                    [PROGRAMS / "trivium", "encode", "--address",
                     f"127.0.0.1:{port}", "--model", model, "word1 word2"],
                    check=True, capture_output=True, text=True,
                    env=self.environment())
                self.assertGreater(len(answer.stdout.split()), 1)
        finally:
            server.send_signal(signal.SIGTERM)
            _, err = server.communicate(timeout=60)
        self.assertEqual(server.returncode, 0)
        self.assertIn(f'"message":"fetching","file":"{WEIGHTS}"', err)
        self.assertIn("model fetched", err)

    def order(self, port, *flags):
        return subprocess.run(
            [PROGRAMS / "trivium", flags[0], "--address", f"127.0.0.1:{port}", *flags[1:]],
            capture_output=True, text=True, env=self.environment(), timeout=120)

    def test_a_port_in_use_is_told_before_a_model_is_fetched(self):
        self.hub.add("test/tiny", tiny_model())
        with socket.create_server(("127.0.0.1", 0)) as other:
            address = f"127.0.0.1:{other.getsockname()[1]}"
            for flag in ("--listen", "--http-listen", "--metrics-listen"):
                ports = {"--listen": "127.0.0.1:0", "--http-listen": "off",
                         "--metrics-listen": "off", flag: address}
                result = subprocess.run(
                    [PROGRAMS / "trivium-server", "--model", "hf:test/tiny",
                     *(f"{name}={port}" for name, port in ports.items())],
                    text=True, env=self.environment(), timeout=60, check=False,
                    capture_output=True)
                self.assertEqual(result.returncode, 1)
                self.assertIn(f"cannot listen on {address}", result.stderr)
                self.assertIn(f"with {flag}", result.stderr)
        self.assertEqual(self.hub.requests, [])

    def test_clients_load_models_of_owners_that_are_allowed(self):
        self.hub.add("test/tiny", tiny_model())
        self.hub.add("other/tiny", tiny_model())
        self.hub.add("test/big", big_model())
        ports = self.scratch / "ports"
        server = self.start("--allow-pull", "someone,Test", "--allow-pull-bytes=500KiB",
                            "--port-file", ports)
        try:
            port = ports_of(server, ports)["grpc"]
            loaded = self.order(port, "models", "--load", "hf:test/tiny")
            self.assertEqual(loaded.returncode, 0, loaded.stderr)
            answer = self.order(port, "encode", "--model", "tiny", "word1")
            self.assertGreater(len(answer.stdout.split()), 1)
            self.assertEqual(self.order(port, "models", "--reload", "tiny").returncode, 0)
            # An owner that is not allowed, and a model that is too large.
            fetched = len(self.hub.fetched(WEIGHTS))
            stranger = self.order(port, "models", "--load", "hf:other/tiny")
            self.assertEqual(stranger.returncode, 1)
            self.assertIn("--allow-pull", stranger.stderr)
            large = self.order(port, "models", "--load", "hf:test/big", "--name", "big")
            self.assertEqual(large.returncode, 1)
            self.assertIn("more than 512000 bytes", large.stderr)
            missing = self.order(port, "models", "--load", "hf:test/none")
            self.assertEqual(missing.returncode, 1)
            self.assertIn("hf:test/none", missing.stderr)
            self.assertEqual(len(self.hub.fetched(WEIGHTS)), fetched)
            # A path names no folder where there is no --model-root.
            path = self.order(port, "models", "--load", str(self.scratch))
            self.assertIn("--model-root", path.stderr)
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)
        self.assertEqual(server.returncode, 0)

    def test_check_looks_before_the_weights_come(self):
        self.hub.add("test/tiny", tiny_model())
        server = self.start("--check", "hf:test/tiny")
        out, err = server.communicate(timeout=60)
        self.assertEqual(server.returncode, 0, err)
        self.assertIn("config.json is ok", out)
        self.assertEqual(self.hub.fetched(WEIGHTS), [])
        # What --check fetched is no complete model.
        self.assertFalse((self.repository() / "refs").exists())

    def test_names_what_it_cannot_serve(self):
        for name in ("hf:test/none", "hf:test/tiny"):
            self.hub.add("test/tiny", {"config.json": b"{}", WEIGHTS: b"x"})
            server = self.start("--model", name)
            _, err = server.communicate(timeout=60)
            self.assertEqual(server.returncode, 1)
            self.assertIn(name, err)
        server = self.start("--model", "hf:test/tiny@../x")
        self.assertEqual(server.wait(timeout=60), 2)
        server.communicate()

    def test_a_full_disk(self):
        # The limit of a file's size stands for it.
        files = big_model()
        self.hub.add("test/tiny", files)
        server = self.start("--model", "hf:test/tiny", limit=400_000)
        _, err = server.communicate(timeout=60)
        self.assertEqual(server.returncode, 1)
        self.assertIn("HF_HUB_CACHE", err)
        self.assertIn(".incomplete", err)
        path, _ = self.pull()
        self.assertEqual((path / WEIGHTS).read_bytes(), files[WEIGHTS])

    def test_an_interrupt_ends_a_pull(self):
        self.hub.add("test/tiny", big_model())
        self.hub.seconds_a_piece = 1
        server = self.start("--model", "hf:test/tiny")
        self.wait_until(lambda: self.hub.fetched(WEIGHTS), server)
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=30)
        self.assertEqual(server.returncode, 130)
        self.assertIn("interrupted", err)


def have_packages():
    done = PACKAGES / "done"
    if done.exists():
        return True
    installed = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--retries", "1", "--timeout",
         "20", "--target", PACKAGES, "--upgrade", "huggingface_hub"],
        check=False, capture_output=True, text=True)
    if installed.returncode != 0:
        print("HuggingfaceHubTest is skipped, as pip could not install "
              "huggingface_hub:", (installed.stderr.strip().splitlines() or [""])[-1])
        return False
    done.touch()
    return True


class HuggingfaceHubTest(HubTestCase):
    """Compares with the library whose cache this is."""

    @classmethod
    def setUpClass(cls):
        if not have_packages():
            raise unittest.SkipTest("huggingface_hub cannot be installed")

    def snapshot(self, cache, **variables):
        files = ", ".join(repr(name) for name in sorted(NEEDED))
        program = ("from huggingface_hub import snapshot_download\n"
                   f"print(snapshot_download('test/tiny', allow_patterns=[{files}],"
                   f" cache_dir={str(cache)!r}))")
        result = subprocess.run(
            [sys.executable, "-c", program], text=True, capture_output=True,
            timeout=120,
            env=self.environment(PYTHONPATH=str(PACKAGES), HF_HUB_DISABLE_XET="1",
                                 HF_HUB_DISABLE_PROGRESS_BARS="1", **variables))
        self.assertEqual(result.returncode, 0, result.stderr)
        return pathlib.Path(result.stdout.strip())

    @staticmethod
    def entries(cache):
        # Lock files are empty and may be removed. Newer versions also keep lists
        # of files, in trees/.
        return {name: entry for name, entry in tree(cache).items()
                if name.startswith(("models--test--tiny/blobs/",
                                    "models--test--tiny/refs/",
                                    "models--test--tiny/snapshots/"))}

    def test_both_make_the_same_cache(self):
        self.hub.add("test/tiny", tiny_model())
        theirs = self.scratch / "theirs"
        self.snapshot(theirs)
        self.pull()
        self.assertEqual(self.entries(self.cache), self.entries(theirs))

    def test_each_finds_what_the_other_fetched(self):
        self.hub.add("test/tiny", tiny_model())
        theirs = self.scratch / "theirs"
        fetched = self.snapshot(theirs)
        requests = len(self.hub.requests)
        self.assertEqual(self.pull(HF_HUB_CACHE=str(theirs), HF_HUB_OFFLINE="1")[0],
                         fetched)
        # With a network, only the list of files is asked for.
        self.assertEqual(self.pull(HF_HUB_CACHE=str(theirs))[0], fetched)
        self.assertEqual(len(self.hub.requests), requests + 1)
        path, _ = self.pull()
        requests = len(self.hub.requests)
        self.assertEqual(self.snapshot(self.cache, HF_HUB_OFFLINE="1"), path)
        self.assertEqual(len(self.hub.requests), requests)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
