"""Variants of pairs as people type them: capitals, title case, no punctuation,
emoji, numbers, amounts, dates, URLs, placeholders, tags, single words, several
sentences at once; and whole texts. Each function takes a pair and a
random.Random and returns a pair, or None if it does not apply. If a translation
is not also a source, it returns both sources and then the German and the
English translation."""

import re

import copied

WORD = re.compile(r"[\w-]+", re.UNICODE)
NUMBER = re.compile(r"(?<![\w.,:/-])\d{1,6}(?![\w.,:/-]*\d|\w)")
EMOJI = [
    *(chr(code) for first, last in (
        (0x1F600, 0x1F64F), (0x1F300, 0x1F32C), (0x1F330, 0x1F37F),
        (0x1F400, 0x1F43E), (0x1F442, 0x1F4A9), (0x1F680, 0x1F6A4),
        (0x1F910, 0x1F92F), (0x1F940, 0x1F96F))
      for code in range(first, last + 1)),
    "❤️", "☀️", "✅", "⭐", "⚠️", "👍🏽", "👩‍💻", "🇩🇪", "🇬🇧",
]
SOUNDS = ["Ha", "He", "Hi", "Ho", "La", "Na", "Bla", "Blah", "Hm", "Oh", "Ah"]
# Frames around something that is copied.
FRAMES = [
    ("See {}.", "Siehe {}."), ("Visit {}", "Besuche {}"),
    ("More at {}.", "Mehr unter {}."), ("Open {}.", "Öffne {}."),
    ("My address is {}.", "Meine Adresse ist {}."), ("{}", "{}"),
]
CODE_FRAMES = [
    ("Call {}.", "Rufen Sie {} an."), ("Call me at {}", "Ruf mich an: {}"),
    ("My number is {}.", "Meine Nummer ist {}."),
    ("The code is {}.", "Der Code ist {}."), ("Order {}", "Bestellung {}"),
    ("Room {}", "Zimmer {}"), ("Flight {}", "Flug {}"), ("{}", "{}"),
]
# ... around two things, which may be equal.
DOUBLE_FRAMES = [
    ("From {} to {}", "Von {} bis {}"), ("Step {} of {}", "Schritt {} von {}"),
    ("{} and {}", "{} und {}"), ("{} or {}", "{} oder {}"),
    ("Moving {} to {}", "Verschieben von {} nach {}"),
    ("Compare {} with {}.", "Vergleichen Sie {} mit {}."),
    ("Sent by {} on {}", "Gesendet von {} am {}"), ("{}: {}", "{}: {}"),
    ("{} wrote to {}.", "{} hat an {} geschrieben."), ("{}/{}", "{}/{}"),
    ("{} of {} done", "{} von {} erledigt"), ("{} is in {}.", "{} ist in {}."),
]
# ... around names.
NAME_FRAMES = [
    ("My name is {}.", "Ich heiße {}."), ("This is {}.", "Das ist {}."),
    ("Do you know {}?", "Kennst du {}?"), ("{} is here.", "{} ist hier."),
    ("I met {} yesterday.", "Ich habe {} gestern getroffen."),
    ("{} lives in Berlin.", "{} wohnt in Berlin."),
    ("Where is {}?", "Wo ist {}?"), ("Dear {},", "Liebe(r) {},"),
    ("a book by {}", "ein Buch von {}"), ("{}", "{}"),
    ("{} said nothing.", "{} sagte nichts."),
]
AMOUNT_FRAMES = [
    ("It costs {}.", "Es kostet {}."), ("They paid {}.", "Sie zahlten {}."),
    ("The price is {}.", "Der Preis beträgt {}."),
    ("{} or more", "{} oder mehr"),
    ("a total of {}", "insgesamt {}"), ("less than {}", "weniger als {}"),
    ("It rose to {}.", "Es stieg auf {}."), ("{}", "{}"),
    ("The company lost {}.", "Das Unternehmen verlor {}."),
]
DATE_FRAMES = [
    ("On {}, it rained.", "Am {} regnete es."), ("since {}", "seit dem {}"),
    ("It begins on {}.", "Es beginnt am {}."), ("until {}", "bis zum {}"),
    ("She was born on {}.", "Sie wurde am {} geboren."),
    ("The letter of {}", "Der Brief vom {}"),
]
TIME_FRAMES = [
    ("The train leaves at {}.", "Der Zug fährt um {} Uhr ab."),
    ("at {}", "um {} Uhr"), ("We meet at {}.", "Wir treffen uns um {} Uhr."),
    ("It is {}.", "Es ist {} Uhr."), ("until {}", "bis {} Uhr"),
]
MONTHS = list(zip(
    "January February March April May June July August September October "
    "November December".split(),
    "Januar Februar März April Mai Juni Juli August September Oktober "
    "November Dezember".split()))
