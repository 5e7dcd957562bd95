#!/usr/bin/env python3
"""What int8 costs T5s that have outliers, on tiny ones that are taught here.

    pip install torch transformers sentencepiece protobuf sacrebleu
    tests/quality/t5_int8.py PAIRS.tsv TEST.tsv [--programs build/release/bin]

PAIRS.tsv and TEST.tsv have an English and a German sentence a line, divided by
a tab; PAIRS.tsv may be compressed (.xz). Teaches a T5 1.0 (relu) and a T5 1.1
(gated gelu, an output of its own) for some minutes and translates TEST.tsv's
first sentences with the server in f32, bf16 and int8:

- as they were taught;
- with outliers put in that change no function: some rows of the feed-forward's
  first product times 50, with what reads them by 50; some dimensions of the
  norms times 30, with what reads them by 30;
- taught on with these.

Prints BLEU and the mean log-probability of the references' tokens. Ends with 1
where a precision's are more than 0.5 or 0.02 below f32's.
"""

import argparse
import dataclasses
import json
import lzma
import pathlib
import random
import sys
import tempfile

import sacrebleu
import sentencepiece
import torch
import transformers
from safetensors.torch import load_file
from sentencepiece import sentencepiece_model_pb2

from served import Served

ROOT = pathlib.Path(__file__).resolve().parents[2]
EMBEDDED = ROOT / "model/embedded"
PAD, END = 0, 1
KINDS = {
    "relu": {"feed_forward_proj": "relu", "tie_word_embeddings": True},
    "gated": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
}
HIDDEN_FACTOR, NORM_FACTOR = 50, 30
ONE_IN = 32  # so many dimensions have one outlier
PRECISIONS = ("f32", "bf16", "int8")
FARTHEST_BLEU, FARTHEST_LOGPROB = 0.5, 0.02


def write_vocabulary(folder):
    """The embedded model's, with T5's padding in front."""
    pieces = sentencepiece_model_pb2.ModelProto()
    pieces.ParseFromString((EMBEDDED / "source.spm").read_bytes())
    pad = pieces.SentencePiece(
        piece="<pad>", score=0, type=pieces.SentencePiece.CONTROL)
    all_pieces = [pad, *pieces.pieces]
    del pieces.pieces[:]
    pieces.pieces.extend(all_pieces)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spiece.model").write_bytes(pieces.SerializeToString())
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "T5Tokenizer", "extra_ids": 0}')
    return sentencepiece.SentencePieceProcessor(
        model_file=str(folder / "spiece.model"))


def read_pairs(path):
    path = pathlib.Path(path)
    data = path.read_bytes()
    text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode()
    return [line.split("\t")[:2] for line in text.split("\n") if "\t" in line]


class Lessons:
    """Endless batches of pairs of about one length."""

    BATCH, LONGEST = 64, 20

    def __init__(self, pieces, pairs, seed):
        sides = [[[*ids, END] for ids in pieces.encode(list(texts))]
                 for texts in zip(*pairs)]
        self._pairs = [pair for pair in zip(*sides)
                       if max(map(len, pair)) <= self.LONGEST]
        self._random = random.Random(seed)

    def __iter__(self):
        while True:
            some = self._random.sample(
                self._pairs, min(100 * self.BATCH, len(self._pairs)))
            some.sort(key=lambda pair: max(map(len, pair)))
            batches = [some[i:i + self.BATCH]
                       for i in range(0, len(some), self.BATCH)]
            self._random.shuffle(batches)
            for batch in batches:
                yield [self._padded(side, by) for side, by in
                       zip(zip(*batch), (PAD, -100))]

    @staticmethod
    def _padded(lists, by):
        longest = max(map(len, lists))
        return torch.tensor([ids + [by] * (longest - len(ids))
                             for ids in lists])


@torch.no_grad()
def new_model(kind, pieces):
    """Its embeddings are the embedded model's, as far as a narrower model can
    have them: the pupil knows its words then and soon learns the rest."""
    torch.manual_seed(1)
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=pieces.get_piece_size(), d_model=128, d_kv=32, d_ff=512,
        num_layers=2, num_heads=4, dropout_rate=0, pad_token_id=PAD,
        eos_token_id=END, decoder_start_token_id=PAD, **KINDS[kind]))
    ids = json.loads((EMBEDDED / "vocab.json").read_text("utf-8"))
    known = load_file(EMBEDDED / "model.safetensors")[
        "model.shared.weight"].float()
    known = known[[ids.get(pieces.id_to_piece(i), ids["<unk>"])
                   for i in range(pieces.get_piece_size())]]
    known -= known.mean(0)
    directions = torch.linalg.eigh(known.T @ known).eigenvectors
    narrow = known @ directions[:, -model.config.d_model:]
    model.shared.weight.copy_(narrow / narrow.std())
    if not model.config.tie_word_embeddings:
        model.lm_head.weight.copy_(
            model.shared.weight / model.config.d_model**0.5)
    return model


