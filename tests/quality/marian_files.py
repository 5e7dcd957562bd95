#!/usr/bin/env python3
"""Compares the server with Marian itself, on models that Marian trains here.

    pip install pymarian==1.12.42 sentencepiece protobuf sacrebleu
    tests/quality/marian_files.py PAIRS.tsv TEST.tsv [--programs build/release/bin]

PAIRS.tsv and TEST.tsv have an English and a German sentence a line, divided by
a tab. Trains a small Transformer and one with an SSRU decoder for a minute
each, translates TEST.tsv's first sentences with both engines, in f32, greedily
and with a beam of four, and tells how many translations are equal and what both
engines' are worth. So for each model's .npz, its int8 .bin as marian-conv makes
it, and that as Bergamot's fork of Marian has it; Marian translates with the
.bin's weights in f32 and, of its own .bin, also with int8 activations, which is
told and not judged. With `--bergamot PYTHON`, a Python that has PyPI's bergamot
(translate_with_bergamot.py), Bergamot translates its fork's .bin, too, greedily.
Ends with 1 where scores are more than 0.1 BLEU apart.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import sacrebleu

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "golden"))
import make_marian_bin_goldens as binary  # noqa: E402
import make_marian_npz_goldens as marian  # noqa: E402
from served import Served  # noqa: E402

SIZES = ["--dim-emb", "64", "--transformer-dim-ffn", "128",
         "--transformer-heads", "4", "--enc-depth", "2", "--dec-depth", "2",
         "--tied-embeddings-all", "--dim-vocabs", "1000", "1000",
         "--sentencepiece-max-lines", "20000"]
FARTHEST = 0.1


def make_binary(model, folder):
    """Quantizes a folder's model, as marian-conv does or as its fork."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(model / "vocab.spm", folder)
    if folder.suffix == ".fork":
        items = binary.as_fork_has_them(model / "model.npz")
        binary.write_bin(folder / "model.bin", items)
    else:
        marian.marian("convert", "--from", model / "model.npz", "--to",
                      folder / "model.bin", "--gemm-type", "intgemm8")
        items = binary.read_bin(folder / "model.bin")
    (folder / "decoder.yml").write_text(
        (model / "model.npz.decoder.yml").read_text().replace(".npz", ".bin"))
    binary.dequantize(items, folder / "model.npz")


def by_bergamot(python, folder, texts):
    """Its translations, greedily."""
    script = pathlib.Path(__file__).parent / "translate_with_bergamot.py"
    lines = subprocess.run(
        [python, script, folder], input="".join(text + "\n" for text in texts),
        text=True, check=True, stdout=subprocess.PIPE).stdout.split("\n")[:-1]
    if len(lines) != len(texts):
        raise SystemExit(f"Bergamot gave {len(lines)} translations of "
                         f"{len(texts)}")
    return lines


def compare(folder, pairs, programs, bergamot):
    """Whether the engines agree about the model in a folder."""
    texts = [source for source, _ in pairs]
    references = [[target for _, target in pairs]]

    def score(translations):
        return sacrebleu.corpus_bleu(translations, references).score

    agree = True
    with Served(programs, folder, precision="f32") as served:
        for beam in marian.BEAMS:
            ours = [one["result"]["hypotheses"][0].get("text", "")
                    for one in served.translate(
                        texts, "de", beam,
                        ["--no-split", "--max-new-tokens=200"])]
            peers = [("Marian", marian.translate(folder, texts, beam), True)]
            if folder.suffix == ".bin":
                peers.append((
                    "Marian with int8 activations",
                    marian.translate(folder, texts, beam, model="model.bin"),
                    False))
            if folder.suffix == ".fork" and bergamot and beam == 1:
                peers.append(("Bergamot", by_bergamot(bergamot, folder, texts),
                              True))
            for name, theirs, judged in peers:
                equal = sum(a == b for a, b in zip(ours, theirs))
                print(f"{folder.name}, beam {beam}: {equal} of {len(texts)} "
                      f"equal to {name}'s, BLEU {score(ours):.2f}, "
                      f"{name}'s {score(theirs):.2f}", flush=True)
                if judged:
                    agree &= abs(score(ours) - score(theirs)) <= FARTHEST
    return agree


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pairs")
    parser.add_argument("test")
    parser.add_argument("--programs", default="build/release/bin")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--models", help="keep them in this folder, and take "
                        "those that are there already")
    parser.add_argument("--bergamot", metavar="PYTHON",
                        help="a Python with PyPI's bergamot")
    arguments = parser.parse_args()
    pairs = marian.read_pairs(arguments.pairs)
    test = marian.read_pairs(arguments.test, 1000)[:arguments.sentences]
    agree = True
    with tempfile.TemporaryDirectory() as temporary:
        models = pathlib.Path(arguments.models or temporary)
        for kind, options in marian.KINDS.items():
            folder = models / kind
            if not (folder / "model.npz").is_file():
                marian.train(folder, pairs, arguments.updates, *SIZES, *options)
            agree &= compare(folder, test, arguments.programs,
                             arguments.bergamot)
            for form in (".bin", ".fork"):
                other = models / (kind + form)
                make_binary(folder, other)
                agree &= compare(other, test, arguments.programs,
                                 arguments.bergamot)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
