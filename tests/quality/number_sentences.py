"""Sentences with numbers in all the ways that people write them, in English and
German, made from templates: always the same ones."""

import random

MONTHS = {
    "en": "January March April July August October December".split(),
    "de": "Januar März April Juli August Oktober Dezember".split(),
}
_ROMAN = "II III IV VI VII VIII IX XI XII XIII XIV XVI XVIII XIX XX XXI".split()

# {n} is a number from 2 to 99; the others are told by _value().
_TEMPLATES = {
    "en": [
        "The meeting is on {date} at {time}.",
        "Call {phone} or write to room {n}.",
        "Version {ver} needs at least {n} GB of memory.",
        "Open from {t24} to {t24}.",
        "The price rose by {pct} to {money}.",
        "They won {score} against the champions.",
        "Pages {range} are missing.",
        "Add {frac} cup of sugar and {n} eggs.",
        "Louis {rom} was king of France.",
        "Apollo {rom2} changed everything.",
        "See chapter {rom}, section {n}.{n}, page {n}.",
        "In the {dec}s, about {big} people lived here.",
        "The summer of '{yy} was hot.",
        "It is {deg} outside and {pct} humid.",
        "The area is {dec1} m² and costs {money}.",
        "The speed of light is about 3 x 10^8 m/s, or {big} km/s.",
        "The {ord} edition was printed in {year}.",
        "He was born on {ord} {mon} {year}.",
        "The ratio is {n}:{n}.",
        "Flight LH{n4} leaves at {t12} from gate B{n}.",
        "She ran {dec1} km in {n} minutes and {n} seconds.",
        "Article {n} ({n}) of Regulation ({eu}) No {n4}/{year} applies.",
        "The serial number is {long}.",
        "From {year} to {year}, profits grew {n}-fold.",
        "The room is {n} x {n} feet.",
        "Our office: {n4} Main Street, Suite {n}, NY 100{yy}.",
        "Exercises 1 .. {n} are for homework.",
        "Between {n} and {n} percent of the {big} voters stayed home.",
        "The bill of {money2} is due by {iso}.",
        "Item {n}: {n} pieces at {money} each.",
        "The score was {n}, {n}, {n} and {n}.",
        "Only {n} of {big} tickets are left.",
        "He paid {money} for a {year} car.",
        "A {n}-year-old man won {n} million dollars.",
        "The temperature fell to -{n} degrees.",
        "The company has {big} employees in {n} countries.",
        "It takes {n}½ hours.",
        "{n} + {n} = {n}",
        "Bus {n} departs every {n} min.",
        "Turn to page {n} and read lines {n}-{n}.",
    ],
    "de": [
        "Die Sitzung ist am {date} um {time}.",
        "Rufen Sie {phone} an oder kommen Sie in Zimmer {n}.",
        "Version {ver} braucht mindestens {n} GB Speicher.",
        "Geöffnet von {t24} bis {t24} Uhr.",
        "Der Preis stieg um {pct} auf {money}.",
        "Sie gewannen {score} gegen den Meister.",
        "Die Seiten {range} fehlen.",
        "Dazu {frac} Tasse Zucker und {n} Eier.",
        "Ludwig {rom} war König von Frankreich.",
        "Papst Johannes Paul {rom2} besuchte Polen.",
        "Siehe Kapitel {rom}, Abschnitt {n}.{n}, Seite {n}.",
        "In den {dec}er Jahren lebten hier etwa {big} Menschen.",
        "Der Sommer '{yy} war heiß.",
        "Draußen sind es {deg} und {pct} Luftfeuchtigkeit.",
        "Die Fläche beträgt {dec1} m² und kostet {money}.",
        "Die Lichtgeschwindigkeit beträgt etwa 3 x 10^8 m/s oder {big} km/s.",
        "Die {n}. Auflage wurde {year} gedruckt.",
        "Er wurde am {day}. {mon} {year} geboren.",
        "Das Verhältnis ist {n}:{n}.",
        "Flug LH{n4} startet um {t24} Uhr von Gate B{n}.",
        "Sie lief {dec1} km in {n} Minuten und {n} Sekunden.",
        "Artikel {n} Absatz {n} der Verordnung ({eu}) Nr. {n4}/{year} gilt.",
        "Die Seriennummer ist {long}.",
        "Von {year} bis {year} wuchs der Gewinn um das {n}-fache.",
        "Das Zimmer ist {n} x {n} Meter groß.",
        "Unser Büro: Hauptstraße {n}, 10{n3} Berlin, {n}. Stock.",
        "Die Aufgaben 1 .. {n} sind Hausaufgaben.",
        "Zwischen {n} und {n} Prozent der {big} Wähler blieben zu Hause.",
        "Die Rechnung über {money2} ist bis {iso} fällig.",
        "Position {n}: {n} Stück zu je {money}.",
        "Die Punkte waren {n}, {n}, {n} und {n}.",
        "Nur {n} von {big} Karten sind übrig.",
        "Er zahlte {money} für ein Auto von {year}.",
        "Ein {n}-jähriger Mann gewann {n} Millionen Euro.",
        "Die Temperatur fiel auf -{n} Grad.",
        "Die Firma hat {big} Mitarbeiter in {n} Ländern.",
        "Es dauert {n}½ Stunden.",
        "{n} + {n} = {n}",
        "Bus {n} fährt alle {n} Min.",
        "Schlagen Sie Seite {n} auf und lesen Sie die Zeilen {n}-{n}.",
    ],
}


