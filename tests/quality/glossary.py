"""glossary.py PROGRAMS MODEL TEST_SETS [BEAM]: what a glossary does to the
embedded model's translations, as served in int8, of all sentences of test sets
(files of english<TAB>german) that have a term: how many terms are there with
and without it, as whole words in the very form that it has, and BLEU with and
without it. So for each of two glossaries of 69 nouns in each direction: the
first has mostly what the model says itself, the second other words.

BLEU is told of all sentences, those without terms included, and of those whose
reference has all target terms, where a glossary is right.

By hand, with sacrebleu. Fails where under 99 % of terms are there with the
glossary, or a result is silent about one that is not.
"""

import pathlib
import re
import sys
import tempfile

import sacrebleu

from served import Served

# English, other English, German, other German.
NOUNS = """
man guy Mann Herr; woman lady Frau Dame; dog hound Hund Köter; boy lad Junge
Bub; girl lass Mädchen Mädel; car automobile Auto Wagen; street road Straße
Gasse; house building Haus Gebäude; picture photo Bild Foto; bicycle bike
Fahrrad Rad; president chairman Präsident Vorsitzender; government
administration Regierung Staatsführung; police constabulary Polizei
Polizeibehörde; child kid Kind Sprössling; city town Stadt Ortschaft; team squad
Team Mannschaft; company firm Unternehmen Firma; problem issue Problem
Schwierigkeit; computer machine Computer Rechner; room chamber Zimmer Raum; book
volume Buch Band; money cash Geld Kapital; doctor physician Arzt Doktor; school
academy Schule Lehranstalt; train railway Zug Bahn; question query Frage
Anfrage; answer reply Antwort Erwiderung; letter note Brief Schreiben; war
conflict Krieg Konflikt; law statute Gesetz Recht; election vote Wahl
Abstimmung; party group Partei Gruppierung; court tribunal Gericht Tribunal;
plane aircraft Flugzeug Maschine; water liquid Wasser Flüssigkeit; food
nourishment Essen Nahrung; player sportsman Spieler Sportler; game match Spiel
Partie; beach shore Strand Ufer; shirt blouse Hemd Shirt; hat cap Hut Mütze;
horse steed Pferd Ross; tree plant Baum Pflanze; river stream Fluss Strom;
mountain peak Berg Gipfel; country nation Land Staat; world planet Welt Erde;
history past Geschichte Vergangenheit; language tongue Sprache Zunge; teacher
tutor Lehrer Pädagoge; work labour Arbeit Tätigkeit; job post Job Stelle; price
cost Preis Kosten; economy business Wirtschaft Ökonomie; research inquiry
Forschung Untersuchung; disease illness Krankheit Erkrankung; hospital clinic
Krankenhaus Klinik; family clan Familie Sippe; friend mate Freund Kamerad;
village hamlet Dorf Weiler; bridge crossing Brücke Überführung; song tune Lied
Song; film movie Film Streifen; window pane Fenster Scheibe; door gate Tür
Pforte; table desk Tisch Schreibtisch; newspaper paper Zeitung Blatt; idea
thought Idee Einfall; plan scheme Plan Vorhaben
"""
NAMES = ("flores200-devtest.en-de.tsv", "tatoeba-unseen-1500.en-de.tsv",
         "multi30k_test_2016_flickr.en-de.tsv", "newstest2014.en-de.tsv")
FLOOR = 0.99  # of the terms


def glossaries(language):
    """{name: {source term: target term}}"""
    rows = [row.split() for row in NOUNS.split(";")]
    if language == "de":
        return {"usual words": {en: de for en, _, de, _ in rows},
                "other words": {en: other for en, _, _, other in rows}}
    return {"usual words": {de: en for en, _, de, _ in rows},
            "other words": {de: other for _, other, de, _ in rows}}


def whole_word(term):
    return re.compile(rf"(?<!\w){re.escape(term)}(?!\w)")


