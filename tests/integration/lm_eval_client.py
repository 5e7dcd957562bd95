"""Tests a real server with EleutherAI's lm-evaluation-harness: its scores of a small
task through /v1/completions are those of its own Transformers backend.

lm_eval_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py. Transformers'
backend needs torch and accelerate, which are not fetched: without them that part is
skipped.
"""

import importlib.util
import json
import os
import sys
import unittest

import chat_server

QUESTIONS = [
    ("Hello you", [" and me", " or nobody", "!"], 0),
    ("One, two,", [" three", " seven", " blue"], 0),
    ("The sky is", [" green", " blue", " a café"], 1),
    ("Water is", [" dry", " wet", " loud"], 1)]
CHOICE = """
task: small_choice
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: "{{answer}}"
target_delimiter: ""
metric_list: [{metric: acc}, {metric: acc_norm}]
"""
ROLLING = """
task: small_rolling
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{question}}"
metric_list: [{metric: word_perplexity}, {metric: byte_perplexity}]
"""


class LmEvalTest(chat_server.ServerTest):
    @classmethod
    def flags(cls, scratch):
        flags = super().flags(scratch) + ["--precision", "f32"]
        cls.scratch = scratch
        cls.chat = scratch / "chat"
        (cls.chat / "tokenizer_config.json").write_text(json.dumps(
            {"tokenizer_class": "PreTrainedTokenizerFast",
             "eos_token": "<|im_end|>"}))
        data = scratch / "data.jsonl"
        data.write_text("".join(json.dumps(dict(zip(
            ("question", "choices", "answer"), row))) + "\n" for row in QUESTIONS))
        tasks = scratch / "tasks"
        tasks.mkdir()
        (tasks / "choice.yaml").write_text(CHOICE % data)
        (tasks / "rolling.yaml").write_text(ROLLING % data)
        return flags

    def scores(self, kind, /, **arguments):
        """The log-probabilities of all choices, and the tasks' metrics."""
        found = lm_eval.simple_evaluate(
            model=kind, model_args=arguments, tasks=["small_choice", "small_rolling"],
            task_manager=TaskManager(include_path=str(self.scratch / "tasks")),
            bootstrap_iters=0, log_samples=True)
        samples = [[float(answer[0][0]) for answer in sample["resps"]]
                   for sample in found["samples"]["small_choice"]]
        metrics = {task: {name: value for name, value in metrics.items()
                          if isinstance(value, float)}
                   for task, metrics in found["results"].items()}
        return samples, metrics

    def served(self):
        return self.scores(
            "local-completions", base_url=self.url + "/v1/completions", model="chat",
            tokenizer=str(self.chat), tokenizer_backend="huggingface", max_length=512)

    def test_scores(self):
        samples, metrics = self.served()
        self.assertEqual([len(row) for row in samples], [3, 3, 3, 3])
        self.assertTrue(all(value < 0 for row in samples for value in row))
        self.assertGreater(metrics["small_rolling"]["word_perplexity,none"], 1)

    @unittest.skipUnless(all(map(importlib.util.find_spec, ("torch", "accelerate"))),
                         "there is no PyTorch, or no accelerate")
    def test_scores_are_those_of_transformers(self):
        samples, metrics = self.served()
        expected, expected_metrics = self.scores(
            "hf", pretrained=str(self.chat), dtype="float32", device="cpu",
            max_length=512)
        for row, expected_row in zip(samples, expected):
            for value, expected_value in zip(row, expected_row):
                self.assertAlmostEqual(value, expected_value, delta=1e-3)
        for task, values in expected_metrics.items():
            for name, value in values.items():
                self.assertAlmostEqual(metrics[task][name] / value if value else 1, 1,
                                       delta=1e-3, msg=f"{task} {name}")


if __name__ == "__main__":
    # Nothing is fetched from the hub.
    os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1",
                      TOKENIZERS_PARALLELISM="false")
    chat_server.begin("lm_eval[api]", "transformers", heavy=True)
    import lm_eval
    from lm_eval.tasks import TaskManager
    unittest.main(argv=sys.argv[:1])