def grouped(number, language, decimals=0):
    """The number with its groups, as the language writes it."""
    text = f"{number:,.{decimals}f}"
    return (text if language == "en"
            else text.translate(str.maketrans(",.", ".,")))


def _ways(draw, language):
    """What stands for each name of the templates: a list to draw from."""
    english = language == "en"
    number = draw.randrange
    point = "." if english else ","
    day, month, year = number(1, 29), number(1, 13), number(1950, 2030)
    name = draw.choice(MONTHS[language])
    hour, minute = number(1, 12), number(10, 60)
    amount = grouped(draw.uniform(1000, 9e4), language, 2)
    percent = "percent" if english else "Prozent"
    million = "million" if english else "Millionen"
    iso = f"{year}-{month:02}-{day:02}"
    return {
        "n": [str(number(2, 100))],
        "n3": [str(number(100, 1000))],
        "n4": [str(number(1000, 10000))],
        "year": [str(number(1600, 2030))],
        "yy": [str(number(60, 100))],
        "day": [str(day)],
        "mon": [name],
        "dec": ["1920", "1950", "1960", "1980", "1990"],
        "iso": [iso],
        "date": ([f"{name} {day}, {year}", f"{day} {name} {year}",
                  f"{month}/{day}/{year}", iso, f"{name} {day}th"] if english
                 else [f"{day}. {name} {year}",
                       f"{day:02}.{month:02}.{year}",
                       f"{day}.{month}.{year % 100:02}", iso,
                       f"{day}. {name}"]),
        "time": ([f"{hour}:{minute} pm", f"{hour} a.m.",
                  f"{hour + 12}:{minute}", f"{hour}:{minute}am"] if english
                 else [f"{hour}:{minute} Uhr", f"{hour} Uhr",
                       f"{hour}.{minute} Uhr", f"{hour}:{minute} h"]),
        "t24": [f"{number(25):02}:{minute}"],
        "t12": [f"{hour}:{minute} AM", f"{hour}:{minute} PM"],
        "phone": [f"+49 30 {number(100000, 999999)}",
                  f"0{number(30, 99)}/{number(100000, 999999)}",
                  f"({number(200, 999)}) {number(200, 999)}-"
                  f"{number(1000, 9999)}",
                  f"+1-{number(200, 999)}-{number(200, 999)}-"
                  f"{number(1000, 9999)}"],
        "ver": [f"{number(1, 12)}.{number(20)}",
                f"{number(1, 12)}.{number(20)}.{number(20)}",
                f"{number(1, 12)}.{number(20)}.{number(20)}-beta3"],
        "pct": [f"{number(2, 99)}" + ("%" if english else " %"),
                f"{number(2, 99)}{point}{number(1, 9)}%",
                f"{number(2, 99)} {percent}"],
        "money": ([f"${amount}", f"€{number(5, 900)}",
                   f"£{grouped(number(1000, 90000), language)}",
                   f"CHF {amount}", f"{amount} EUR"] if english
                  else [f"{amount} €", f"{number(5, 900)} €",
                        f"{grouped(number(1000, 90000), language)} Euro",
                        f"{number(5, 900)},- €", f"CHF {amount}"]),
        "money2": [f"${amount}" if english else f"{amount} $"],
        "score": [f"{number(8)}:{number(8)}"]
        + ([f"{number(8)}-{number(8)}"] if english else []),
        "range": [f"{number(2, 40)}{dash}{number(41, 99)}" for dash in
                  ("-", "–", " to " if english else " bis ")],
        "frac": ["½", "¼", "¾", "1/2", "2/3", "1½", "1 1/2"],
        "rom": _ROMAN,
        "rom2": _ROMAN,
        "big": [grouped(draw.uniform(1000, 9e6), language),
                grouped(draw.uniform(1e6, 9e9), language),
                f"{number(2, 90)}{point}{number(1, 9)} {million}",
                str(number(10000, 999999))],
        "deg": [f"{number(2, 40)} °C", f"{number(2, 40)}°",
                f"-{number(2, 40)} °C"],
        "dec1": [f"{number(2, 400)}{point}{number(1, 99)}"],
        "ord": [f"{number(13, 20)}th", "21st", "22nd", "23rd", "31st", "1st",
                "2nd", "3rd", "5th"],
        "eu": ["EU", "EC"],
        "long": [str(number(10**9, 10**12)),
                 f"{number(1000, 9999)}-{number(1000, 9999)}",
                 f"{number(1000, 9999)} {number(1000, 9999)}",
                 f"A{number(100, 999)}-{number(10, 99)}X{number(2, 9)}"],
    }


def sentences(language, count):
    """`count` sentences."""
    draw = random.Random(f"made {language}")
    templates = _TEMPLATES[language]

    def fill(template):
        out = ""
        while "{" in template:
            before, rest = template.split("{", 1)
            name, template = rest.split("}", 1)
            out += before + draw.choice(_ways(draw, language)[name])
        return out + template

    return [fill(templates[i % len(templates)]) for i in range(count)]