# Words that a title writes small.
SMALL = set("a an the and or but for of in on at to by as is ein eine der die "
            "das und oder in im am an zu".split())


def upper(pair, random):
    return tuple(text.upper() for text in pair)


def title(pair, random):
    """Makes the words of the source begin with capitals; the target keeps its
    usual case."""
    small = SMALL if random.random() < 0.7 else ()

    def changed(text):
        return re.sub(r"[^\W\d_]+", lambda found: (
            found[0] if found.start() and found[0].lower() in small
            else found[0][0].upper() + found[0][1:]), text)

    pair = random.choice((pair, no_final_punctuation(pair, random) or pair))
    return (*(changed(text) for text in pair), pair[1], pair[0])


def no_final_punctuation(pair, random):
    if not all(text[-1:] in ".!?" and text[:-1] for text in pair):
        return None
    return tuple(text.rstrip(".!?").rstrip() for text in pair)


def lower(pair, random):
    """Makes the source lower case; the target keeps its usual case."""
    pair = random.choice((pair, no_final_punctuation(pair, random) or pair))
    return (*(text.lower() for text in pair), pair[1], pair[0])


def emoji(pair, random):
    sign = "".join(random.choices(EMOJI, k=random.choice((1, 1, 1, 2, 3))))
    where = random.random()
    if where < 0.7:
        return tuple(f"{text} {sign}" for text in pair)
    if where < 0.85:
        return tuple(f"{sign} {text}" for text in pair)
    return tuple(text + sign for text in pair)


def new_number(random):
    """Returns a random number as English and as German write it."""
    kind = random.random()
    if kind < 0.4:
        text = str(random.randint(0, 99))
    elif kind < 0.55:
        text = str(random.randint(100, 9999))
    elif kind < 0.65:
        text = str(random.randint(10000, 99999999))
    elif kind < 0.75:
        text = f"{random.randint(0, 23)}:{random.randint(0, 59):02}"
    elif kind < 0.82:
        text = ".".join(str(random.randint(0, 30)) for _ in range(3))
    else:
        english = (f"{random.randint(0, 999)}.{random.randint(0, 99):02}"
                   if kind < 0.9 else f"{random.randint(1000, 9999999):,}")
        if kind > 0.97:
            english += f".{random.randint(0, 99):02}"
        return english, in_german(english)
    return text, text


def in_german(number):
    return number.translate(str.maketrans(".,", ",."))


def amount(random):
    """Returns an amount as English and as German write it."""
    size = 10 ** random.uniform(0, 7)
    number = f"{size:,.{random.choice((0, 0, 1, 2, 2))}f}"
    kind = random.random()
    if kind < 0.4:
        sign = random.choice("$$€€£")
        return f"{sign}{number}", f"{in_german(number)} {sign}"
    if kind < 0.6:
        number = f"{random.uniform(0, 100):.{random.choice((0, 0, 1))}f}"
        return f"{number}%", f"{in_german(number)} %"
    if kind < 0.8:
        words = random.choice((("million", "Millionen"), ("km", "km"),
                               ("billion", "Milliarden"), ("kg", "kg"),
                               ("dollars", "Dollar"), ("euros", "Euro")))
        number = f"{random.uniform(2, 900):.{random.choice((0, 1, 2))}f}"
        return tuple(f"{one} {word}" for one, word in zip(
            (number, in_german(number)), words))
    return number, in_german(number)


