"""The embedded model's scores: see the command evaluate."""

import argparse
import json
import pathlib
import time

import numpy as np
import sacrebleu

from served import Served

# Columns of the table, files of --test-sets.
TEST_SETS = {
    "Tatoeba unseen": "tatoeba-unseen-1500.en-de.tsv",
    "Multi30k 2016": "multi30k_test_2016_flickr.en-de.tsv",
    "newstest2014": "newstest2014.en-de.tsv",
    "FLORES-200": "flores200-devtest.en-de.tsv",
}
RETRIEVED = 1000  # pairs among which a translation is sought
COMPLETED = 500  # translations of which Generate gets the first half


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="evaluate", description="Scores a translation model as served: "
        "sacrebleu's BLEU and chrF in each of its directions, and how often "
        "Encode finds a sentence's translation.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--model", default="model/embedded")
    parser.add_argument("--test-sets", type=pathlib.Path,
                        default=pathlib.Path("../shared/data/en-de/dev"),
                        help="folder of files with english<TAB>german lines")
    parser.add_argument("--only", action="append", choices=list(TEST_SETS),
                        help="this test set (repeatable)")
    parser.add_argument("--precision", default="int8",
                        choices=["int8", "bf16", "f32"])
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--workers", default="auto")
    parser.add_argument("--card", type=pathlib.Path, help="write the table "
                        "into this file, between its score marks")
    parser.add_argument("--json", help="write every figure there, too")
    parser.add_argument("--programs", required=True, help="folder of "
                        "trivium-server and trivium, which the command builds")
    return parser.parse_args()


def read(path):
    """([English], [German])"""
    if not path.is_file():
        raise SystemExit(f"no test set {path}: name its folder with "
                         "--test-sets, or other sets with --only")
    lines = path.read_text(encoding="utf-8").split("\n")
    pairs = [line.split("\t")[:2] for line in lines if line]
    if not pairs or min(map(len, pairs)) < 2:
        raise SystemExit(f"{path} is not made of lines english<TAB>german")
    return tuple(zip(*pairs))


def score(server, sources, references, language, beam):
    began = time.monotonic()
    results = server.translate(sources, language, beam)
    seconds = time.monotonic() - began
    texts = [one["result"]["hypotheses"][0].get("text", "")
             for one in results]
    return {
        "bleu": sacrebleu.corpus_bleu(texts, [references]).score,
        "chrf": sacrebleu.corpus_chrf(texts, [references]).score,
        "sentences": len(texts),
        "seconds": seconds,
    }


def completion(server, sources, references, language):
    """BLEU of the second halves of translations, of which Generate was given
    the first halves of the references."""
    words = [reference.split() for reference in references[:COMPLETED]]
    halves = [(" ".join(one[:len(one) // 2]), " ".join(one[len(one) // 2:]))
              for one in words]
    given, rest = zip(*halves)
    texts = server.complete(sources[:COMPLETED], given, language)
    return sacrebleu.corpus_bleu(texts, [list(rest)]).score


def retrieval(server, english, german):
    """Of RETRIEVED texts, the share whose most similar text of the other
    language is their translation, from English and from German."""
    vectors = [np.array(server.encode(texts[:RETRIEVED], language))
               for texts, language in ((english, "de"), (german, "en"))]
    likeness = vectors[0] @ vectors[1].T
    own = np.arange(len(likeness))
    return [float(np.mean(table.argmax(1) == own))
            for table in (likeness, likeness.T)]


def measure(options):
    report = {"precision": options.precision, "beam": options.beam,
              "scores": {}, "completion": {}, "retrieval": {}}
    chosen = {name: read(options.test_sets / TEST_SETS[name])
              for name in options.only or TEST_SETS}
    with Served(options.programs, options.model, options.precision,
                options.workers) as server:
        report["isa"] = server.isa
        directions = [language for language in ("de", "en")
                      if language in server.targets]
        for name, (english, german) in chosen.items():
            for language in directions:
                sources, references = (
                    (english, german) if language == "de"
                    else (german, english))
                report["scores"].setdefault(name, {})[language] = score(
                    server, sources, list(references), language, options.beam)
                report["completion"].setdefault(name, {})[language] = (
                    completion(server, sources, references, language))
            report["retrieval"][name] = retrieval(server, english, german)
    return report


def table(report):
    names = list(report["scores"])
    lines = ["| BLEU / chrF | " + " | ".join(names) + " |",
             "|---" * (len(names) + 1) + "|"]
    titles = {"de": "English to German", "en": "German to English"}
    names_of = {"de": "German", "en": "English"}
    for language in next(iter(report["scores"].values())):
        cells = [report["scores"][name][language] for name in names]
        lines.append(f"| {titles[language]} | " + " | ".join(
            f"{one['bleu']:.1f} / {one['chrf']:.1f}" for one in cells) + " |")
    for language in next(iter(report["completion"].values())):
        lines.append(
            f"| {names_of[language]} completed, of {COMPLETED:,} | "
            + " | ".join(f"{report['completion'][name][language]:.1f}"
                         for name in names) + " |")
    for i, title in enumerate(("English finds German",
                               "German finds English")):
        lines.append(f"| {title}, of {RETRIEVED:,} | " + " | ".join(
            f"{report['retrieval'][name][i]:.1%}" for name in names) + " |")
    return "\n".join([
        *lines, "",
        f"sacrebleu {sacrebleu.__version__}, beam {report['beam']}, "
        f"{report['precision']} as served ({report['isa']}). Completed: BLEU "
        f"of the second halves of the first {COMPLETED:,} translations, when "
        "Generate is given the first halves of the references. Finds: how "
        "often Encode's vector of a sentence is most like that of its "
        f"translation, among the first {RETRIEVED:,} pairs."])


def split_card(path):
    """The card up to the line <!-- scores --> and from <!-- end of scores -->
    on."""
    card = path.read_text(encoding="utf-8")
    begin, end = "<!-- scores -->\n", "<!-- end of scores -->"
    before, found, rest = card.partition(begin)
    _, also_found, after = rest.partition(end)
    if not found or not also_found:
        raise SystemExit(f"{path} has no lines {begin.strip()} and {end}")
    return before + begin, end + after


def main():
    options = parse_arguments()
    if options.card:
        before, after = split_card(options.card)
    report = measure(options)
    text = table(report)
    print(text)
    if options.card:
        options.card.write_text(f"{before}{text}\n{after}", encoding="utf-8")
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
