"""letter_case.py PROGRAMS MODEL CORPORA [COUNT]: BLEU, without regard to case,
of the first COUNT (500) sentences of Tatoeba and newstest2014 as they are, in
capitals and in title case, as the embedded model translates them with text
stages and without.

By hand, since the corpora are not in this repository: CORPORA has
en-de/dev/*.tsv. Needs sacrebleu.
"""

import pathlib
import re
import sys

import sacrebleu
from served import Served

SHORT = set("a an the and or but for of in on at to by as is "
            "ein eine der die das und oder in im am an zu".split())


def title(text):
    return re.sub(r"[^\W\d_]+", lambda found: (
        found[0] if found.start() and found[0].lower() in SHORT
        else found[0][0].upper() + found[0][1:]), text)


def main(programs, model, corpora, count=500):
    ways = {"as it is": str, "capitals": str.upper, "title case": title}
    with Served(programs, model) as server:
        for corpus in ("tatoeba-unseen-1500", "newstest2014"):
            path = pathlib.Path(corpora, f"en-de/dev/{corpus}.en-de.tsv")
            pairs = [line.split("\t") for line in
                     path.read_text(encoding="utf-8").splitlines()[:count]]
            for source, target, column in (("en", "de", 0), ("de", "en", 1)):
                references = [pair[1 - column] for pair in pairs]
                for way, change in ways.items():
                    texts = [change(pair[column]) for pair in pairs]
                    scores = []
                    for flags in (["--no-text-stages"], []):
                        made = [
                            one["result"]["hypotheses"][0].get("text", "")
                            for one in server.translate(
                                texts, target,
                                flags=["--source-language", source, *flags])]
                        # Capitals have no "ß".
                        fold = (str.casefold if way == "capitals"
                                else str.lower)
                        scores.append(sacrebleu.corpus_bleu(
                            [fold(text) for text in made],
                            [[fold(text) for text in references]]).score)
                    print(f"{corpus} {source}-{target} {way}: without stages "
                          f"{scores[0]:.2f}, with {scores[1]:.2f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:5]))
