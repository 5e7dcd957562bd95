"""Peers that continue prompts with SmolLM2 as Q8_0: for compare_decoders.

Each has prompt(threads): tokens a second of reading a prompt, and
streams(count, threads): tokens a second that so many streams write together,
after a prompt of one token. As a program this file is OpenVINO's process, so
that its threads are its own: decoder_peers.py GGUF THREADS PROMPT COUNT TOKENS.
"""

import json
import subprocess
import sys
import time

import numpy as np


class LlamaCpp:
    def __init__(self, name, programs, gguf, prompt_tokens, new_tokens):
        self.name = name
        self._programs, self._gguf = programs, gguf
        self._prompt_tokens, self._new_tokens = prompt_tokens, new_tokens

    def _run(self, program, threads, *flags):
        output = subprocess.run(
            [str(self._programs / program), "-m", str(self._gguf), "-t",
             str(threads), *map(str, flags)],
            check=True, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL).stdout
        return output

    def _bench(self, threads, *flags):
        [test] = json.loads(self._run("llama-bench", threads, "-r", 2, "-o",
                                      "json", *flags))
        return max(test["samples_ts"])

    def prompt(self, threads):
        return self._bench(threads, "-p", self._prompt_tokens, "-n", 0)

    def streams(self, count, threads):
        if count == 1:
            return self._bench(threads, "-p", 0, "-n", self._new_tokens)
        lines = self._run(
            "llama-batched-bench", threads, "-c", count * 2 * self._new_tokens,
            "-npp", 1, "-ntg", self._new_tokens, "-npl", count,
            "--output-format", "jsonl").splitlines()
        [test] = [json.loads(line) for line in lines if line.startswith("{")]
        return test["speed_tg"]


class OpenVino:
    name = "OpenVINO GenAI int8"

    def __init__(self, gguf, prompt_tokens, new_tokens):
        self._gguf = gguf
        self._prompt_tokens, self._new_tokens = prompt_tokens, new_tokens

    def _run(self, *arguments):
        output = subprocess.run(
            [sys.executable, "-B", __file__, str(self._gguf),
             *map(str, arguments)],
            check=True, text=True, stdout=subprocess.PIPE).stdout
        return json.loads(output.splitlines()[-1])

    def prompt(self, threads):
        return self._run(threads, self._prompt_tokens, 1, 1)

    def streams(self, count, threads):
        return self._run(threads, 1, count, self._new_tokens)


def measure_openvino(gguf, threads, prompt_tokens, count, new_tokens):
    """Tokens a second of the best of three rounds, the first of which warms
    up."""
    import openvino
    import openvino_genai

    scheduler = openvino_genai.SchedulerConfig()
    scheduler.cache_size = 1
    scheduler.enable_prefix_caching = False
    scheduler.max_num_batched_tokens = 4096
    pipeline = openvino_genai.ContinuousBatchingPipeline(
        gguf, scheduler, "CPU",
        {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"})
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = new_tokens
    config.ignore_eos = True
    config.do_sample = False
    config.apply_chat_template = False
    random = np.random.default_rng(1)
    best = float("inf")
    for _ in range(3):
        prompts = [openvino.Tensor(random.integers(
            100, 40000, (1, prompt_tokens)).astype(np.int64))
            for _ in range(count)]
        begin = time.perf_counter()
        results = pipeline.generate(prompts, [config] * count)
        best = min(best, time.perf_counter() - begin)
        made = sum(len(result.m_generation_ids[0]) for result in results)
        if made != count * new_tokens:
            raise SystemExit(f"{made} tokens of {count * new_tokens} came back")
    return (prompt_tokens if new_tokens == 1 else count * new_tokens) / best


if __name__ == "__main__":
    print(json.dumps(measure_openvino(sys.argv[1], *map(int, sys.argv[2:]))))