def teach(model, lessons, steps, rate, kept):
    """Adam with a rate that rises and falls linearly. What is kept in the file
    `kept` of a run that was ended goes on there."""
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / 200, 1 - step / steps))
    begin = 0
    if kept.is_file():
        state = torch.load(kept)
        begin = state["step"]
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
    model.train()
    for step, (source, target) in zip(range(begin, steps), lessons):
        loss = model(input_ids=source, attention_mask=(source != PAD).long(),
                     labels=target).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if (step + 1) % 100 == 0:
            print(f"step {step + 1} of {steps}, loss {loss.item():.2f}",
                  file=sys.stderr, flush=True)
            kept.parent.mkdir(parents=True, exist_ok=True)
            torch.save({"step": step + 1, "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                        "schedule": schedule.state_dict()}, kept)


@torch.no_grad()
def add_outliers(model):
    """Changes weights and not what they compute."""
    generator = torch.Generator().manual_seed(2)

    def chosen(size):
        return torch.randperm(size, generator=generator)[:size // ONE_IN]

    def scale_norm(norm, readers):
        rows = chosen(norm.weight.numel())
        norm.weight[rows] *= NORM_FACTOR
        for reader in readers:
            reader.weight[:, rows] /= NORM_FACTOR

    cross = []  # what reads the encoder's states
    for stack in (model.encoder, model.decoder):
        for block in stack.block:
            own = block.layer[0]
            attention = own.SelfAttention
            scale_norm(own.layer_norm, (attention.q, attention.k, attention.v))
            if stack.is_decoder:
                attention = block.layer[1].EncDecAttention
                scale_norm(block.layer[1].layer_norm, (attention.q,))
                cross += [attention.k, attention.v]
            dense = block.layer[-1].DenseReluDense
            # Of a gated one wi_1, behind which there is no activation.
            up, first = ((dense.wi, (dense.wi,)) if hasattr(dense, "wi")
                         else (dense.wi_1, (dense.wi_0, dense.wi_1)))
            scale_norm(block.layer[-1].layer_norm, first)
            rows = chosen(up.weight.shape[0])
            up.weight[rows] *= HIDDEN_FACTOR
            dense.wo.weight[:, rows] /= HIDDEN_FACTOR
    scale_norm(model.encoder.final_layer_norm, cross)
    if not model.config.tie_word_embeddings:
        scale_norm(model.decoder.final_layer_norm, (model.lm_head,))


def make_models(kind, arguments, folder):
    """Teaches a kind and writes its variants, unless they are there."""
    variants = [folder / f"{kind}.{name}"
                for name in ("taught", "outliers", "outliers-taught")]
    if all((variant / "config.json").is_file() for variant in variants):
        return variants
    pieces = write_vocabulary(variants[0])
    for variant in variants[1:]:
        write_vocabulary(variant)
    pairs = read_pairs(arguments.pairs)
    model = new_model(kind, pieces)
    teach(model, Lessons(pieces, pairs, 1), arguments.steps, 4e-3,
          folder / f"{kind}.state")
    model.save_pretrained(variants[0])
    add_outliers(model)
    model.save_pretrained(variants[1])
    teach(model, Lessons(pieces, pairs, 2), arguments.steps // 4, 2e-4,
          folder / f"{kind}.outliers.state")
    model.save_pretrained(variants[2])
    return variants


@dataclasses.dataclass
class Quality:
    """What a model's translations are worth, and how probable a reference's
    token is to it: the logarithm, the mean of all."""
    bleu: float
    logprob: float

    def __str__(self):
        return f"{self.bleu:.2f}, {self.logprob:.4f}"

    def near(self, f32):
        return (f32.bleu - self.bleu <= FARTHEST_BLEU
                and f32.logprob - self.logprob <= FARTHEST_LOGPROB)


def measure(programs, variant, precision, pairs):
    with Served(programs, variant, precision) as served:
        results = served.translate([source for source, _ in pairs], "de", beam=1,
                                   flags=["--no-split", "--max-new-tokens=100"])
        scores = served.score(pairs, "de")
    texts = [one["result"]["hypotheses"][0].get("text", "") for one in results]
    logprobs, counts = zip(*scores)
    return Quality(
        sacrebleu.corpus_bleu(texts, [[target for _, target in pairs]]).score,
        sum(logprobs) / sum(counts))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pairs")
    parser.add_argument("test")
    parser.add_argument("--programs", default="build/release/bin")
    parser.add_argument("--sentences", type=int, default=1500)
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--kinds", default=",".join(KINDS),
                        type=lambda text: text.split(","))
    parser.add_argument("--models", help="keep them in this folder, and take "
                        "those that are there already")
    parser.add_argument("--teach-only", action="store_true")
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.test)[:arguments.sentences]
    holds = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.models or temporary)
        variants = [variant for kind in arguments.kinds
                    for variant in make_models(kind, arguments, folder)]
        if arguments.teach_only:
            return 0
        print("| | " + " | ".join(PRECISIONS) + " |")
        print("|---" * (1 + len(PRECISIONS)) + "|")
        for variant in variants:
            found = [measure(arguments.programs, variant, precision, pairs)
                     for precision in PRECISIONS]
            holds &= all(quality.near(found[0]) for quality in found)
            print(f"| {variant.name} | "
                  + " | ".join(map(str, found)) + " |", flush=True)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
