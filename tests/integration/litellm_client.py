"""Tests a real server with LiteLLM, as if it were other people's rerankers.

litellm_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import os
import sys
import unittest

import chat_server
from chat_server import ROOT

QUERY = "What is the capital of China?"
DOCUMENTS = ["Gravity attracts two bodies.", "The capital of China is Beijing.", "Hi."]


class LiteLlmTest(chat_server.ServerTest):
    @classmethod
    def flags(cls, scratch):
        return super().flags(scratch) + [
            "--model", f"rank={ROOT / 'tests/golden/sentences/qwen3.reranker'}"]

    def test_rerank(self):
        orders = {}
        for provider in ("cohere", "jina_ai", "infinity", "hosted_vllm", "huggingface"):
            with self.subTest(provider):
                # Infinity's own path is vLLM's, and its answers have another shape.
                base = self.url + ("/infinity" if provider == "infinity" else "")
                options = dict(model=f"{provider}/rank", query=QUERY, api_base=base,
                               documents=DOCUMENTS, api_key="none")
                ranked = litellm.rerank(**options).results
                orders[provider] = [result["index"] for result in ranked]
                scores = [result["relevance_score"] for result in ranked]
                self.assertEqual(sorted(scores, reverse=True), scores)
                best = litellm.rerank(**options, top_n=1).results
                self.assertEqual([result["index"] for result in best],
                                 orders[provider][:1])
                for result in litellm.rerank(**options, return_documents=True).results:
                    self.assertEqual(result["document"]["text"],
                                     DOCUMENTS[result["index"]])
        self.assertEqual(len(set(map(tuple, orders.values()))), 1, orders)

    def test_chats(self):
        options = dict(model="openai/chat", api_base=self.url + "/v1", api_key="none",
                       messages=[{"role": "user", "content": "Hello you"}],
                       temperature=0, max_tokens=8)
        whole = litellm.completion(**options).choices[0].message.content
        text = "".join(chunk.choices[0].delta.content or ""
                       for chunk in litellm.completion(**options, stream=True))
        self.assertEqual(text, whole)

    def test_embeddings(self):
        answer = litellm.embedding(
            model="openai/en-de", api_base=self.url + "/v1", api_key="none",
            input=["The house is big.", "Hi."])
        self.assertEqual(len(answer.data), 2)


if __name__ == "__main__":
    # The list of prices that comes with the package, not the one on the web.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    chat_server.begin("litellm")
    import litellm
    litellm.telemetry = False
    unittest.main(argv=sys.argv[:1])
