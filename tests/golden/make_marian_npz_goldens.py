#!/usr/bin/env python3
"""Makes golden folders of Marian's own files, with what Marian translates.

    pip install pymarian==1.12.42 sentencepiece protobuf
    make_marian_npz_goldens.py PAIRS.tsv TEXTS FOLDER

PAIRS.tsv has an English and a German sentence a line, divided by a tab; TEXTS
has English ones to translate. In FOLDER, a folder for each of KINDS gets a tiny
model that is trained for a minute, and golden.tsv: beam size, text and
translation, of searches that divide scores by their lengths.
"""

import pathlib
import subprocess
import sys

from sentencepiece import sentencepiece_model_pb2

# What the models differ in.
KINDS = {
    "transformer": [],
    "ssru": ["--transformer-decoder-autoreg", "rnn", "--dec-cell", "ssru",
             "--transformer-ffn-activation", "relu"],
}
SIZES = ["--dim-emb", "24", "--transformer-dim-ffn", "48", "--transformer-heads",
         "4", "--enc-depth", "1", "--dec-depth", "2", "--tied-embeddings-all"]
# A vocabulary without the 240 kB of SentencePiece's usual normalization.
VOCABULARY = ["--dim-vocabs", "400", "400", "--sentencepiece-max-lines", "20000",
              "--sentencepiece-options", "--normalization_rule_name=identity"]
BEAMS = (1, 4)
NORMALIZE = 1


def marian(*arguments):
    subprocess.run([sys.executable, "-m", "pymarian", *map(str, arguments)],
                   check=True, stderr=subprocess.DEVNULL)


def train(folder, pairs, updates, *arguments):
    """Trains model.npz and its vocab.spm in a folder, without a trace of what
    else training leaves."""
    folder.mkdir(parents=True, exist_ok=True)
    sides = [folder / "train.en", folder / "train.de"]
    for side, path in enumerate(sides):
        path.write_text("".join(pair[side] + "\n" for pair in pairs))
    vocabulary = folder / "vocab.spm"
    marian("train", "--type", "transformer", "--model", folder / "model.npz",
           "--train-sets", *sides, "--vocabs", vocabulary, vocabulary,
           "--cpu-threads", 1, "--workspace", 500, "--mini-batch", 64,
           "--maxi-batch", 50, "--max-length", 40, "--learn-rate", 0.003,
           "--lr-warmup", 200, "--optimizer-params", 0.9, 0.98, 1e-9,
           "--label-smoothing", 0.1, "--after-batches", updates,
           "--save-freq", 10 ** 6, "--seed", 1, "--overwrite", *arguments)
    for path in [*sides, *folder.glob("model.npz.*")]:
        path.unlink()
    pieces = sentencepiece_model_pb2.ModelProto()
    pieces.ParseFromString(vocabulary.read_bytes())
    pieces.trainer_spec.ClearField("input")
    pieces.trainer_spec.ClearField("model_prefix")
    vocabulary.write_bytes(pieces.SerializeToString())
    (folder / "model.npz.decoder.yml").write_text(
        "models:\n  - model.npz\nvocabs:\n  - vocab.spm\n  - vocab.spm\n"
        f"beam-size: {max(BEAMS)}\nnormalize: {NORMALIZE}\n")


def translate(folder, texts, beam, *arguments, model="model.npz"):
    source, target = folder / "source", folder / "target"
    source.write_text("".join(text + "\n" for text in texts))
    marian("decode", "--models", folder / model, "--vocabs",
           folder / "vocab.spm", folder / "vocab.spm", "--beam-size", beam,
           "--normalize", NORMALIZE, "--cpu-threads", 1, "--workspace", 200,
           "--max-length-factor", 10, "--quiet", "--input", source, "--output",
           target, *arguments)
    translations = target.read_text().split("\n")[:-1]
    source.unlink()
    target.unlink()
    return translations


def read_pairs(path, longest=80):
    lines = pathlib.Path(path).read_text().split("\n")[:-1]
    pairs = [line.split("\t")[:2] for line in lines]
    return [pair for pair in pairs if len(pair[0]) < longest]


def main():
    pairs = read_pairs(sys.argv[1])
    texts = pathlib.Path(sys.argv[2]).read_text().split("\n")[:-1]
    for kind, arguments in KINDS.items():
        folder = pathlib.Path(sys.argv[3], kind)
        train(folder, pairs, 1200, *SIZES, *VOCABULARY, *arguments)
        lines = [f"{beam}\t{text}\t{translation}\n" for beam in BEAMS
                 for text, translation in
                 zip(texts, translate(folder, texts, beam))]
        (folder / "golden.tsv").write_text("".join(lines))


if __name__ == "__main__":
    main()
