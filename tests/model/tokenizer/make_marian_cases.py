#!/usr/bin/env python3
"""Updates testdata/en-de.json: for its texts and ids, the results of
Transformers' MarianTokenizer with the embedded model's files.

    pip install transformers==5.23.0 sentencepiece
    tests/model/tokenizer/make_marian_cases.py

Without sacremoses, which changes punctuation.
"""

import json
import pathlib
import sys

from transformers import MarianTokenizer

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parents[2] / "model" / "embedded"
FILE = HERE / "testdata" / "en-de.json"


def main():
    tokenizer = MarianTokenizer.from_pretrained(
        sys.argv[1] if len(sys.argv) > 1 else MODEL)

    def decode(ids):
        return tokenizer.decode(ids, skip_special_tokens=True)

    cases = json.loads(FILE.read_text(encoding="utf-8"))
    encoded = []
    for text in (case["text"] for case in cases["encoded"]):
        ids = tokenizer(text).input_ids
        encoded.append({
            "text": text, "ids": ids,
            "target_ids": tokenizer(text_target=text).input_ids,
            "decoded": decode(ids)})
    decoded = [{"ids": case["ids"], "text": decode(case["ids"])}
               for case in cases["decoded"]]
    FILE.write_text(
        json.dumps({"encoded": encoded, "decoded": decoded},
                   separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