def terms_in(text, glossary, patterns):
    """[target term], each as often as its source is there."""
    return [glossary[source] for source, pattern in patterns.items()
            for _ in pattern.findall(text)]


def masked(text, words):
    """Without what says which of the words it has."""
    for word in words:
        text = re.sub(whole_word(word).pattern, "X", text, flags=re.I)
    return text


def count_there(text, terms):
    """How many of the terms are in a text, each of equal ones by itself."""
    there = 0
    for term in set(terms):
        capital = term[0].upper() + term[1:]
        found = (len(whole_word(term).findall(text))
                 + (len(whole_word(capital).findall(text))
                    if capital != term else 0))
        there += min(found, terms.count(term))
    return there


def bleu(translations, references):
    return sacrebleu.corpus_bleu(translations, [references]).score


def picked(places, *lists):
    return [[texts[i] for i in places] for texts in lists]


def texts_of(results):
    return [one["result"]["hypotheses"][0].get("text", "") for one in results]


def lacking(result):
    return sum(1 for use in result["result"].get("glossary_uses", [])
               if use.get("missing"))


def measure(server, pairs, language, beam):
    sources = [one[0] for one in pairs]
    references = [one[1] for one in pairs]
    plain = texts_of(server.translate(sources, language, beam=beam))
    worst = 1.0
    silent = 0
    for name, glossary in glossaries(language).items():
        # The server takes terms in any capitals.
        patterns = {source: re.compile(whole_word(source).pattern, re.I)
                    for source in glossary}
        needed = [terms_in(text, glossary, patterns) for text in sources]
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
            file.writelines(f"{s}\t{t}\n" for s, t in glossary.items())
            file.flush()
            results = server.translate(sources, language, beam=beam,
                                       flags=["--glossary", file.name])
        held = texts_of(results)
        total = sum(map(len, needed))
        before = sum(map(count_there, plain, needed))
        after = sum(map(count_there, held, needed))
        for result, text, terms in zip(results, held, needed, strict=True):
            if count_there(text, terms) < len(terms) and not lacking(result):
                silent += 1
                print("not told:", terms, text)
        having = [i for i, terms in enumerate(needed) if terms]
        changed = sum(plain[i] != held[i]
                      for i, terms in enumerate(needed) if not terms)
        usual = glossaries(language)["usual words"]
        words = {*usual.values(), *glossary.values()}
        alike = [[masked(texts[i], words) for i in having]
                 for texts in (plain, held, references)]
        right = [i for i in having
                 if count_there(references[i], needed[i]) == len(needed[i])]
        print(f"to {language}, beam {beam}, {name}: {total} terms in "
              f"{len(having)} of {len(sources)} sentences; there "
              f"{100 * before / total:.1f} % without, {100 * after / total:.2f} "
              f"% with; BLEU of all {bleu(plain, references):.2f}, "
              f"{bleu(held, references):.2f}; of {len(right)} whose references "
              f"have them {bleu(*picked(right, plain, references)):.2f}, "
              f"{bleu(*picked(right, held, references)):.2f}; "
              f"of sentences with terms, all words of both glossaries alike, "
              f"{bleu(alike[0], alike[2]):.2f}, {bleu(alike[1], alike[2]):.2f}; "
              f"{changed} without terms changed", flush=True)
        worst = min(worst, after / total)
    return worst, silent


def main(programs, model, folder, beam=4):
    pairs = [line.split("\t")[:2] for name in NAMES
             for line in pathlib.Path(folder, name).read_text(
                 encoding="utf-8").split("\n") if line]
    with Served(programs, model) as server:
        german = measure(server, pairs, "de", beam)
        english = measure(server, [pair[::-1] for pair in pairs], "en", beam)
    worst = min(german[0], english[0])
    return 1 if worst < FLOOR or german[1] + english[1] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4], *map(int, sys.argv[4:5])))
