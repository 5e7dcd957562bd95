"""number_loss.py PROGRAMS MODEL CORPORA [COUNT]: how many of COUNT (500) sentences
of each direction lose or alter a number when the embedded model translates
them, and how many have separators that the target language does not use; with
text stages and without them.

By hand, since the corpora are not in this repository: CORPORA has
en-de/dev/*.tsv. Half of the sentences are as people wrote them, in the other
half each number is replaced by an amount, a date or a time. As many more
sentences are made from templates (number_sentences.py).
"""

import pathlib
import random
import re
import sys

import number_sentences
from number_sentences import MONTHS, grouped
from served import Served

ROMAN = re.compile(r"\b[IVX]{2,}\b")
DIGITS = re.compile(r"\d+(?:[.,:'/]\d+)*")
WORDS = {
    "en": "zero one two three four five six seven eight nine ten eleven "
          "twelve".split(),
    "de": "null ein zwei drei vier fünf sechs sieben acht neun zehn elf "
          "zwölf".split(),
}
ORDINALS = {
    "en": "- first second third fourth fifth sixth seventh eighth ninth tenth "
          "eleventh twelfth".split(),
    "de": "- erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft "
          "zwölft".split(),
}


def replacement(draw, language):
    """An amount, a date or a time, as the language writes it."""
    english = language == "en"
    kind = draw.randrange(8)
    if kind == 0:
        amount = grouped(draw.uniform(1000, 9e6), language, 2)
        sign = draw.choice("$£€")
        return f"{sign}{amount}" if english else f"{amount} {sign}"
    if kind == 1:
        return grouped(draw.uniform(1000, 9e6), language)
    if kind == 2:
        return grouped(draw.uniform(1, 99), language, 2)
    if kind == 3:
        hours, minutes = draw.randrange(24), draw.randrange(60)
        return f"{hours}:{minutes:02}"
    if kind == 4:
        day, month = draw.randrange(1, 29), draw.choice(MONTHS[language])
        year = draw.randrange(1900, 2030)
        return f"{month} {day}, {year}" if english else f"{day}. {month} {year}"
    if kind == 5:
        day, month = draw.randrange(1, 29), draw.randrange(1, 13)
        year = draw.randrange(1900, 2030)
        return f"{year}-{month:02}-{day:02}"
    if kind == 6:
        return f"{draw.randrange(1, 100)}" + ("%" if english else " %")
    return str(draw.randrange(13, 99999))


def sentences(corpora, language, count):
    """Pairs (source, people's translation); the latter is None where numbers
    were replaced."""
    column = 0 if language == "en" else 1
    pairs = []
    for name in ("newstest2014", "flores200-devtest", "tatoeba-unseen-1500"):
        path = pathlib.Path(corpora, f"en-de/dev/{name}.en-de.tsv")
        for line in path.read_text(encoding="utf-8").splitlines():
            pair = line.split("\t")
            if re.search(r"\d", pair[column]):
                pairs.append((pair[column], pair[1 - column]))
    draw = random.Random(f"numbers {language}")
    draw.shuffle(pairs)
    chosen = pairs[:count // 2]
    for source, _ in pairs[count // 2:]:
        if len(chosen) == count:
            break
        # Years and the like in words stay as they are.
        made = re.sub(r"(?<![\w.,:$£€-])\d+(?:[.,:]\d+)*(?![\w%-])",
                      lambda _: replacement(draw, language), source)
        if made != source and len(made) < 250:
            chosen.append((made, None))
    return chosen


def alike(number):
    return re.sub(r"\D", "", number)


def lost(source, translation, source_language, target):
    """The source's numbers whose digits the translation lacks."""
    made = [alike(one) for one in DIGITS.findall(translation)]
    every = [one for number in DIGITS.findall(translation)
             for one in re.findall(r"\d+", number)]
    words = re.findall(r"\w+", translation.lower())
    missing = []
    for number in DIGITS.findall(source):
        if alike(number) in made:
            made.remove(alike(number))
            continue
        parts = re.findall(r"\d+", number)
        for part in parts:
            value = int(part)
            ways = {part, str(value), f"{value:02}"}
            if ":" in number or re.search(r"[ap]\.?m", source, re.I):
                ways |= {str((value + 12) % 24), f"{(value + 12) % 24:02}"}
            if ":" in number or "." in number:
                ways |= {"00"}  # "9:00" is "9 Uhr"
            found = next((way for way in ways if way in every), None)
            if found is not None:
                every.remove(found)
            elif value == 0:
                continue
            elif value <= 12 and any(
                    word.startswith((WORDS[target][value],
                                     ORDINALS[target][value]))
                    for word in words):
                continue
            else:
                missing.append(number)
                break
    return missing


def impossible(source, translation, target):
    """The translation's numbers with separators that the target language does
    not use, though the source writes them as an amount and no time, version
    or section."""
    amounts = {alike(one[0]) for one in DIGITS.finditer(source)
               if re.fullmatch(r"\d{1,3}([.,']\d{3})+([.,]\d+)?|\d+[.,]\d{1,2}",
                               one[0])
               and not re.match(r"\s?([ap]\.?m\b|Uhr\b)", source[one.end():])
               and not re.search(r"\b(version|section|abschnitt)\s$",
                                 source[:one.start()], re.I)}
    group, point = (",", r"\.") if target == "en" else (r"\.", ",")
    right = re.compile(rf"(\d{{1,3}}({group}\d{{3}})+|\d+)({point}\d+)?")
    return [one[0] for one in DIGITS.finditer(translation)
            if alike(one[0]) in amounts and not right.fullmatch(one[0])
            and not translation[one.end():].startswith(" Uhr")]


def main(programs, model, corpora, count=500):
    with Served(programs, model) as server:
        for source, target in (("en", "de"), ("de", "en")):
            sets = {
                "corpora": [text for text, _ in
                            sentences(corpora, source, count)],
                "made": number_sentences.sentences(source, count),
            }
            for name, texts in sets.items():
                for way, flags in (("off", ["--no-text-stages"]), ("on", [])):
                    print(f"{name}, {source}-{target}, stages {way}: "
                          + measure(server, texts, source, target, flags),
                          flush=True)


def measure(server, texts, source, target, flags):
    """Prints the translations with faults, and returns how many there are."""
    results = server.translate(texts, target,
                               flags=["--check-for", "numbers", *flags])
    bad = separators = found = silent = acted = 0
    for text, made in zip(texts, results, strict=True):
        result = made["result"]
        out = result["hypotheses"][0].get("text", "")
        missing = lost(text, out, source, target)
        missing += [one for one in ROMAN.findall(text) if one not in out]
        wrong = impossible(text, out, target)
        bad += bool(missing)
        separators += bool(wrong)
        flagged = bool(result.get("suspicions"))
        found += flagged
        silent += bool(missing) and not flagged
        acted += bool(result.get("text_stages"))
        if missing or wrong or flagged:
            print(f"  {missing or ''}{wrong or ''}"
                  f"{' [found]' if flagged else ''}\n    {text}\n    {out}")
    return (f"{bad} of {len(texts)} lose a number ({silent} without a "
            f"finding), {separators} have impossible separators, {found} have "
            f"findings, stages act in {acted}")


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:5]))