def date(random):
    """Returns a date as English and as German write it."""
    day, year = random.randint(1, 28), random.randint(1400, 2060)
    month = random.randint(1, 12)
    if random.random() < 0.2:
        text = f"{year}-{month:02}-{day:02}"
        return text, text
    english, german = MONTHS[month - 1]
    if random.random() < 0.3:
        return f"{english} {day}", f"{day}. {german}"
    return f"{english} {day}, {year}", f"{day}. {german} {year}"


def time(random):
    text = f"{random.randint(0, 23)}:{random.randint(0, 59):02}"
    return text, text


def written(pair, random):
    """Returns the pair and then an amount, a date or a time in a sentence."""
    frames, draw = random.choice(((AMOUNT_FRAMES, amount),
                                  (AMOUNT_FRAMES, amount),
                                  (DATE_FRAMES, date), (TIME_FRAMES, time)))
    some = tuple(frame.format(new) for frame, new in zip(
        random.choice(frames), draw(random)))
    return some if random.random() < 0.6 else joined([pair, some])


def tagged(pair, random):
    """Puts a tag around the pair, or around a name or number that both sides
    have once."""
    opening, closing = copied.tag(random)
    words = [WORD.findall(text) for text in pair]
    shared = [w for w in words[0]
              if words[0].count(w) == 1 and words[1].count(w) == 1]
    if not shared or random.random() < 0.3:
        return tuple(opening + text + closing for text in pair)
    pattern = re.compile(
        rf"(?<![\w-]){re.escape(random.choice(shared))}(?![\w-])")
    return tuple(pattern.sub(lambda found: opening + found[0] + closing, text)
                 for text in pair)


def number(pair, random):
    """Replaces a number that both sides have once by another."""
    found = [NUMBER.findall(text) for text in pair]
    # A single thing stays single, and several stay several.
    shared = [n for n in found[0] if n not in ("0", "1")
              and found[0].count(n) == 1 and found[1].count(n) == 1]
    if not shared:
        return None
    old = random.choice(shared)
    return tuple(
        NUMBER.sub(lambda match: new if match[0] == old else match[0], text)
        for text, new in zip(pair, new_number(random)))


def numbered(pair, random):
    form = random.choice(("{}. {}", "{}) {}", "({}) {}", "{} {}", "{}: {}",
                          "#{} {}"))
    place = random.randint(1, 400)
    return tuple(form.format(place, text) for text in pair)


def shared_word(pair, random):
    """Replaces a name that both sides have once by something to copy."""
    words = [WORD.findall(text) for text in pair]
    shared = [w for w in words[0] if len(w) > 2 and w[0].isupper()
              and words[0].count(w) == 1 and words[1].count(w) == 1]
    if not shared:
        return None
    word, new = random.choice(shared), copied.anything(random)
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    return tuple(pattern.sub(lambda _: new, text) for text in pair)


def framed(pair, random):
    """Returns the pair and then a sentence with something to copy."""
    kind = random.random()
    if kind < 0.25:
        frame, new = random.choice(CODE_FRAMES), [copied.code(random)]
    elif kind < 0.5:
        frame = random.choice(NAME_FRAMES)
        new = [(copied.other_script if random.random() < 0.15
                else copied.person)(random)]
    elif kind < 0.75:
        frame, new = random.choice(FRAMES), [copied.anything(random)]
    else:
        frame = random.choice(DOUBLE_FRAMES)
        new = [copied.anything(random) for _ in range(2)]
        if random.random() < 0.4:
            new = [copied.placeholder(random)] * 2
    if random.random() < 0.4:
        return tuple(form.format(*new) for form in frame)
    return tuple(f"{text} {form.format(*new)}"
                 for text, form in zip(pair, frame))


