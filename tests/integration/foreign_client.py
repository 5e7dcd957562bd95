"""Tests the server with a client that shares no code with the project: Debian's
grpcio.

foreign_client.py SERVER MODEL STUBS: starts the server, makes every call with
stubs from protoc's Python generator, asks for reflection and health, and sends
hand-made bytes.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "attacks"))

import attack  # noqa: E402
import grpc  # noqa: E402

from google.rpc import error_details_pb2, status_pb2  # noqa: E402
from trivium.v1 import inference_pb2, models_pb2  # noqa: E402

INFERENCE = attack.INFERENCE
TIMEOUT = 60


class ForeignClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = attack.start_server()
        cls.channel = grpc.insecure_channel(cls.server.address)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        code, _ = cls.server.stop()
        assert code == 0, f"the server ended with {code}"

    def unary(self, method, response_type, request, **options):
        call = self.channel.unary_unary(
            method,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response_type.FromString)
        return call(request, timeout=TIMEOUT, **options)

    def raw(self, method, payload):
        return self.channel.unary_unary(method)(payload, timeout=TIMEOUT)

    def test_translate(self):
        request = inference_pb2.TranslateRequest()
        request.inputs.add().text = "I ate an apple."
        response = self.unary(INFERENCE + "Translate",
                              inference_pb2.TranslateResponse, request)
        self.assertIn("Apfel", response.results[0].hypotheses[0].text)
        self.assertEqual(response.model.name, "en-de")

    def test_translate_hand_made_bytes(self):
        # TranslateRequest { inputs(2) { text(1): "I ate an apple." } }
        text = b"I ate an apple."
        item = b"\x0a" + bytes([len(text)]) + text
        answer = self.raw(INFERENCE + "Translate",
                          b"\x12" + bytes([len(item)]) + item)
        self.assertIn(b"Apfel", answer)

    def test_unknown_fields_are_ignored(self):
        # Field 1000, which a newer client may send: tag (1000 << 3 | 0).
        text = b"Hello."
        item = b"\x0a" + bytes([len(text)]) + text
        self.raw(INFERENCE + "Translate",
                 b"\xc0\x3e\x01\x12" + bytes([len(item)]) + item)

    def test_encode(self):
        request = inference_pb2.EncodeRequest()
        request.inputs.add().text = "A cat."
        response = self.unary(INFERENCE + "Encode",
                              inference_pb2.EncodeResponse, request)
        squares = sum(x * x for x in response.results[0].embedding)
        self.assertAlmostEqual(squares, 1, places=3)

    def test_generate(self):
        request = inference_pb2.GenerateRequest()
        request.input.text = "I ate an apple."
        call = self.channel.unary_stream(
            INFERENCE + "Generate",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=inference_pb2.GenerateResponse.FromString)
        messages = list(call(request, timeout=TIMEOUT))
        self.assertIn("Apfel", "".join(m.piece.text for m in messages))
        self.assertEqual(messages[-1].WhichOneof("event"), "done")

    def test_score(self):
        request = inference_pb2.ScoreRequest()
        request.inputs.add(text="The house is big.", target="Das Haus ist gross.")
        request.inputs.add(text="The house is big.", target="Die Katze ist rot.")
        response = self.unary(INFERENCE + "Score",
                              inference_pb2.ScoreResponse, request)
        good, bad = response.results
        self.assertGreater(good.total_logprob, bad.total_logprob)
        self.assertEqual(len(good.tokens), good.token_count)
        self.assertEqual(good.tokens[0].byte_begin, 0)
        self.assertAlmostEqual(sum(token.logprob for token in good.tokens),
                               good.total_logprob, places=3)

    def test_translate_stream(self):
        def requests():
            start = inference_pb2.TranslateStreamRequest()
            start.start.SetInParent()
            yield start
            for i in range(10):
                item = inference_pb2.TranslateStreamRequest()
                item.item.id = str(i)
                item.item.input.text = f"Number {i}."
                yield item

        call = self.channel.stream_stream(
            INFERENCE + "TranslateStream",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=(
                inference_pb2.TranslateStreamResponse.FromString))
        results = list(call(requests(), timeout=TIMEOUT))
        self.assertEqual(sorted(int(r.id) for r in results),
                         list(range(10)))

    def test_tokenize_and_models(self):
        request = inference_pb2.TokenizeRequest(texts=["An apple."])
        tokens = self.unary(INFERENCE + "Tokenize",
                            inference_pb2.TokenizeResponse, request)
        self.assertGreater(len(tokens.results[0].tokens), 1)
        models = self.unary("/trivium.v1.Models/ListModels",
                            models_pb2.ListModelsResponse,
                            models_pb2.ListModelsRequest())
        self.assertEqual([m.name for m in models.models], ["en-de"])

    def test_errors_have_details_and_the_request_id(self):
        request = inference_pb2.TranslateRequest()
        request.inputs.add().text = "Hello."
        request.options.decoding.beam_size = 0
        with self.assertRaises(grpc.RpcError) as caught:
            self.unary(INFERENCE + "Translate",
                       inference_pb2.TranslateResponse, request,
                       metadata=[("x-request-id", "foreign-17")])
        error = caught.exception
        self.assertEqual(error.code(), grpc.StatusCode.INVALID_ARGUMENT)
        trailers = dict(error.trailing_metadata())
        self.assertEqual(trailers["x-request-id"], "foreign-17")
        status = status_pb2.Status.FromString(
            trailers["grpc-status-details-bin"])
        bad_request = error_details_pb2.BadRequest()
        self.assertTrue(status.details[0].Unpack(bad_request))
        self.assertEqual(bad_request.field_violations[0].field,
                         "options.decoding.beam_size")

    def test_invalid_utf8_is_invalid_argument(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.raw(INFERENCE + "Translate", b"\x12\x04\x0a\x02\xff\xfe")
        self.assertEqual(caught.exception.code(),
                         grpc.StatusCode.INVALID_ARGUMENT)

    def test_health(self):
        # HealthCheckResponse { status(1): SERVING(1) }
        for service in (b"", b"trivium.v1.Inference"):
            request = b"\x0a" + bytes([len(service)]) + service
            answer = self.raw("/grpc.health.v1.Health/Check", request)
            self.assertEqual(answer, b"\x08\x01")

    def reflection(self, version):
        return self.channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")

    def test_reflection_lists_the_services(self):
        # ServerReflectionRequest { list_services(7): "" }
        answers = []
        for version in ("v1alpha", "v1"):
            answer = next(self.reflection(version)(iter([b"\x3a\x00"]),
                                                   timeout=TIMEOUT))
            for service in (b"trivium.v1.Inference", b"trivium.v1.Models",
                            b"grpc.health.v1.Health",
                            b"grpc.reflection.v1.ServerReflection"):
                self.assertIn(service, answer)
            answers.append(answer)
        # Both versions list the same services, in any order.
        self.assertEqual(len(answers[0]), len(answers[1]))

    def test_reflection_describes_the_service(self):
        # { file_containing_symbol(4): "trivium.v1.Inference" }
        symbol = b"trivium.v1.Inference"
        for version in ("v1alpha", "v1"):
            answer = next(self.reflection(version)(
                iter([b"\x22" + bytes([len(symbol)]) + symbol]),
                timeout=TIMEOUT))
            self.assertIn(b"TranslateStream", answer)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
