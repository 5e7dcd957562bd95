#!/usr/bin/env python3
"""Compares a chat model's answers to short questions between precisions.

short_answers.py SERVER MODEL QUESTIONS.tsv [FLAGS...]

SERVER is trivium-server. A line of QUESTIONS.tsv is a question, a tab, and the
words of right answers with | between them. Each further argument is the flags of
one run, such as "--precision int8 --kv-precision bf16"; the first run is the one
that others are compared with. Prints a line a run: how many answers are right,
and how many of them the first run has, or has not; how many begin with its token,
and how many have all of its tokens.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

TOKENS = 16


def answers(server, model, flags, questions):
    """The text and the tokens of each answer."""
    with tempfile.TemporaryDirectory() as folder:
        ports = pathlib.Path(folder, "ports")
        process = subprocess.Popen(
            [server, "--model", f"m={model}", "--listen", "127.0.0.1:0",
             "--http-listen", "127.0.0.1:0", "--metrics-listen", "off",
             "--log-level", "warn", "--port-file", str(ports), *flags.split()])
        try:
            while not ports.exists():
                if process.poll() is not None:
                    sys.exit("the server ended; its last lines say why")
                time.sleep(0.1)
            port = dict(line.split() for line in ports.read_text().splitlines())["http"]
            return [ask(port, question) for question in questions]
        finally:
            process.terminate()
            process.wait()


def ask(port, question):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions",
        json.dumps({"model": "m", "temperature": 0, "max_tokens": TOKENS,
                    "logprobs": True,
                    "messages": [{"role": "user", "content": question}]}).encode(),
        {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        choice = json.load(response)["choices"][0]
    tokens = [token["token"] for token in choice["logprobs"]["content"]]
    return choice["message"]["content"], tokens


def main():
    server, model, questions, *runs = sys.argv[1:]
    lines = pathlib.Path(questions).read_text().splitlines()
    pairs = [line.split("\t") for line in lines]
    first = None
    for flags in runs or [""]:
        given = answers(server, model, flags, [question for question, _ in pairs])
        right = [any(word.lower() in text.lower() for word in words.split("|"))
                 for (text, _), (_, words) in zip(given, pairs)]
        first = first or (given, right)
        both = list(zip(first[0], given))
        print(f"{flags}: {sum(right)} of {len(right)} right,",
              f"lost {sum(a and not b for a, b in zip(first[1], right))},",
              f"won {sum(b and not a for a, b in zip(first[1], right))};",
              f"first token {sum(a[1][:1] == b[1][:1] for a, b in both)},",
              f"all {sum(a[1] == b[1] for a, b in both)}", flush=True)


if __name__ == "__main__":
    main()
