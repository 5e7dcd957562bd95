"""Tests a real server with Hugging Face's InferenceClient.

hugging_face_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

import chat_server
from chat_server import ROOT

TEXT = "The house is big."
KINDS = ("classify", "tag", "fill_mask", "answer")


def make_summary_folder(folder):
    """Makes a T5 with a task for summaries, as tasks_test.cc does."""
    golden = ROOT / "tests/golden/t5.generate"
    folder.mkdir()
    for file in ("generation_config.json", "model.safetensors"):
        shutil.copy(golden / file, folder)
    shutil.copy(ROOT / "tests/model/testdata/languages/pegasus/spiece.model", folder)
    config = json.loads((golden / "config.json").read_text())
    config["task_specific_params"] = {
        "summarization": {"prefix": "summarize: ", "num_beams": 4, "min_length": 10,
                          "max_length": 16, "no_repeat_ngram_size": 3}}
    (folder / "config.json").write_text(json.dumps(config))


class OneModelTest(unittest.TestCase):
    """Each task by the server's address alone, which has one model."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def client(self, make, *flags):
        folder = pathlib.Path(self.scratch.name) / "model"
        make(folder)
        server = chat_server.Server(chat_server.ServerTest.program,
                                    self.scratch.name, "--model", folder, *flags)
        self.addCleanup(server.stop)
        return InferenceClient(server.url)

    def encoder(self, kind):
        return self.client(
            lambda folder: chat_server.make_encoder_folder(folder, "bert." + kind))

    def test_text_classification(self):
        client = self.encoder("classify")
        labels = client.text_classification("ab c.")
        self.assertGreater(len(labels), 1)
        self.assertAlmostEqual(sum(label.score for label in labels), 1, places=4)
        best = client.text_classification("ab c.", top_k=1)
        self.assertEqual([label.label for label in best], [labels[0].label])
        logits = client.text_classification("ab c.", function_to_apply="none")
        self.assertNotAlmostEqual(sum(label.score for label in logits), 1, places=2)
        with self.assertRaisesRegex(HfHubHTTPError, "function_to_apply"):
            client.text_classification("ab c.", function_to_apply="sigmoid")

    def test_token_classification(self):
        client = self.encoder("tag")
        text = "ab c."
        spans = client.token_classification(text, ignore_labels=["none of them"])
        self.assertTrue(spans)
        for span in spans:
            self.assertEqual(text[span.start:span.end], span.word)
            self.assertTrue(span.entity_group)
        tokens = client.token_classification(text, aggregation_strategy="none",
                                             ignore_labels=["none of them"])
        self.assertEqual([token.word for token in tokens], ["a", "b", "c", "."])
        self.assertTrue(all(token.entity for token in tokens))
        with self.assertRaisesRegex(HfHubHTTPError, "stride"):
            client.token_classification(text, stride=2)

    def test_fill_mask(self):
        client = self.encoder("fill_mask")
        fits = client.fill_mask("ab [MASK].")
        self.assertEqual(len(fits), 5)
        self.assertEqual(fits[0].sequence, f"ab {fits[0].token_str}.")
        self.assertEqual(sorted((fit.score for fit in fits), reverse=True),
                         [fit.score for fit in fits])
        self.assertEqual(client.fill_mask("ab [MASK].", top_k=1), fits[:1])
        with self.assertRaisesRegex(HfHubHTTPError, "targets"):
            client.fill_mask("ab [MASK].", targets=["c"])

    def test_question_answering(self):
        client = self.encoder("answer")
        context = "a b c d e."
        answer = client.question_answering(question="b?", context=context)
        self.assertEqual(context[answer.start:answer.end], answer.answer)
        answers = client.question_answering(
            question="b?", context=context, top_k=3, max_answer_len=2)
        self.assertEqual(len(answers), 3)
        with self.assertRaisesRegex(HfHubHTTPError, "max_seq_len"):
            client.question_answering(question="b?", context=context, max_seq_len=9)

    def test_summarization(self):
        client = self.client(make_summary_folder)
        text = "The cat sat on the mat. It has seen the dog, too."
        whole = client.summarization(text).summary_text
        self.assertTrue(whole)
        short = client.summarization(text, generate_parameters={
            "max_new_tokens": 2, "min_new_tokens": 0}).summary_text
        self.assertLess(len(short), len(whole))

    def test_zero_shot_classification(self):
        client = self.client(lambda folder: shutil.copytree(
            ROOT / "tests/golden/retrieval/zero_shot.bert", folder))
        labels = client.zero_shot_classification(
            "the team won the game", candidate_labels=["sport", "music"])
        self.assertEqual({label.label for label in labels}, {"sport", "music"})
        self.assertAlmostEqual(sum(label.score for label in labels), 1, places=4)


    def test_text_generation(self):
        client = self.client(chat_server.make_chat_folder)
        text = client.text_generation("Hello you", max_new_tokens=8)
        self.assertTrue(text)
        self.assertEqual("".join(client.text_generation(
            "Hello you", max_new_tokens=8, stream=True)), text)
        whole = client.text_generation("Hello you", max_new_tokens=8, details=True,
                                       return_full_text=True)
        self.assertEqual(whole.generated_text, "Hello you" + text)
        self.assertEqual(whole.details.finish_reason, "length")
        self.assertEqual(len(whole.details.tokens), 8)
        last = list(client.text_generation("Hello you", max_new_tokens=8,
                                           details=True, stream=True))[-1]
        self.assertEqual(last.generated_text, text)
        self.assertEqual(last.details.generated_tokens, 8)
        drawn = [client.text_generation("Hello you", max_new_tokens=8, do_sample=True,
                                        temperature=2.0, seed=5) for _ in range(2)]
        self.assertEqual(drawn[0], drawn[1])
        held = client.text_generation("Hello you", max_new_tokens=20, grammar={
            "type": "regex", "value": "[ab]{3}"})
        self.assertRegex(held, "^[ab]{3}$")
        with self.assertRaisesRegex(ValidationError, "truncate"):
            client.text_generation("Hello you", truncate=3)


