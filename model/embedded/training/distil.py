"""A teacher's translations as training text (Kim and Rush, 2016), both ways.

    python distil.py --data build/training/data --teacher FOLDER

writes data/distilled.npz: every pair with its own sources and beam search's
translations as targets, and a share of the pairs unchanged. Changed copies
(augment.py) stay as they are, since what they teach is exact. Parts go to a
folder of their own in data/distilled.parts. When --minutes stops it, it writes
what it has; the same command resumes. One process leaves a GPU idle much of the
time, so --processes makes several share the parts.
"""

import argparse
import hashlib
import pathlib
import subprocess
import sys
import time

import numpy as np
import torch

import batch as batches
import decode
import packed
import vocabulary
from export import load_folder

PART = 4000  # pairs in a file


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
    parser.add_argument("--row-tokens", type=int, default=49152,
                        help="source tokens of a batch")
    parser.add_argument("--minutes", type=float, default=0,
                        help="stop then; 0: at the end")
    parser.add_argument("--until", type=float, default=0, help="stop at this "
                        "time instead, in seconds since 1970")
    parser.add_argument("--wait", action="store_true",
                        help="begin when the teacher exists")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--share", type=share, metavar="2/4",
                        help="make every fourth part, from the second on, and "
                        "write nothing else")
    parser.add_argument("--device", default="cuda" if
                        torch.cuda.is_available() else "cpu")
    return parser.parse_args()


def translate(model, sources, words, options):
    """Returns lists of ids for sources of nearly one length."""
    ids, mask = batches.padded(sources, words.padding)
    return decode.beam(model, ids.to(options.device), mask.to(options.device),
                       words.end, options.beam)


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
        path, compressed=False, lengths=np.array([len(ids) for ids in texts]),
        ids=np.concatenate([np.asarray(ids, np.uint16) for ids in texts]))


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


def teachers(data, parts):
    """The pairs of the parts with the teacher's translations. parts: [(pairs,
    file)]. Returns (pairs, all texts one after another, lengths [pairs, 4])."""
    pairs, pool, begins, lengths = [], [data.ids], [], []
    used = len(data.ids)
    for some, path in parts:
        with np.load(path) as file:
            own, sizes = file["ids"], file["lengths"]
        ends = used + np.cumsum(sizes)
        pairs.append(some)
        pool.append(own)
        used += len(own)
        # All translations to German, and then all to English.
        own_begins, own_lengths = (one.reshape(2, -1).T
                                   for one in (ends - sizes, sizes))
        spans = [data.spans(some, column)
                 for column in (packed.ENGLISH, packed.GERMAN)]
        begins.append(np.column_stack([*(b for b, _ in spans), own_begins]))
        lengths.append(np.column_stack([*(n for _, n in spans), own_lengths]))
    return (np.concatenate(pairs),
            packed.spans_of(np.concatenate(pool), np.concatenate(begins),
                            np.concatenate(lengths)),
            np.concatenate(lengths))


def write(data, parts, options):
    """Each section as it was, at a lower weight, and then with the teacher's
    words. Where the teacher's are useless, a pair keeps its own."""
    ids, lengths, sections = [], [], []
    made = teachers(data, parts) if parts else None
    first = 0

    def add(name, weight, some_ids, some_lengths):
        nonlocal first
        last = first + len(some_lengths)
        sections.append(packed.Section(name, weight, first, last))
        ids.append(some_ids)
        lengths.append(some_lengths)
        first = last

    for section in data.sections:
        whole = slice(section.first, section.last)
        begin = data.spans(section.first, 0)[0]
        size = data.lengths[whole].sum()
        place = [] if made is None else np.flatnonzero(
            (made[0] >= section.first) & (made[0] < section.last))
        add(section.name, section.weight * (
            options.authentic if len(place) else 1),
            data.ids[begin:begin + size], data.lengths[whole])
        if len(place):
            _, texts, sizes = made  # the pairs of a section stand together
            ends = np.cumsum(sizes.sum(1))
            some = slice(place[0], place[-1] + 1)
            add(section.name + " (teacher)", section.weight,
                texts[ends[place[0]] - sizes[place[0]].sum():
                      ends[place[-1]]], sizes[some])
    packed.Packed(np.concatenate(ids), np.concatenate(lengths), sections).save(
        options.data / "distilled.npz", compressed=False)


def translate_in_processes(options):
    """Calls this program for each share, and waits for all."""
    running = [subprocess.Popen(
        [sys.executable, *sys.argv, "--processes", "1", "--until",
         str(options.until), "--share", f"{one}/{options.processes}"])
        for one in range(1, options.processes + 1)]
    failed = [one for one in running if one.wait()]
    if failed:
        print(f"{len(failed)} processes failed", flush=True)


def main():
    options = parse_arguments()
    if options.minutes:
        options.until = options.until or time.time() + 60 * options.minutes
    words = vocabulary.Vocabulary.of_folder(options.data)
    data = packed.Packed.load(options.data / options.train)
    if options.processes > 1:
        translate_in_processes(options)
    else:
        torch.zeros(1, device=options.device)  # prepares a GPU
    while (options.wait
           and not (options.teacher / "model.safetensors").is_file()):
        if 0 < options.until < time.time():
            raise SystemExit(f"there is no teacher in {options.teacher}")
        time.sleep(0.1)
    model = None
    folder = parts_folder(options)
    longest = data.longest()
    chosen = np.concatenate([
        np.arange(section.first, section.last) for section in data.sections
        if not is_changed(section)])
    chosen = chosen[longest[chosen] <= options.longest]
    parts, left, counted, began = [], 0, 0, time.monotonic()
    one, of = options.share or (1, 1)
    for begin in range(0, len(chosen), PART):
        number = begin // PART
        part = folder / f"{number:04}.npz"
        pairs = chosen[begin:begin + PART]
        if not part.is_file():
            late = options.until and time.time() > options.until
            if late or number % of != one - 1:
                left += 1
                continue
            if model is None:
                model = load_folder(options.teacher, words).eval().to(
                    options.device, torch.bfloat16)
            write_part(part, translate_part(model, data, pairs, words,
                                            options))
            counted += len(pairs)
            speed = counted / (time.monotonic() - began)
            print(f"{begin + len(pairs):,}/{len(chosen):,} pairs, "
                  f"{speed:,.0f} pairs/s", flush=True)
        parts.append((pairs, part))
    if options.share:
        return
    if left:
        print(f"stopped with {left} parts left; run the same command to go on")
    write(data, parts, options)
    count = sum(len(pairs) for pairs, _ in parts)
    print(f"wrote {options.data / 'distilled.npz'}: {count:,} pairs with the "
          "teacher's words")


if __name__ == "__main__":
    main()
