"""Things that a translation must copy: placeholders, addresses, file names,
handles, telephone numbers, codes, tags, names with any Latin letters and words
of other scripts. Each function draws one from a random.Random."""

NAMES = [
    "name", "user", "count", "n", "date", "time", "file", "path", "city", "id",
    "value", "total", "title", "link", "price", "first_name", "userName",
    "item", "email", "number", "product", "page", "size", "host", "field",
]
FIXED = ["%s", "%d", "%i", "%1$s", "%2$s", "%2$d", "%@", "%u", "%.2f", "{}",
         "{0}", "{1}", "{2}"]
FORMS = ["{%s}", "{%s}", "{%s}", "{{%s}}", "${%s}", "$%s", "<%s>", "[%s]",
         "%%(%s)s", "%%(%s)d", "%%%s%%", ":%s", "{{ %s }}", "@%s@"]
ENDINGS = ["com", "com", "org", "net", "de", "edu", "io", "eu", "co.uk", "at"]
SUFFIXES = ["txt", "pdf", "jpg", "png", "docx", "html", "zip", "csv", "json",
            "py", "mp3", "conf", "tar.gz", "xlsx"]
FOLDERS = ["etc", "home", "usr", "var", "tmp", "opt", "Users", "Documents",
           "data", "bin", "lib", "photos", "src", "log", "images"]
FIRST_NAMES = ["anna", "tom", "info", "team", "m.schmidt", "jane.doe", "x",
               "office", "k_lee", "support", "peter99"]


def letters(random):
    """Draws letters that look like a word."""
    return "".join(
        random.choice("bcdfghjklmnprstvwz") + random.choice("aeiou")
        + random.choice(("", "", "n", "r", "s", "t"))
        for _ in range(random.randint(1, 3)))


def name(random):
    one = random.choice(NAMES) if random.random() < 0.7 else letters(random)
    return one.upper() if random.random() < 0.15 else one


def placeholder(random):
    if random.random() < 0.4:
        return random.choice(FIXED)
    return random.choice(FORMS) % name(random)


def host(random):
    one = ("example" if random.random() < 0.3 else "-".join(
        letters(random) for _ in range(random.choice((1, 1, 1, 2)))))
    return f"{one}.{random.choice(ENDINGS)}"


def place(random):
    """Draws a part of a path."""
    kind = random.random()
    if kind < 0.4:
        return letters(random)
    if kind < 0.6:
        return random.choice(FOLDERS)
    if kind < 0.8:
        return random.choice(NAMES)
    return "".join(random.choices("abcdefghkmnpqrstuvwxyzABCDEFGHKMNPQRSTUVWXYZ"
                                  "0123456789", k=random.randint(1, 6)))


def path(random):
    parts = [place(random) for _ in range(random.choice((0, 0, 1, 1, 2, 3)))]
    text = "".join("/" + part for part in parts)
    end = random.random()
    if parts and end < 0.2:
        return f"{text}.{random.choice(SUFFIXES)}"
    if end < 0.3:
        return f"{text}/"
    if parts and end < 0.4:
        return f"{text}?{random.choice(NAMES)}={place(random)}"
    if parts and end < 0.5:
        return f"{text}#{place(random)}"
    return text


def web_address(random):
    start = random.choice(("https://", "https://", "http://", "www.", "",
                           "https://www.", "https://docs."))
    return start + host(random) + path(random)


def mail_address(random):
    who = (random.choice(FIRST_NAMES) if random.random() < 0.6
           else letters(random))
    return f"{who}@{host(random)}"


def file_name(random):
    parts = [place(random) for _ in range(random.choice((1, 1, 2, 3)))]
    last = f"{random.choice('_-__').join(parts)}.{random.choice(SUFFIXES)}"
    kind = random.random()
    if kind < 0.5:
        return last
    folders = [place(random) for _ in range(random.choice((1, 2, 2)))]
    if kind < 0.65:
        return "\\".join([f"{random.choice('CDE')}:", *folders, last])
    return random.choice(("/", "/", "~/", "./")) + "/".join(
        [*folders, random.choice((last, place(random)))])


