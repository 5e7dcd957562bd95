"""Tests a real server with Cohere's own Python client.

cohere_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import sys
import unittest

import chat_server
from chat_server import ROOT

QUERY = "What is the capital of China?"
DOCUMENTS = ["Gravity attracts two bodies.", "The capital of China is Beijing.", "Hi."]


class CohereClientTest(chat_server.ServerTest):
    @classmethod
    def flags(cls, scratch):
        return ["--any-model", "--model", f"en-de={cls.embedded}",
                "--model", f"rank={ROOT / 'tests/golden/sentences/qwen3.reranker'}"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = cohere.ClientV2(api_key="none", base_url=cls.url, timeout=60)

    def test_embed(self):
        embedded = self.client.embed(
            model="embed-v4.0", input_type="search_query", texts=["The house.", "Hi."],
            embedding_types=["float", "int8", "ubinary"])
        floats = embedded.embeddings.float_
        self.assertEqual(len(floats), 2)
        self.assertEqual(len(embedded.embeddings.int8[0]), len(floats[0]))
        self.assertEqual(len(embedded.embeddings.ubinary[0]), len(floats[0]) // 8)
        self.assertGreater(embedded.meta.billed_units.input_tokens, 0)
        with self.assertRaises(cohere.BadRequestError):
            self.client.embed(model="en-de", input_type="search_query",
                              images=["data:image/png;base64,"],
                              embedding_types=["float"])

    def test_rerank(self):
        ranked = self.client.rerank(model="rank", query=QUERY, documents=DOCUMENTS)
        scores = [result.relevance_score for result in ranked.results]
        self.assertEqual(sorted(scores, reverse=True), scores)
        self.assertEqual(sorted(result.index for result in ranked.results), [0, 1, 2])
        best = self.client.rerank(model="rerank-v3.5", query=QUERY,
                                  documents=DOCUMENTS, top_n=1, max_tokens_per_doc=64)
        self.assertEqual([(result.index, result.relevance_score)
                          for result in best.results],
                         [(ranked.results[0].index, scores[0])])
        with self.assertRaises(cohere.BadRequestError):
            self.client.rerank(model="rank", query=QUERY, documents=[])

    def test_the_first_version(self):
        client = cohere.Client(api_key="none", base_url=self.url, timeout=60)
        ranked = client.rerank(model="rank", query=QUERY, documents=DOCUMENTS,
                               return_documents=True)
        for result in ranked.results:
            self.assertEqual(result.document.text, DOCUMENTS[result.index])


if __name__ == "__main__":
    chat_server.begin("cohere")
    import cohere
    unittest.main(argv=sys.argv[:1])