class ManyModelsTest(chat_server.ServerTest):
    """All tasks of one server: the address names the task."""

    @classmethod
    def flags(cls, scratch):
        flags = super().flags(scratch) + ["--any-model"]
        for kind in KINDS:
            chat_server.make_encoder_folder(scratch / kind, "bert." + kind)
            flags += ["--model", scratch / kind]
        return flags

    def client(self, task):
        return InferenceClient(f"{self.url}/pipeline/{task}")

    def test_vectors(self):
        vectors = InferenceClient(self.url).feature_extraction(TEXT, normalize=True)
        self.assertEqual(vectors.shape[0], 1)
        self.assertAlmostEqual(float((vectors ** 2).sum()), 1, places=4)
        same = self.client("feature-extraction").feature_extraction(
            TEXT, truncate=True, truncation_direction="left")
        self.assertEqual(same.tolist(), vectors.tolist())
        for client in (InferenceClient(self.url), self.client("sentence-similarity")):
            similar = client.sentence_similarity(TEXT, other_sentences=[TEXT, "Hi."])
            self.assertAlmostEqual(similar[0], 1, places=4)
            self.assertLess(similar[1], 0.999)

    def test_translation(self):
        for client in (InferenceClient(self.url), self.client("translation")):
            answer = client.translation(TEXT, src_lang="en", tgt_lang="de")
            self.assertIn("Haus", answer.translation_text)
        with self.assertRaisesRegex(HfHubHTTPError, "tgt_lang"):
            client.translation(TEXT, src_lang="en", tgt_lang="zz")

    def test_tasks_by_name(self):
        self.assertTrue(self.client("text-classification").text_classification("ab"))
        self.assertTrue(self.client("token-classification").token_classification(
            "ab", ignore_labels=["none of them"]))
        self.assertTrue(self.client("fill-mask").fill_mask("a [MASK]"))
        self.assertTrue(self.client("question-answering").question_answering(
            question="a?", context="a b").answer)

    def test_text_generation(self):
        client = self.client("text-generation")
        text = client.text_generation("Hello you", max_new_tokens=4)
        pieces = client.text_generation("Hello you", max_new_tokens=4, stream=True,
                                        details=True)
        self.assertEqual("".join(piece.token.text for piece in pieces
                                 if not piece.token.special), text)

    def test_chats(self):
        client = InferenceClient(self.url)
        options = dict(messages=[{"role": "user", "content": "Hello you"}],
                       max_tokens=8, temperature=0)
        whole = client.chat_completion(**options).choices[0].message.content
        self.assertTrue(whole)
        pieces = client.chat_completion(**options, stream=True)
        self.assertEqual("".join(piece.choices[0].delta.content or ""
                                 for piece in pieces), whole)


if __name__ == "__main__":
    # The client makes its vectors with numpy.
    chat_server.begin("huggingface_hub", "numpy")
    from huggingface_hub import InferenceClient
    from huggingface_hub.errors import HfHubHTTPError, ValidationError
    unittest.main(argv=sys.argv[:1])
