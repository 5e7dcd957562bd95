"""Turns corpora into packed ids: cleans them, drops sentences of test sets,
weights everyday language, adds variants as people type them, and makes the
vocabulary.

    python prepare.py --corpus tatoeba.tsv.xz=4 --corpus msdocs-ht.tsv.xz=0.3 \\
        --test-set newstest2014.tsv --output build/training/data

writes data.npz, validation.npz, source.spm, target.spm and vocab.json.
"""

import argparse
import collections
import itertools
import pathlib
import random

import augment
import corpora
import packed
import vocabulary

# Shorter texts are joined into longer ones.
JOINED_CHARACTERS = 60
# Of longer pairs, only those up to here are changed.
CHANGED_CHARACTERS = 250


def weighted_file(text):
    path, _, weight = text.rpartition("=")
    try:
        weight = float(weight)
    except ValueError:
        path = ""
    if not path or not 0 <= weight < 1000:
        raise argparse.ArgumentTypeError(
            f"{text} is not FILE=WEIGHT, as tatoeba.tsv.xz=3")
    return pathlib.Path(path), weight


def parse_arguments():
    parser = argparse.ArgumentParser(
        description="Makes the training data of the embedded model.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--corpus", action="append", required=True,
                        type=weighted_file, metavar="FILE=WEIGHT", help="lines "
                        "english<TAB>german, .xz or not; how often an epoch "
                        "has each of its pairs; repeats")
    parser.add_argument("--test-set", action="append", default=[],
                        metavar="FILE", help="pairs with a side that occurs "
                        "there are dropped; repeats")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--vocabulary-size", type=int, default=8000)
    parser.add_argument("--init", type=pathlib.Path, help="a Marian folder "
                        "whose vocabulary is kept, so that its weights can be "
                        "trained on")
    parser.add_argument("--variants", type=float, default=0.6, help="so many "
                        "changed copies for each short pair")
    parser.add_argument("--long-variants", type=float, default=0.06,
                        help="so many changed copies for each longer pair")
    parser.add_argument("--texts", type=float, default=0.1, help="so many "
                        "whole texts of several pairs for each pair of an "
                        "epoch")
    parser.add_argument("--validation-pairs", type=int, default=400,
                        help="of the first corpus, kept from training")
    parser.add_argument("--longest", type=int, default=320,
                        help="tokens of a text")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def read_corpora(options):
    """Returns [(name, weight, pairs)] and prints what was dropped."""
    held_out = corpora.HeldOut(options.test_set)
    result = []
    print(f"{'corpus':24}{'read':>9}{'unclean':>9}{'repeated':>9}"
          f"{'in tests':>9}{'kept':>9}{'weight':>8}")
    for path, weight in options.corpus:
        counts = collections.Counter()
        pairs = list(corpora.training_pairs(path, held_out, counts))
        name = path.name.split(".")[0]
        print(f"{name:24}{counts['read']:9,}{counts['unclean']:9,}"
              f"{counts['repeated']:9,}{counts['held out']:9,}"
              f"{len(pairs):9,}{weight:>8g}", flush=True)
        result.append((name, weight, pairs))
    return result


def split_validation(sections, count, generator):
    """Returns `count` pairs of the first corpus, and all corpora's pairs that
    share no side with them."""
    name, _, pairs = sections[0]
    chosen = generator.sample(pairs, min(count, len(pairs) // 10))
    if not chosen:
        raise SystemExit(
            f"{name}: of {len(pairs)} pairs, a tenth is too few to validate "
            "with; begin with a corpus of more, or ask for --validation-pairs")
    keys = {corpora.key(text) for pair in chosen for text in pair}
    return chosen, [
        (name, weight, [pair for pair in pairs
                        if keys.isdisjoint(map(corpora.key, pair))])
        for name, weight, pairs in sections]


def long_variants(pairs, share, generator):
    """Returns changed copies of longer pairs."""
    chosen = [pair for pair in pairs
              if JOINED_CHARACTERS < len(pair[0]) <= CHANGED_CHARACTERS]
    for pair in generator.sample(chosen, int(len(chosen) * share)):
        changed = augment.augmented(pair, generator, augment.LONG_WEIGHTS)
        if changed:
            yield changed


def variants(pairs, share, generator):
    """Returns changed copies of short pairs, and several as one text."""
    short = [pair for pair in pairs if len(pair[0]) <= JOINED_CHARACTERS]
    if not short:
        return
    for pair in generator.choices(short, k=int(len(short) * share * 0.75)):
        changed = augment.augmented(pair, generator)
        if changed:
            yield changed
    for _ in range(int(len(short) * share * 0.25)):
        count = generator.choice((2, 2, 3, 3, 4))
        text = augment.joined(generator.choices(short, k=count))
        if generator.random() < 0.3:
            text = augment.augmented(text, generator) or text
        yield text


def texts(sections, share, generator):
    """Returns whole texts, each from one corpus, drawn like an epoch's
    pairs."""
    weights = [weight * len(pairs) for _, weight, pairs in sections]
    for _ in range(int(share * sum(weights))):
        _, _, pairs = generator.choices(sections, weights)[0]
        count = generator.choice(augment.SENTENCES)
        yield augment.text(generator.choices(pairs, k=count), generator)


def texts_of(sections, generator):
    """Yields the texts that the vocabulary is made of: each corpus by its
    weight, without changed copies, whose letters are drawn at random."""
    texts = []
    for name, weight, pairs in sections:
        if name.endswith(packed.VARIANTS):
            continue
        count = int(len(pairs) * min(1, weight))
        texts.extend(itertools.chain.from_iterable(
            pair[:2] for pair in generator.sample(pairs, count)))
    generator.shuffle(texts)
    return texts


def pack(sections, words, longest):
    packer = packed.Packer()
    for name, weight, pairs in sections:
        packer.begin(name, weight)
        # Plain pairs, or sources with targets of their own.
        for size in (2, 4):
            some = [pair for pair in pairs if len(pair) == size]
            for texts in zip(*(words.encode(side) for side in zip(*some))):
                if all(0 < len(ids) <= longest for ids in texts):
                    packer.add(*texts)
    return packer.packed()


def main():
    options = parse_arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    generator = random.Random(options.seed)
    validation, sections = split_validation(
        read_corpora(options), options.validation_pairs, generator)
    whole = list(texts(sections, options.texts, generator))
    sections = list(itertools.chain.from_iterable(
        ((name, weight, pairs),
         (name + packed.VARIANTS, weight,
          [*variants(pairs, options.variants, generator),
           *long_variants(pairs, options.long_variants, generator)]))
        for name, weight, pairs in sections))
    sections.append(("texts" + packed.VARIANTS, 1.0, whole))
    sections = [section for section in sections if section[2]]
    if options.init:
        words = vocabulary.Vocabulary.of_folder(options.init)
    else:
        words = vocabulary.Vocabulary(vocabulary.train(
            texts_of(sections, generator), options.vocabulary_size))
    words.write(options.output)
    data = pack(sections, words, options.longest)
    data.save(options.output / "data.npz")
    pack([("validation", 1.0, validation)], words, options.longest).save(
        options.output / "validation.npz")
    for section in data.sections:
        tokens = data.lengths[section.first:section.last].sum()
        print(f"{section.name:24}{section.last - section.first:9,} pairs "
              f"{tokens:12,} tokens, weight {section.weight}")
    print(f"{len(words):,} pieces; {options.output / 'data.npz'}: "
          f"{(options.output / 'data.npz').stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
