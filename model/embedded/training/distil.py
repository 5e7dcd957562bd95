"""A teacher's translations as training text (Kim and Rush, 2016), both ways.

    python distil.py --data build/training/data --teacher FOLDER

writes data/distilled.npz: every pair with its own sources and beam search's
translations as targets, and a share of the pairs unchanged. Changed copies
(augment.py) stay as they are, since what they teach is exact. Parts go to a
folder of their own in data/distilled.parts. When --minutes stops it, it writes
what it has; the same command resumes. One process leaves a GPU idle most of the
time. So run several, each with its --share, to make the parts, and then one
without --share, which makes the missing parts and writes the file.
"""

import argparse
import hashlib
import pathlib
import time

import numpy as np
import torch

import batch as batches
import decode
import packed
import vocabulary
from export import load_folder

PART = 10000  # pairs in a file


def share(text):
    """"2/4" -> (2, 4)"""
    try:
        one, of = map(int, text.split("/"))
    except ValueError:
        one = of = 0
    if not 1 <= one <= of:
        raise argparse.ArgumentTypeError(f"{text} is not a share, as 2/4")
    return one, of


def parse_arguments():
    parser = argparse.ArgumentParser(
        description="Translates the training sources with a teacher.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--train", default="data.npz")
    parser.add_argument("--teacher", type=pathlib.Path, required=True,
                        help="folder that export.py wrote")
    parser.add_argument("--authentic", type=float, default=0.3, help="weight "
                        "of the pairs as they were, beside 1 for the "
                        "teacher's")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--longest", type=int, default=100, help="leave out "
                        "pairs with a longer text")
    parser.add_argument("--row-tokens", type=int, default=32768,
                        help="source tokens of a batch")
    parser.add_argument("--minutes", type=float, default=0,
                        help="stop then; 0: at the end")
    parser.add_argument("--share", type=share, metavar="2/4",
                        help="make every fourth part, from the second on, and "
                        "write nothing else")
    parser.add_argument("--device", default="cuda" if
                        torch.cuda.is_available() else "cpu")
    return parser.parse_args()


def translate(model, sources, words, options):
    """Returns lists of ids for sources of nearly one length."""
    ids, mask = batches.padded(sources, words.padding)
    with torch.autocast(options.device.split(":")[0], torch.bfloat16):
        return decode.beam(model, ids.to(options.device),
                           mask.to(options.device), words.end, options.beam)


def is_useful(ids, source):
    """False for a translation that repeats itself or stops at once."""
    if not ids or len(ids) > 2 * len(source) + 8:
        return False
    return len(ids) < 12 or len(set(ids)) > len(ids) / 4


def translate_part(model, data, pairs, words, options):
    """Returns {column: [ids of each pair, empty if useless]}."""
    made = {}
    for column, language in ((packed.ENGLISH, "de"), (packed.GERMAN, "en")):
        order = sorted(pairs, key=lambda i: data.lengths[i, column])
        results, begin = {}, 0
        while begin < len(order):
            end, size = begin, 0
            while end < len(order) and (end == begin or size * (
                    end - begin) <= options.row_tokens):
                size = data.lengths[order[end], column] + 2
                end += 1
            some = order[begin:end]
            sources = [batches.source(data.text(i, column), language, words)
                       for i in some]
            for i, source, ids in zip(some, sources, translate(
                    model, sources, words, options)):
                results[i] = ids if is_useful(ids, source) else []
            begin = end
        made[column] = [results[i] for i in pairs]
    return made


def write_part(path, made):
    columns = [made[packed.ENGLISH], made[packed.GERMAN]]
    texts = [ids for column in columns for ids in column]
    packed.write_whole(
        path, lengths=np.array([len(ids) for ids in texts]),
        ids=np.concatenate([np.asarray(ids, np.uint16) for ids in texts]))


def read_part(path):
    """Returns (to German, to English) for each pair."""
    with np.load(path) as file:
        texts = np.split(file["ids"], np.cumsum(file["lengths"])[:-1])
    half = len(texts) // 2
    return list(zip(texts[:half], texts[half:]))


def parts_folder(options):
    """Returns the folder of this data, this teacher and these flags, so that
    parts of others are not mixed in."""
    digest = hashlib.sha256(f"{options.beam} {options.longest}".encode())
    for path in (options.data / options.train,
                 options.teacher / "model.safetensors"):
        digest.update(path.read_bytes())
    folder = options.data / "distilled.parts" / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def is_changed(section):
    return section.name.endswith(packed.VARIANTS)


def write(data, translations, options):
    """translations: pair -> (to German, to English); an empty one keeps the
    pair's own text."""
    packer = packed.Packer()
    for section in data.sections:
        pairs = range(section.first, section.last)
        translated = [i for i in pairs if i in translations]
        packer.begin(section.name, section.weight * (
            options.authentic if translated else 1))
        for i in pairs:
            packer.add(*(data.text(i, column) for column in range(4)))
        if translated:
            packer.begin(section.name + " (teacher)", section.weight)
            for i in translated:
                packer.add(data.text(i, packed.ENGLISH),
                           data.text(i, packed.GERMAN), *translations[i])
    packer.packed().save(options.data / "distilled.npz")


def main():
    options = parse_arguments()
    words = vocabulary.Vocabulary.of_folder(options.data)
    data = packed.Packed.load(options.data / options.train)
    model = load_folder(options.teacher, words).eval().to(options.device)
    folder = parts_folder(options)
    longest = data.longest()
    chosen = [i for section in data.sections if not is_changed(section)
              for i in range(section.first, section.last)
              if longest[i] <= options.longest]
    translations = {}
    began, counted, left = time.monotonic(), 0, 0
    one, of = options.share or (1, 1)
    for begin in range(0, len(chosen), PART):
        number = begin // PART
        part = folder / f"{number:04}.npz"
        pairs = chosen[begin:begin + PART]
        if not part.is_file():
            late = options.minutes and (
                time.monotonic() - began > 60 * options.minutes)
            if late or number % of != one - 1:
                left += 1
                continue
            write_part(part, translate_part(model, data, pairs, words,
                                            options))
            counted += len(pairs)
            speed = counted / (time.monotonic() - began)
            print(f"{begin + len(pairs):,}/{len(chosen):,} pairs, "
                  f"{speed:,.0f} pairs/s", flush=True)
        if not options.share:
            translations.update(zip(pairs, read_part(part)))
    if options.share:
        return
    if left:
        print(f"stopped with {left} parts left; run the same command to go on")
    write(data, translations, options)
    print(f"wrote {options.data / 'distilled.npz'}: {len(translations):,} "
          "pairs with the teacher's words")


if __name__ == "__main__":
    main()
