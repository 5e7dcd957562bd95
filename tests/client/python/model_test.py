"""Tests models in this process: their answers are a server's and the goldens', they let
other Python threads run, and their errors say what is wrong."""

import concurrent.futures
import inspect
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

import trivium
from server_test import Server

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden/llama.lm"
TEXTS = ["I ate an apple.", "Good morning!", "The cat sleeps on the table."]


def small(folder, **options):
    return trivium.Model.load(folder, workers=1, kv_cache_bytes=4 << 20, **options)


class EmbeddedModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program, folder = sys.argv[1:3]  # from run_tests.py
        cls.server = Server(program, folder)
        cls.client = trivium.Client(cls.server.address)
        cls.model = small(folder, name="en-de")

    @classmethod
    def tearDownClass(cls):
        cls.model.close()
        cls.client.close()
        code = cls.server.stop()
        assert code == 0, f"the server ended with {code}"

    def test_it_has_a_servers_answers(self):
        pairs = [("The house is big.", "Das Haus ist gross.")]
        for call, arguments, options in (
                ("translate", [TEXTS], {"decoding": {"beam_size": 2}}),
                ("encode", [TEXTS], {"target_language": "de", "tokens": True}),
                ("score", [pairs], {}),
                ("tokenize", [TEXTS], {}),
                ("detokenize", [[[5, 6, 7]]], {})):
            with self.subTest(call):
                here = getattr(self.model, call)(*arguments, **options)
                there = getattr(self.client, call)(*arguments, **options)
                for answer in (here, there):
                    if hasattr(answer, "timings"):
                        answer.ClearField("timings")
                self.assertEqual(here, there)
        self.assertEqual(self.model.info().name, "en-de")
        here, there = self.model.info(), self.client.model()
        for field in ("limits", "kv_cache_bytes"):  # its own
            here.ClearField(field)
            there.ClearField(field)
        self.assertEqual(here, there)

    def test_its_calls_are_a_clients(self):
        mine = dict(inspect.getmembers(trivium.Model, inspect.isfunction))
        for name, one in inspect.getmembers(trivium.Client, inspect.isfunction):
            if name.startswith("_") or name.endswith(("_stream", "_model")) or \
                    name in ("model", "models", "translate_document"):
                continue
            parameters = list(inspect.signature(one).parameters)
            with self.subTest(name):
                self.assertEqual(list(inspect.signature(mine[name]).parameters),
                                 [p for p in parameters if p != "timeout"])

    def test_embeddings_as_arrays(self):
        try:
            from trivium import arrays
        except ImportError:
            self.skipTest("this Python has no numpy")
        response = self.model.encode(TEXTS, normalize=True)
        vectors = arrays.embeddings(response)
        self.assertEqual((vectors.shape, str(vectors.dtype)), ((3, 256), "float32"))
        self.assertEqual(vectors.tolist(),
                         arrays.embeddings(self.client.encode(TEXTS, normalize=True)).tolist())

    def test_calls_of_many_threads_have_the_answers_of_one(self):
        def translate(number):
            response = self.model.translate([f"I have {number} red apples."])
            return response.results[0].hypotheses[0].text
        alone = [translate(i) for i in range(16)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(translate, range(16))), alone)

    def test_other_threads_run_meanwhile(self):
        # Python then changes threads only when the lock is released.
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e6)
        calling = seen = stop = False

        def look():
            nonlocal seen
            while not stop:
                seen = seen or calling
                time.sleep(0)
        thread = threading.Thread(target=look)
        thread.start()
        try:
            for _ in range(1000):
                calling = True
                self.model.translate(TEXTS)
                calling = False
                if seen:
                    break
        finally:
            stop = True
            thread.join()
            sys.setswitchinterval(before)
        self.assertTrue(seen, "no other thread ran during 1000 calls")

    def test_a_generation(self):
        whole = self.client.generate(TEXTS[0]).text()
        generation = self.model.generate(TEXTS[0])
        self.assertEqual(generation.text(), whole)
        self.assertEqual(generation.done[0].usage, self.client_usage(TEXTS[0]))
        with self.model.generate(TEXTS[0], decoding={"min_new_tokens": 200,
                                                     "max_new_tokens": 200}) as generation:
            self.assertFalse(next(generation).HasField("done"))
            generation.cancel()
            with self.assertRaises(trivium.CancelledError):
                next(generation)
        # A generation that nobody reads or ends.
        self.model.generate(TEXTS[0], decoding={"min_new_tokens": 200,
                                                "max_new_tokens": 200})

    def client_usage(self, text):
        generation = self.client.generate(text)
        generation.text()
        return generation.done[0].usage

    def test_errors(self):
        with self.assertRaises(trivium.InvalidArgumentError) as caught:
            self.model.translate(["a"], decoding={"beam_size": 0})
        self.assertEqual(caught.exception.violations[0].field, "options.decoding.beam_size")
        with self.assertRaises(trivium.NotFoundError):
            self.model.translate(["a"], model="another")
        with self.assertRaises(trivium.FailedPreconditionError):
            self.model.classify(["a"])
        with self.assertRaises(trivium.InvalidArgumentError):
            next(self.model.generate("a", decoding={"beam_size": 0}))
        with self.assertRaisesRegex(trivium.TriviumError, "/no/such"):
            small("/no/such")
        with self.assertRaisesRegex(trivium.InvalidArgumentError, "f33"):
            small(sys.argv[2], precision="f33")
        with self.assertRaises(TypeError):
            self.model.translate("a text alone")

    def test_a_fork_is_told(self):
        child = os.fork()
        if child == 0:
            try:
                self.model.translate(["a"])
            except trivium.FailedPreconditionError as error:
                os._exit(7 if "fork" in str(error) else 1)
            finally:
                os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)


class GoldenModelTest(unittest.TestCase):
    def test_a_golden_folder(self):
        golden = json.loads((GOLDEN / "golden.json").read_text())["runs"][0]
        with small(GOLDEN, precision="f32") as model:
            generation = model.generate(golden["input_ids"], tokens=True, decoding={
                "max_new_tokens": 24, "min_new_tokens": 24})
            ids = [id for event in generation for id in event.piece.ids]
            self.assertEqual(ids, golden["greedy_24"])
            # Calls may be running when the model is closed.
            left = model.generate(golden["input_ids"], tokens=True, decoding={
                "max_new_tokens": 24, "min_new_tokens": 24})
            model.close()
            with self.assertRaisesRegex(trivium.FailedPreconditionError, "closed"):
                model.info()
            self.assertEqual([id for event in left for id in event.piece.ids],
                             golden["greedy_24"])


class ProcessTest(unittest.TestCase):
    def test_a_model_that_nobody_closes_holds_up_no_end(self):
        """The same holds in a forked process."""
        program = (
            "import os, sys, trivium\n"
            "model = trivium.Model.load(sys.argv[1], workers=1, kv_cache_bytes=1 << 20)\n"
            "events = model.generate([234, 148, 31], decoding={'max_new_tokens': 60,\n"
            "                                                 'min_new_tokens': 60})\n"
            "next(events)\n"
            "child = os.fork()\n"
            "if child: print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n")
        done = subprocess.run(
            [sys.executable, "-c", program, str(GOLDEN)], timeout=60, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((done.returncode, done.stdout), (0, "0\n"))


if __name__ == "__main__":
    unittest.main()