def one_word(pair, random):
    """Returns a word without its full stop, in any case."""
    bare = tuple(text.rstrip(".!?") for text in pair)
    if any(len(text.split()) != 1 or not text for text in bare):
        return None
    return bare if random.random() < 0.5 else lower(bare, random)


def repeated(pair, random):
    """Repeats a word, or a sound that is the same in both languages, equally
    often on both sides."""
    bare = tuple(text.rstrip(".!?") for text in pair)
    if (random.random() < 0.6
            or any(len(text.split()) != 1 or not text for text in bare)):
        bare = (random.choice(SOUNDS),) * 2
    if random.random() < 0.5:
        bare = tuple(text.lower() for text in bare)
    count = random.randint(2, 6)
    between = random.choice((" ", " ", ", "))
    end = random.choice(("", "", "!", "."))
    return tuple(between.join([text] * count) + end for text in bare)


# The variants and how often each is tried where it applies.
WEIGHTS = [
    (upper, 4), (title, 3), (lower, 3), (no_final_punctuation, 4), (emoji, 4),
    (number, 6), (numbered, 1), (written, 2), (shared_word, 6), (framed, 4),
    (tagged, 1), (one_word, 5), (repeated, 3),
]
# ... of longer pairs
LONG_WEIGHTS = [
    (upper, 3), (title, 3), (lower, 2), (number, 3), (shared_word, 4),
    (tagged, 1),
]


def augmented(pair, random, weights=WEIGHTS):
    """Returns a variant of the pair, or None."""
    functions, weights = zip(*weights)
    return random.choices(functions, weights)[0](pair, random)


def joined(pairs):
    """Joins several pairs into one text."""
    return tuple(" ".join(texts) for texts in zip(*pairs))


# The numbers of sentences in a text.
SENTENCES = (2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8, 11)
HEADINGS = ("{}", "{}", "# {}", "## {}", "### {}", "**{}**", "{}:")
# The beginnings of a list's items; "#" stands for the item's number.
ITEMS = ("- ", "- ", "* ", "\u2022 ", "#. ", "#. ", "#) ")


def flowing(pairs, random):
    return joined(pairs)


def lines(pairs, random):
    return tuple("\n".join(texts) for texts in zip(*pairs))


def paragraphs(pairs, random):
    """Makes paragraphs of one to three sentences."""
    made = []
    while pairs:
        count = random.randint(1, 3)
        made.append(joined(pairs[:count]))
        pairs = pairs[count:]
    return tuple("\n\n".join(texts) for texts in zip(*made))


def listed(pairs, random):
    """Makes a list, sometimes after an introduction."""
    first = []
    if len(pairs) > 2 and random.random() < 0.4:
        first, pairs = pairs[:1], pairs[1:]
    if random.random() < 0.5:
        pairs = [no_final_punctuation(pair, random) or pair for pair in pairs]
    item = random.choice(ITEMS)
    items = [tuple(item.replace("#", str(number)) + text for text in pair)
             for number, pair in enumerate(pairs, 1)]
    return lines([*first, *items], random)


def headed(pairs, random):
    """Makes a heading and the text after it."""
    form = random.choice(HEADINGS)
    bare = no_final_punctuation(pairs[0], random) or pairs[0]
    body = random.choice((flowing, lines, listed))(pairs[1:], random)
    between = random.choice(("\n", "\n\n"))
    return tuple(form.format(title) + between + rest
                 for title, rest in zip(bare, body))


TEXTS = [(flowing, 50), (lines, 15), (paragraphs, 10), (listed, 13),
         (headed, 12)]


def text(pairs, random):
    """Joins pairs into one text: one sentence after another, one on each line,
    in paragraphs, in a list, or after a heading."""
    functions, weights = zip(*TEXTS)
    return random.choices(functions, weights)[0](pairs, random)