def handle(random):
    return random.choice("@#") + place(random)


def code(random):
    """Draws a telephone number, or the number of an order, a room or a
    flight."""
    def digits(least, most):
        return "".join(random.choices("0123456789",
                                      k=random.randint(least, most)))

    kind = random.random()
    if kind < 0.3:
        return f"{digits(3, 4)}-{digits(3, 5)}"
    if kind < 0.5:
        return f"+{random.randint(1, 99)} {digits(2, 4)} {digits(5, 8)}"
    if kind < 0.7:
        return f"0{digits(2, 4)} {digits(4, 8)}"
    initials = "".join(random.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                                      k=random.randint(1, 3)))
    return initials + random.choice(("", "", "-", " ")) + digits(1, 5)


# Latin letters of many languages, each as often as the others: the vocabulary
# has few of them, and spells the rest as bytes.
CONSONANTS = "bcdfghjklmnprstvwz" + "çćčďđðğķłļńňñņřśšşșťţțþýźżžßĝħ"
VOWELS = "aeiou" + "áàâãäåāăąæéèêëēėęěíìîïīįıóòôõöøōőœúùûüūůűųÿy"


def foreign_name(random):
    """Draws a name of random syllables, one to three of whose letters English
    lacks."""
    plain = "".join(letters(random) for _ in range(random.choice((1, 1, 2))))
    text = list(plain)
    for i in random.sample(range(len(text)), min(len(text),
                                                 random.randint(1, 3))):
        text[i] = random.choice(VOWELS if text[i] in "aeiou" else CONSONANTS)
    first = text[0].upper()
    return (first if len(first) == 1 else text[0]) + "".join(text[1:])


def person(random):
    """Draws a first and a last name, or one of them."""
    names = [foreign_name(random) if random.random() < 0.7
             else letters(random).capitalize()
             for _ in range(random.choice((1, 2, 2)))]
    if random.random() < 0.1:
        names[-1] += "-" + foreign_name(random)
    return " ".join(names)


# First and last letters of other scripts, and how often each is drawn.
SCRIPTS = [((0x430, 0x44F), 6), ((0x3B1, 0x3C9), 3), ((0x5D0, 0x5EA), 2),
           ((0x627, 0x63A), 3), ((0x905, 0x939), 2), ((0xE01, 0xE2E), 1),
           ((0x3042, 0x3093), 2), ((0x30A2, 0x30F3), 2), ((0x4E00, 0x9FA5), 4),
           ((0xAC00, 0xD7A3), 2), ((0x561, 0x586), 1), ((0x10D0, 0x10F0), 1)]


def other_script(random):
    """Draws a short word of random letters of another script."""
    spans, weights = zip(*SCRIPTS)
    first, last = random.choices(spans, weights)[0]
    most = 4 if first >= 0x3000 else 8
    text = "".join(chr(random.randint(first, last))
                   for _ in range(random.randint(2, most)))
    return text.capitalize() if random.random() < 0.7 else text


TAGS = ["b", "i", "em", "strong", "u", "code", "p", "h1", "h2", "li", "span",
        "td", "a", "s", "kbd"]


def tag(random):
    """Draws what opens and what closes a tag."""
    name = random.choice(TAGS)
    if name == "a":
        return f'<a href="{web_address(random)}">', "</a>"
    if random.random() < 0.2:
        return f'<{name} class="{letters(random)}">', f"</{name}>"
    return f"<{name}>", f"</{name}>"


KINDS = [(placeholder, 44), (web_address, 14), (mail_address, 7),
         (file_name, 10), (handle, 4), (code, 10), (person, 30),
         (other_script, 8)]


def anything(random):
    functions, weights = zip(*KINDS)
    return random.choices(functions, weights)[0](random)
