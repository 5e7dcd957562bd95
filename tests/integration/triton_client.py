"""Tests a real server with Triton's Python client, which uses KServe's protocol.

triton_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import asyncio
import shutil
import sys
import unittest

import chat_server
from chat_server import ROOT

TEXT = "The house is big."


def text_input(module, texts, shape=None):
    array = np.array([text.encode() for text in texts], dtype=np.object_)
    array = array.reshape(shape or [len(texts)])
    tensor = module.InferInput("text", list(array.shape), "BYTES")
    tensor.set_data_from_numpy(array)
    return tensor


class TritonClientTest(chat_server.ServerTest):
    @classmethod
    def flags(cls, scratch):
        shutil.copytree(ROOT / "tests/golden/sentences/qwen3.embedding",
                        scratch / "models/vectors")
        return ["--model-root", scratch / "models", "--model", f"en-de={cls.embedded}"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.address = "127.0.0.1:" + cls.server.ports["grpc"]
        cls.client = triton.InferenceServerClient(cls.address)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        super().tearDownClass()

    def test_server(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertEqual(self.client.get_server_metadata().name, "trivium")
        self.assertTrue(self.client.is_model_ready("en-de"))
        self.assertTrue(self.client.is_model_ready("en-de", "1"))
        self.assertFalse(self.client.is_model_ready("none"))
        metadata = self.client.get_model_metadata("en-de", as_json=True)
        self.assertEqual(metadata["inputs"],
                         [{"name": "text", "datatype": "BYTES", "shape": ["-1"]}])
        self.assertEqual(metadata["outputs"],
                         [{"name": "text", "datatype": "BYTES", "shape": ["-1"]}])

    def test_translations(self):
        result = self.client.infer(
            "en-de", [text_input(triton, [TEXT, "Good morning!"])], request_id="mine",
            outputs=[triton.InferRequestedOutput("text")], client_timeout=30,
            parameters={"target_language": "de", "beam_size": 2,
                        "length_penalty": 0.5, "truncate": True})
        texts = [text.decode() for text in result.as_numpy("text")]
        self.assertIn("Haus", texts[0])
        self.assertIn("Morgen", texts[1])
        self.assertEqual(result.get_response().id, "mine")
        back = self.client.infer("en-de", [text_input(triton, ["Das Haus."], [1, 1])],
                                 parameters={"target_language": "en"})
        self.assertIn(b"house", back.as_numpy("text")[0])

    def test_parameters_of_tritons_queues_change_nothing(self):
        plain = self.client.infer("en-de", [text_input(triton, [TEXT])])
        asked = self.client.infer("en-de", [text_input(triton, [TEXT])], priority=1,
                                  timeout=10_000_000, sequence_id=5,
                                  sequence_start=True)
        self.assertEqual(asked.as_numpy("text").tolist(),
                         plain.as_numpy("text").tolist())

    def test_errors(self):
        def error(model="en-de", inputs=None, **options):
            with self.assertRaises(tritonclient.utils.InferenceServerException) as caught:
                self.client.infer(model, inputs or [text_input(triton, [TEXT])],
                                  **options)
            return caught.exception

        self.assertEqual(error("none").status(), "StatusCode.NOT_FOUND")
        self.assertIn("beam_size", error(parameters={"beam_size": 0}).message())
        self.assertIn("no_such", error(parameters={"no_such": 1}).message())
        ids = triton.InferInput("input_ids", [1], "INT64")
        ids.set_data_from_numpy(np.array([1], dtype=np.int64))
        self.assertIn("text", error(inputs=[ids]).message())
        self.assertEqual(error(client_timeout=0.000001).status(),
                         "StatusCode.DEADLINE_EXCEEDED")

    def test_models_come_and_go(self):
        self.client.load_model("vectors")
        index = self.client.get_model_repository_index()
        self.assertEqual({one.name: one.state for one in index.models},
                         {"en-de": "READY", "vectors": "READY"})
        texts = [TEXT, "The building is large.", "I ate an apple."]
        result = self.client.infer("vectors", [text_input(triton, texts)])
        vectors = result.as_numpy("embedding")
        self.assertEqual((vectors.dtype, len(vectors)), (np.float32, 3))
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        cut = self.client.infer("vectors", [text_input(triton, texts)],
                                parameters={"dimensions": 8, "normalize": True})
        self.assertEqual(cut.as_numpy("embedding").shape, (3, 8))
        statistics = self.client.get_inference_statistics("vectors").model_stats[0]
        self.assertEqual(statistics.inference_count, 6)
        self.assertEqual(statistics.inference_stats.success.count, 2)
        self.assertGreater(statistics.inference_stats.compute_infer.ns, 0)

        self.client.load_model("vectors")  # the second time reloads it
        self.client.unload_model("vectors")
        self.assertFalse(self.client.is_model_ready("vectors"))
        with self.assertRaises(tritonclient.utils.InferenceServerException):
            self.client.load_model("../elsewhere")

    def test_asyncio(self):
        async def run():
            async with aio.InferenceServerClient(self.address) as client:
                results = await asyncio.gather(*[
                    client.infer("en-de", [text_input(aio, [TEXT])]) for _ in range(8)])
                return {result.as_numpy("text")[0] for result in results}
        self.assertEqual(len(asyncio.run(run())), 1)


if __name__ == "__main__":
    chat_server.begin("tritonclient[grpc]")
    import numpy as np
    import tritonclient.grpc as triton
    import tritonclient.grpc.aio as aio
    import tritonclient.utils
    unittest.main(argv=sys.argv[:1])
