"""Tests the Python client's calls, errors, retries and streams with a fake server."""

import asyncio
import inspect
import threading
import unittest

import fake_server
import grpc
import trivium
from trivium import translate_command
from trivium import DocumentError
from trivium.v1 import common_pb2, inference_pb2

FULL = grpc.StatusCode.RESOURCE_EXHAUSTED
GONE = grpc.StatusCode.UNAVAILABLE
QUICK = trivium.RetryPolicy(initial_backoff=0.01)

# For each call: arguments, and the request fields that they become.
CALLS = {
    "encode": ((["a"],), {"pooling": "POOLING_CLS"}, {"pooling": 2}),
    "translate": ((["a"],), {"decoding": {"beam_size": 4}}, {}),
    "score": (([("a", "b"), (None, [3])],), {"end_token": False}, {"end_token": False}),
    "classify": (([("a", "b")],), {"top": 1}, {"top": 1}),
    "classify_tokens": (([[1, 2]],), {"ignore": ["O"]}, {}),
    "answer": (([("who?", "me")],), {"no_answer": True}, {"no_answer": True}),
    "fill_mask": ((["[MASK]"],), {"top": 3}, {"top": 3}),
    "rerank": (("q", ["a", "b"]), {"return_text": True}, {"query": "q"}),
    "tokenize": ((["a"],), {"target": True}, {"target": True}),
    "detokenize": (([[1, 2]],), {"model": "m"}, {"model": "m"}),
    "models": ((), {}, {}),
    "model": (("m",), {}, {"name": "m"}),
    "load_model": (("below/m",), {"name": "m", "precision": "PRECISION_INT8"},
                   {"folder": "below/m", "name": "m", "precision": 3}),
    "reload_model": (("m",), {}, {"name": "m"}),
    "unload_model": (("m",), {}, {"name": "m"}),
}


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.server = fake_server.FakeServer()
        self.client = trivium.Client(self.server.address, retry=QUICK, timeout=30)

    def tearDown(self):
        self.client.close()
        self.server.stop()

    def fail_next(self, code, **details):
        self.server.failures.append(
            (code, fake_server.status_of(code, "told so", **details)))

    def in_loop(self, work):
        async def run():
            async with trivium.AsyncClient(
                    self.server.address, retry=QUICK, timeout=30) as client:
                return await work(client)
        return asyncio.run(run())

    def test_every_call_sends_its_request(self):
        for name, (arguments, options, fields) in CALLS.items():
            with self.subTest(name):
                answer = getattr(self.client, name)(*arguments, **options)
                sent = self.server.requests[-1]
                for field, value in fields.items():
                    self.assertEqual(getattr(sent, field), value)
                again = self.in_loop(
                    lambda c, n=name, a=arguments, o=options: getattr(c, n)(*a, **o))
                self.assertEqual(again, answer)
                self.assertEqual(self.server.requests[-1], sent)

    def test_a_client_has_a_priority(self):
        self.client.encode(["a"])
        self.assertNotIn("trivium-priority", self.server.metadata)
        with trivium.Client(self.server.address, priority="batch",
                            metadata=(("x-api-key", "k"),)) as client:
            client.encode(["a"])
        self.assertEqual(self.server.metadata["trivium-priority"], "batch")
        self.assertEqual(self.server.metadata["x-api-key"], "k")
        with self.assertRaisesRegex(ValueError, "urgent"):
            trivium.Client(self.server.address, priority="urgent")

    def test_a_chat_has_its_conversation(self):
        messages = [{"role": "system", "content": "be brief"},
                    {"role": "user", "content": "Hi"}]
        self.client.chat(messages).text()
        # The same value as the C++ client's.
        self.assertEqual(self.server.metadata["x-conversation"], "ca59675d")
        messages += [{"role": "assistant", "content": "Hello."},
                     {"role": "user", "content": "Who are you?"}]
        self.client.chat(messages).text()
        self.assertEqual(self.server.metadata["x-conversation"], "ca59675d")
        with trivium.Client(self.server.address,
                            metadata=(("x-conversation", "mine"),)) as client:
            client.chat(messages).text()
        self.assertEqual(self.server.metadata["x-conversation"], "mine")
        self.client.generate("Hi").text()
        self.assertNotIn("x-conversation", self.server.metadata)

    def test_both_clients_have_the_same_calls(self):
        for name, one in inspect.getmembers(trivium.Client, inspect.isfunction):
            if name.startswith("_"):
                continue
            other = getattr(trivium.AsyncClient, name)
            self.assertEqual(list(inspect.signature(one).parameters),
                             list(inspect.signature(other).parameters), name)
            self.assertTrue(one.__doc__ and other.__doc__, name)

    def test_inputs_are_texts_pairs_ids_or_messages(self):
        self.client.encode(["a", ("b", "c"), [1, 2], common_pb2.Input(text="d")])
        inputs = self.server.requests[-1].inputs
        self.assertEqual([one.WhichOneof("input") for one in inputs],
                         ["text", "pair", "ids", "text"])
        self.assertEqual(list(inputs[2].ids.ids), [1, 2])

    def test_one_text_for_a_list_is_refused(self):
        for wrong in ("a text", b"bytes", [b"bytes"], [None], [{"text": "a"}]):
            with self.subTest(wrong), self.assertRaises(TypeError):
                self.client.translate(wrong)
        with self.assertRaises(ValueError):
            self.client.encode([("a", "b", "c")])
        with self.assertRaises(ValueError):
            self.client.tokenize(["a", ("b", "c")])
        with self.assertRaises(TypeError):
            self.client.chat("Hello!")
        with self.assertRaises(ValueError):
            self.client.encode(["a"], no_such_option=1)
        self.assertEqual(self.server.requests, [])

    def test_settings_that_mean_nothing_are_refused(self):
        for options in ({"timeout": 0}, {"timeout": float("inf")},
                        {"stall_timeout": -1}, {"address": ""}):
            with self.subTest(options), self.assertRaises(ValueError):
                trivium.Client(**options)
        with self.assertRaises(ValueError):
            self.client.encode(["a"], timeout=0)
        with self.assertRaises(ValueError):
            list(self.client.translate_stream(["a"], window=0))

    def test_errors_carry_what_the_server_said(self):
        self.fail_next(grpc.StatusCode.INVALID_ARGUMENT, field="inputs[0].text")
        with self.assertRaises(trivium.InvalidArgumentError) as caught:
            self.client.encode(["a"])
        error = caught.exception
        self.assertEqual(error.violations, (("inputs[0].text", "is wrong"),))
        self.assertEqual(error.request_id, "fake-1")
        self.assertIn("inputs[0].text", str(error))
        self.assertIn("fake-1", str(error))
        for code, kind in ((grpc.StatusCode.NOT_FOUND, trivium.NotFoundError),
                           (grpc.StatusCode.FAILED_PRECONDITION,
                            trivium.FailedPreconditionError),
                           (grpc.StatusCode.INTERNAL, trivium.TriviumError)):
            self.fail_next(code)
            with self.assertRaises(kind) as caught:
                self.in_loop(lambda client: client.encode(["a"]))
            self.assertEqual(caught.exception.code, code)

    def test_a_full_server_is_asked_again_when_it_said(self):
        self.fail_next(FULL, retry_delay=0.02)
        self.fail_next(FULL, retry_delay=0.02)
        response = self.client.translate(["a"])
        self.assertEqual(response.results[0].hypotheses[0].text, "A")
        self.assertEqual(len(self.server.requests), 3)
        self.fail_next(FULL, retry_delay=0.02)
        self.in_loop(lambda client: client.translate(["a"]))
        self.assertEqual(len(self.server.requests), 5)

    def test_what_would_be_the_same_again_is_not_asked_again(self):
        self.fail_next(FULL)  # larger than the server accepts: no RetryInfo
        with self.assertRaises(trivium.ResourceExhaustedError):
            self.client.translate(["a"])
        self.fail_next(grpc.StatusCode.INTERNAL)
        with self.assertRaises(trivium.TriviumError):
            self.client.translate(["a"])
        self.assertEqual(len(self.server.requests), 2)

    def test_loads_and_unloads_are_sent_once(self):
        for name in ("load_model", "unload_model"):
            for run in (lambda n: getattr(self.client, n)("m"),
                        lambda n: self.in_loop(lambda c: getattr(c, n)("m"))):
                self.fail_next(GONE)
                with self.subTest(name), self.assertRaises(trivium.UnavailableError):
                    run(name)
        self.assertEqual(len(self.server.requests), 4)
        self.fail_next(GONE)
        self.assertEqual(self.client.reload_model("m").name, "m")
        self.fail_next(grpc.StatusCode.ALREADY_EXISTS)
        with self.assertRaises(trivium.AlreadyExistsError):
            self.client.load_model("m")

    def test_attempts_and_the_deadline_bound_retries(self):
        for _ in range(5):
            self.fail_next(FULL, retry_delay=0.001)
        with self.assertRaises(trivium.ResourceExhaustedError):
            self.client.translate(["a"])
        self.assertEqual(len(self.server.requests), 5)
        # The retry would be after the deadline, so the error is raised at once.
        self.fail_next(FULL, retry_delay=3600)
        with self.assertRaises(trivium.ResourceExhaustedError) as caught:
            self.client.translate(["a"])
        self.assertEqual(caught.exception.retry_delay, 3600)
        self.assertIn("3600 s", str(caught.exception))

    def test_a_server_that_is_not_there(self):
        self.server.stop()
        with trivium.Client(self.server.address, retry=trivium.NO_RETRY) as client:
            with self.assertRaises(trivium.UnavailableError) as caught:
                client.models()
            self.assertIn(self.server.address, str(caught.exception))

    def test_generate(self):
        generation = self.client.generate("one two")
        self.assertEqual([event.piece.text for event in generation],
                         ["one ", "two ", ""])
        self.assertEqual(generation.done[0].finish_reason, 1)
        self.assertEqual(self.client.generate("one two").text(), "one two ")
        self.fail_next(GONE)
        messages = [{"role": "user", "content": "hello"}]
        chat = self.client.chat(messages, variables={"thinking": False},
                                template_name="default", model="m")
        self.assertEqual(chat.text(), "hello ")
        sent = self.server.requests[-1]
        self.assertEqual(sent.chat.variables["thinking"], False)
        self.assertFalse(sent.chat.HasField("add_generation_prompt"))

        async def work(client):
            self.fail_next(GONE)
            texts = [e.piece.text async for e in client.generate("a b")]
            return texts, await client.chat(messages).text()
        self.assertEqual(self.in_loop(work), (["a ", "b ", ""], "hello "))
        self.fail_next(grpc.StatusCode.NOT_FOUND)
        with self.assertRaises(trivium.NotFoundError):
            self.in_loop(lambda client: client.generate("a").text())

    def test_a_chat_with_tools_goes_on_with_its_answer(self):
        tool = {"type": "function", "function": {"name": "sum"}}
        messages = [{"role": "user", "content": "add"}]
        chat = self.client.chat(messages, tools=[tool, "{}"], tool_choice="required")
        answer = chat.answer()
        self.assertEqual((answer.role, answer.content, answer.reasoning_content),
                         ("assistant", "add ", "hm"))
        self.assertEqual(
            [(c.name, c.id, c.HasField("id"), c.arguments) for c in answer.tool_calls],
            [("sum", "c1", True, '{"a"'), ("now", "", False, "{}")])
        sent = self.server.requests[-1].chat
        self.assertEqual(list(sent.tools),
                         ['{"type": "function", "function": {"name": "sum"}}', "{}"])
        self.assertTrue(sent.answer_parts)
        self.assertEqual(sent.tool_choice, inference_pb2.Chat.TOOL_CHOICE_REQUIRED)
        self.assertFalse(sent.HasField("tool_name"))

        messages += [answer, {"role": "tool", "content": "3", "tool_call_id": "c1"}]
        self.client.chat(messages, tool_choice="sum", max_thinking_tokens=0).text()
        sent = self.server.requests[-1].chat
        self.assertEqual(sent.messages[1], answer)
        self.assertEqual((sent.tool_choice, sent.tool_name),
                         (inference_pb2.Chat.TOOL_CHOICE_REQUIRED, "sum"))
        self.assertTrue(sent.answer_parts)
        self.client.chat(messages[:1], tools=["{}"], answer_parts=False).text()
        self.assertFalse(self.server.requests[-1].chat.answer_parts)
        with self.assertRaises(TypeError):
            self.client.chat(messages, tools="{}")

        async def work(client):
            return await client.chat(messages[:1], tools=["{}"]).answer()
        self.assertEqual(self.in_loop(work).tool_calls[0].name, "sum")

    def stream(self, texts, **options):
        """Returns the outcomes of a stream, which must be the same in both clients."""
        outcomes = list(self.client.translate_stream(texts, **options))
        return outcomes

    def async_stream(self, texts, **options):
        async def work(client):
            return [one async for one in client.translate_stream(texts, **options)]
        return self.in_loop(work)

    def check_streams(self, prepare, check, texts, **options):
        for run in (self.stream, self.async_stream):
            with self.subTest(run.__name__):
                prepare()
                check(run(list(texts), **options))

    def assert_upper(self, texts, outcomes):
        self.assertEqual([one.index for one in outcomes], list(range(len(texts))))
        self.assertEqual([one.get().hypotheses[0].text for one in outcomes],
                         [text.upper() for text in texts])

    def test_streams_give_results_in_order(self):
        texts = [f"text {i}" for i in range(300)]
        for window in (1, 7, 512):
            self.check_streams(lambda: None, lambda o: self.assert_upper(texts, o),
                               texts, window=window, target_language="de")
        self.check_streams(lambda: None, lambda o: self.assertEqual(o, []), [])
        self.assertEqual([one.get().embedding[0] for one in
                          self.client.encode_stream(["a", "abc"])], [1, 3])
        self.assertEqual(
            {one.index for one in self.stream(texts, ordered=False)},
            set(range(300)))

    def test_a_bad_text_fails_alone(self):
        bad = fake_server.status_of(grpc.StatusCode.INVALID_ARGUMENT, "too long")

        def prepare():
            self.server.item_errors["b"] = [bad]

        def check(outcomes):
            self.assertEqual(outcomes[2].get().hypotheses[0].text, "C")
            with self.assertRaises(trivium.InvalidArgumentError):
                outcomes[1].get()
        self.check_streams(prepare, check, ["a", "b", "c"])

    def test_refused_texts_are_sent_again(self):
        texts = [f"t{i}" for i in range(20)]
        full = fake_server.status_of(FULL, "full", retry_delay=0.01)

        def prepare():
            self.server.item_errors["t3"] = [full, full]
            self.server.item_errors["t11"] = [full]
        for window in (2, 512):
            self.check_streams(prepare, lambda o: self.assert_upper(texts, o),
                               texts, window=window)

    def test_a_text_that_is_always_refused_fails_alone(self):
        full = fake_server.status_of(FULL, "full", retry_delay=0.001)

        def prepare():
            self.server.item_errors["b"] = [full] * 100

        def check(outcomes):
            self.assertIsInstance(outcomes[1].error, trivium.ResourceExhaustedError)
            self.assertEqual(outcomes[2].get().hypotheses[0].text, "C")
            self.assertEqual([one.index for one in outcomes], [0, 1, 2])
        self.check_streams(prepare, check, ["a", "b", "c"], window=1)

    def test_broken_streams_go_on_where_they_were(self):
        texts = [f"t{i}" for i in range(50)]

        def prepare():
            self.server.streams = 0
            self.server.break_after = [10, 0, 25]

        def check(outcomes):
            self.assert_upper(texts, outcomes)
            self.assertGreaterEqual(self.server.streams, 4)
        self.check_streams(prepare, check, texts, window=8)

    def test_a_stream_that_only_breaks_ends(self):
        self.server.break_after = [0] * 20
        with self.assertRaises(trivium.UnavailableError):
            self.stream(["a", "b"])
        self.server.break_after = [0] * 20
        with self.assertRaises(trivium.UnavailableError):
            self.async_stream(["a", "b"])
        self.server.break_after = []
        self.fail_next(grpc.StatusCode.NOT_FOUND)
        with self.assertRaises(trivium.NotFoundError):
            self.stream(["a"])
        self.fail_next(grpc.StatusCode.NOT_FOUND)
        with self.assertRaises(trivium.NotFoundError):
            self.async_stream(["a"])

    def test_errors_of_the_source_are_raised(self):
        def source():
            yield "a"
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            list(self.client.translate_stream(source()))
        with self.assertRaises(TypeError):
            list(self.client.translate_stream(["a", None]))

        async def work(client):
            async for _ in client.translate_stream(source()):
                pass
        with self.assertRaisesRegex(KeyError, "mine"):
            self.in_loop(work)

    def test_streams_may_be_left(self):
        before = threading.active_count()
        for outcome in self.client.translate_stream((str(i) for i in range(10**9)),
                                                    window=4):
            if outcome.index == 5:
                break
        outcome = None
        self.assertLessEqual(threading.active_count(), before + 8)

        async def work(client):
            async def endless():
                i = 0
                while True:
                    yield str(i)
                    i += 1
            stream = client.translate_stream(endless(), window=4)
            async for one in stream:
                if one.index == 5:
                    break
            await stream.aclose()
        self.in_loop(work)

    def test_a_server_that_stalls_is_given_up(self):
        release = threading.Event()
        self.addCleanup(release.set)
        with StallingServer(release) as address:
            with trivium.Client(address, stall_timeout=0.2) as client:
                with self.assertRaises(trivium.DeadlineExceededError):
                    list(client.translate_stream(["a"]))

            async def work():
                async with trivium.AsyncClient(address, stall_timeout=0.2) as client:
                    async for _ in client.translate_stream(["a"]):
                        pass
            with self.assertRaises(trivium.DeadlineExceededError):
                asyncio.run(work())

    def test_arrays(self):
        try:
            import numpy as np
        except ImportError:
            self.skipTest("numpy is not installed")
        from trivium import arrays
        response = self.client.encode(["abc", "a"])
        np.testing.assert_array_equal(arrays.embeddings(response), [[3, 1], [1, 1]])
        result = inference_pb2.EncodeResult(
            embedding_bytes=np.array([127, -64], np.int8).tobytes(), embedding_scale=0.5)
        response = inference_pb2.EncodeResponse(results=[result])
        np.testing.assert_array_equal(
            arrays.embeddings(response, "EMBEDDING_FORMAT_INT8"), [[63.5, -32]])
        with self.assertRaises(ValueError):
            arrays.embeddings(response)
        maps = common_pb2.Attention(layer_count=1, head_count=2, query_count=1,
                                    key_count=2, weights=[1, 2, 3, 4])
        np.testing.assert_array_equal(arrays.attention(maps)[0, 1, 0], [3, 4])

    def test_chunks_and_similarities(self):
        try:
            import numpy as np
        except ImportError:
            self.skipTest("this Python has no numpy")
        from trivium import arrays
        from trivium.inputs import to_encode_request, to_similarity_request
        request = to_encode_request(
            ["ab cd", "e"], {"chunks": [[(0, 2), (3, 5)], []], "model": "m"})
        self.assertEqual(request.chunks[0].unit, inference_pb2.TEXT_UNIT_CHARACTER)
        self.assertEqual([(one.begin, one.end) for one in request.chunks[0].spans],
                         [(0, 2), (3, 5)])
        self.assertEqual(len(request.chunks), 2)
        self.assertFalse(to_encode_request(["a"], {}).chunks)
        with self.assertRaisesRegex(TypeError, "chunks"):
            to_encode_request(["a"], {"chunks": [(0, 2)]})
        result = inference_pb2.EncodeResult()
        result.chunks.add(embedding=[1, 2])
        result.chunks.add(truncated=True)
        np.testing.assert_array_equal(
            arrays.chunks(result), [[1, 2], [np.nan, np.nan]])

        request = to_similarity_request(
            ["a"], ["b", "c"], {"first_kind": "TEXT_KIND_QUERY", "second_prompt": "p",
                                "function": "SIMILARITY_FUNCTION_DOT"})
        self.assertEqual(request.first.kind, inference_pb2.TEXT_KIND_QUERY)
        self.assertEqual(request.second.prompt, "p")
        self.assertEqual(request.function, inference_pb2.SIMILARITY_FUNCTION_DOT)
        self.assertFalse(to_similarity_request(["a"], None, {}).HasField("second"))
        self.assertTrue(to_similarity_request(["a"], [], {}).HasField("second"))
        with self.assertRaises(ValueError):
            to_similarity_request(["a"], None, {"second_kind": "TEXT_KIND_QUERY"})
        response = inference_pb2.SimilarityResponse(
            scores=[1, 2], sparse_scores=[3, 4], first=[{}], second=[{}, {}])
        np.testing.assert_array_equal(arrays.similarities(response), [[1, 2]])
        np.testing.assert_array_equal(arrays.similarities(response, "sparse"), [[3, 4]])
        self.client.similarity(["a"], ["b"])

    def test_arrays_of_other_embeddings(self):
        try:
            import numpy as np
        except ImportError:
            self.skipTest("numpy is not installed")
        from trivium import arrays
        rows = inference_pb2.MultiVector(row_count=2, size=3, values=[1, 0, 0, 0, 1, 0])
        result = inference_pb2.EncodeResult(multi_vector=rows)
        vectors = arrays.multi_vector(result)
        np.testing.assert_array_equal(vectors, [[1, 0, 0], [0, 1, 0]])
        document = np.array([[0, 0.5, 0], [0.25, 0.25, 1]], np.float32)
        self.assertEqual(arrays.max_sim(vectors, document), 0.75)
        self.assertEqual(arrays.max_sim(vectors[:0], document), 0)
        halves = inference_pb2.EncodeResult(multi_vector=inference_pb2.MultiVector(
            row_count=2, size=3, value_bytes=vectors.astype("<f2").tobytes()))
        np.testing.assert_array_equal(
            arrays.multi_vector(halves, "EMBEDDING_FORMAT_FLOAT16"), vectors)
        bits = inference_pb2.EncodeResult(multi_vector=inference_pb2.MultiVector(
            row_count=2, size=3, value_bytes=b"\x80\x60", scales=[1, 0.5]))
        np.testing.assert_array_equal(arrays.multi_vector(bits, "EMBEDDING_FORMAT_BINARY"),
                                      [[1, -1, -1], [-0.5, 0.5, 0.5]])
        with self.assertRaises(ValueError):
            arrays.multi_vector(bits)
        try:
            import scipy.sparse  # noqa: F401
        except ImportError:
            return
        response = inference_pb2.EncodeResponse(results=[
            inference_pb2.EncodeResult(sparse=inference_pb2.SparseEmbedding(
                ids=[1, 3], weights=[0.5, 2])),
            inference_pb2.EncodeResult()])
        np.testing.assert_array_equal(arrays.sparse_matrix(response, 5).toarray(),
                                      [[0, 0.5, 0, 2, 0], [0, 0, 0, 0, 0]])


