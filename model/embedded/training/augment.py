"""Variants of pairs as people type them: capitals, no punctuation, emoji,
numbers, URLs, placeholders, single words, several sentences at once; and whole
texts. Each function takes a pair and a random.Random and returns a pair, or
None if it does not apply. If a translation is not also a source, it returns
both sources and then the German and the English translation."""

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


def upper(pair, random):
    return tuple(text.upper() for text in pair)


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
                   if kind < 0.92 else f"{random.randint(1000, 9999999):,}")
        return english, english.translate(str.maketrans(".,", ",."))
    return text, text


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
    if kind < 0.3:
        frame, new = random.choice(CODE_FRAMES), [copied.code(random)]
    elif kind < 0.65:
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
    (upper, 4), (lower, 3), (no_final_punctuation, 4), (emoji, 4),
    (number, 6), (numbered, 1), (shared_word, 6), (framed, 4), (one_word, 6),
    (repeated, 4),
]


def augmented(pair, random):
    """Returns a variant of the pair, or None."""
    functions, weights = zip(*WEIGHTS)
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
