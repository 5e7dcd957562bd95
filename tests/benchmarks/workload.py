"""What the servers are asked: a model and a file of inputs of mixed lengths."""

import json
import pathlib
import sys

import marian_folder
import sentences
from machine import ROOT

EMBEDDED = ROOT / "model/embedded"
TEST_SET = ROOT.parent / "shared/data/en-de/dev/tatoeba-unseen-1500.en-de.tsv"


def add_arguments(parser):
    parser.add_argument("--model", default=str(EMBEDDED), help="Marian folder, "
                        "or opus-mt for random weights of that shape")
    parser.add_argument("--precision", default="int8", choices=["int8", "f32"])
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--new-tokens", type=int, help="exactly so many; 0: "
                        "until the end token, the default of a trained model; "
                        "of random weights: 32")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--longest", type=int, default=80, help="tokens of the "
                        "longest; lengths are drawn evenly from 1 on")
    parser.add_argument("--test-set", default=str(TEST_SET), help="what a "
                        "trained model translates: a text a line, up to a tab")


class Workload:
    """`folder`: the model's. `load_flags`: what makes trivium-load ask for it.
    `sources`: the same inputs as ids."""

    def __init__(self, options, work):
        self.beam = options.beam
        self.new_tokens = options.new_tokens
        inputs = work / "inputs"
        self.load_flags = ["--file", str(inputs), "--beam-size", str(self.beam)]
        if options.model == "opus-mt":
            self.name = "OPUS-MT's shape, random weights"
            self.folder = work / "opus-mt"
            marian_folder.write_random(self.folder, marian_folder.OPUS_MT)
            self.sources = sentences.mixed_ids(
                options.sentences, options.longest,
                marian_folder.OPUS_MT["vocabulary"])
            sentences.write_ids(inputs, self.sources)
            self.load_flags.append("--ids")
            if self.new_tokens is None:
                self.new_tokens = 32
        else:
            self.folder = pathlib.Path(options.model).resolve()
            self.name = self.folder.name
            if not pathlib.Path(options.test_set).is_file():
                sys.exit(f"no test set {options.test_set}: name a file of texts "
                         "with --test-set")
            texts = sentences.mixed_texts(
                self.folder, options.test_set, options.sentences,
                options.longest)
            inputs.write_text("\n".join(texts) + "\n", "utf-8")
            self.sources = sentences.TrainedText(self.folder, inputs, 0).sources
            self.new_tokens = self.new_tokens or 0
        if self.new_tokens:
            count = str(self.new_tokens)
            self.load_flags += ["--min-new-tokens", count,
                                "--max-new-tokens", count]
        config = json.loads((self.folder / "config.json").read_text("utf-8"))
        self.vocabulary = config["vocab_size"]

    def describe(self):
        lengths = sorted(len(ids) - 1 for ids in self.sources)
        return {
            "model": self.name,
            "beam": self.beam,
            "new_tokens": self.new_tokens or "until the end token",
            "sentences": len(lengths),
            "source_tokens": {
                "shortest": lengths[0],
                "median": lengths[len(lengths) // 2],
                "longest": lengths[-1],
            },
        }


def in_words(workload):
    tokens = workload["source_tokens"]
    return (f"{workload['model']}, beam {workload['beam']}, "
            f"{workload['sentences']} sentences of {tokens['shortest']} to "
            f"{tokens['longest']} tokens (median {tokens['median']}), new "
            f"tokens: {workload['new_tokens']}")