class TlsTest(unittest.TestCase):
    def test_files_are_checked(self):
        with self.assertRaises(FileNotFoundError):
            trivium.tls_credentials(ca="/nowhere/ca.pem")
        with self.assertRaisesRegex(ValueError, "certificate and key"):
            trivium.tls_credentials(certificate="client.pem")

    def test_a_server_may_have_another_name(self):
        options = trivium.Options(tls_server_name="other")
        self.assertIn(("grpc.ssl_target_name_override", "other"),
                      options.channel_arguments())
        self.assertEqual(len(trivium.Options().channel_arguments()), 2)

    def test_without_tls_nothing_of_it_is_given(self):
        for flags in (["--tls-ca", "ca.pem"], ["--tls-server-name", "other"]):
            args = translate_command._parser().parse_args(["a.txt", *flags])
            with self.assertRaisesRegex(DocumentError, "--tls"):
                translate_command._credentials(args)


class StallingServer(fake_server.FakeServer):
    def __init__(self, release):
        self.release = release
        super().__init__()

    def TranslateStream(self, requests, context):
        next(requests)
        self.release.wait(60)
        yield from ()

    def __enter__(self):
        return self.address

    def __exit__(self, *_):
        self.release.set()
        self.stop()


if __name__ == "__main__":
    unittest.main()
