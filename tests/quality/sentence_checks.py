"""What of a text a translation must keep as it is, and whether it loops."""

import re

NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# German writes numbers up to twelve as words, too. (A one is also "a".)
WORDS = {word: str(number) for number, word in enumerate(
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split(), 2)}
PLACEHOLDER = re.compile(
    r"%\(\w+\)[sd]|%\d\$s|%[sd@]|\$?\{\{?\w*\}?\}|\$[A-Z]+|</?\w+>|\[\w+\]")
# Addresses, paths and names of files.
ADDRESS = re.compile(
    r"https?://\S+|www\.\S+|[\w.]+@[\w.]+|[@#]\w+|\S*\\\S+|/\w+/\w+|"
    r"\w+\.(?:com|docx)")
EMOJI = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]")
LONGEST_LOOP = 6  # words that are said again and again
REPEATS = 4  # so often in a row


def addresses(text):
    return [found.rstrip(".!?,:") for found in ADDRESS.findall(text)]


def numbers(text):
    for found in PLACEHOLDER.findall(text) + addresses(text):
        text = text.replace(found, " ")
    return NUMBER.findall(text)


def with_24_hours(text):
    """6 p.m. is 18 in German."""
    return re.sub(r"\b([1-9]|1[01])(?=(?::\d\d)? ?p\.m\.)",
                  lambda hour: str(int(hour[1]) + 12), text)


def count_numbers(wanted, translation):
    made = made_numbers(translation)
    count = 0
    for one in wanted:
        if one in made:
            made.remove(one)
            count += 1
    return count


def made_numbers(translation):
    """Those that a German translation says."""
    words = re.findall(r"\w+", translation.lower())
    return ([alike(one) for one in NUMBER.findall(translation)] +
            [WORDS[word] for word in words if word in WORDS])


def alike(number):
    """A number without what languages write in different ways: 1,250 is
    1.250, and 9.30 is 9:30."""
    return re.sub(r"[.,:]", "", number)


def kept(source, translation):
    """kind -> (how many came through, of how many)."""
    found = {}
    ways = [[alike(one) for one in numbers(text)]
            for text in (source, with_24_hours(source))]
    found["numbers"] = (max(count_numbers(wanted, translation)
                            for wanted in ways), len(ways[0]))
    for kind, wanted in (("placeholders", PLACEHOLDER.findall(source)),
                         ("addresses", addresses(source)),
                         ("emoji", EMOJI.findall(source))):
        rest, count = translation, 0
        for one in wanted:
            if one in rest:
                rest = rest.replace(one, "", 1)
                count += 1
        found[kind] = count, len(wanted)
    return found


def repeats(text):
    """The most often that 1 to LONGEST_LOOP words come in a row."""
    words = text.lower().split()
    most = 1
    for size in range(1, LONGEST_LOOP + 1):
        for start in range(len(words) - size):
            unit, count = words[start:start + size], 1
            while words[start + count * size:
                        start + (count + 1) * size] == unit:
                count += 1
            most = max(most, count)
    return most


def loops(source, translation):
    """Whether the translation says again what the source does not, or never
    ends."""
    if len(translation) > 4 * len(source) + 60:
        return True
    return repeats(translation) >= max(REPEATS, repeats(source) + 2)
