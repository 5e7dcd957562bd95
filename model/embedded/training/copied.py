"""Things that a translation must copy: placeholders, addresses, file names,
handles, telephone numbers and codes. Each function draws one from a
random.Random."""

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


KINDS = [(placeholder, 50), (web_address, 16), (mail_address, 8),
         (file_name, 11), (handle, 4), (code, 11)]


def anything(random):
    functions, weights = zip(*KINDS)
    return random.choices(functions, weights)[0](random)
