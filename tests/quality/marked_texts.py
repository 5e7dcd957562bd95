"""Texts with markup, in English and German: sentences from templates, of which
random words are in random elements, in random blocks. Always the same ones for
a seed. Each element has an id, so that one knows it again; in Markdown links
have, which lead to it."""

import html
import random

# Each with what its translation begins with, or may.
_NOUNS = {
    "en": [("house", "haus"), ("garden", "garten"), ("river", "flu"),
           ("mountain", "berg"), ("teacher", "lehrer"), ("doctor", "arzt|ärzt"),
           ("car", "auto|wagen|fahrzeug"), ("train", "zug|züg"),
           ("school", "schul"), ("church", "kirch"), ("water", "wasser"),
           ("book", "buch|büch"), ("letter", "brief|schreiben"),
           ("king", "könig"), ("dog", "hund"), ("bread", "brot"),
           ("bridge", "brück"), ("summer", "sommer"), ("city", "stadt|städt"),
           ("window", "fenster")],
    "de": [("Haus", "house|home"), ("Garten", "garden"), ("Fluss", "river"),
           ("Berg", "mountain|hill"), ("Lehrer", "teacher"),
           ("Arzt", "doctor|physician"), ("Wagen", "car|wag"),
           ("Zug", "train"), ("König", "king"), ("Hund", "dog"),
           ("Brief", "letter"), ("Sommer", "summer"), ("Wald", "forest|wood"),
           ("Tisch", "table"), ("Markt", "market"), ("Hafen", "port|harbo"),
           ("Turm", "tower"), ("Stein", "stone|rock"), ("Mond", "moon"),
           ("Winter", "winter")],
}
_TEMPLATES = {
    "en": [
        "The # is near the #.", "I have never seen such a beautiful # before.",
        "When the old # came to the #, nobody was there.",
        "We bought a new # and sold the # last year.",
        "Please do not forget the # & the #!",
        "The president said that the # must be closed because of the #.",
        "Is there a # behind the #?", "5 > 3, but the # is < the #.",
        "According to the report, the # was built in 1890.",
        "My brother wants to show you his #, his # and his #.",
        "“A # is not a #,” she said.", "Without the # there would be no #.",
        "The # which stood beside the # has been destroyed.",
        "In the morning the # could be seen from the #.",
        "Children like the # more than the #, don't they?",
        "He gave the # to the #.",
    ],
    "de": [
        "Der # ist in der Nähe von dem #.",
        "Einen so schönen # habe ich noch nie gesehen.",
        "Als wir zum # kamen, war dort niemand.",
        "Letztes Jahr haben wir einen # gekauft und einen # verkauft.",
        "Vergessen Sie bitte nicht den # & den #!",
        "Der Präsident sagte, dass der # geschlossen werden muss.",
        "Gibt es hinter dem # einen #?", "5 > 3, aber der # ist < der #.",
        "Dem Bericht zufolge ist der # im Jahre 1890 entstanden.",
        "Mein Bruder möchte Ihnen seinen # und seinen # zeigen.",
        "„Ein # ist kein #“, sagte sie.", "Ohne den # gäbe es keinen #.",
        "Der #, der neben dem # stand, wurde zerstört.",
        "Am Morgen konnte man den # vom # aus sehen.",
        "Kinder mögen den # lieber als den #, nicht wahr?",
    ],
}
_INLINE = ["b", "i", "em", "strong", "a", "span", "u", "mark", "small", "q"]
_BLOCKS = ["p", "div", "li", "h1", "td", "blockquote"]
_CODE = ["make -j2", "a &lt; b", "F5", "server.conf", "x &amp;&amp; y"]
_ENTITIES = {"é": "&eacute;", "ä": "&auml;", "ö": "&#246;", "ü": "&#xFC;",
             "“": "&ldquo;", "„": "&bdquo;", "'": "&#39;"}


class _Maker:
    def __init__(self, source, xml, seed):
        self.random = random.Random(f"{source} {xml} {seed}")
        self.source = source
        self.xml = xml
        self.count = 0
        # (id of an element that has one noun alone, what it may be)
        self.nouns = []

    def chance(self, part):
        return self.random.random() < part

    def tag(self, name):
        self.count += 1
        more = self.random.choice(
            ["", ' class="x &amp; y"', " title='a > b'", ""])
        return f'{name} id="{self.count}"{more}'

    def escape(self, text):
        text = html.escape(text, quote=False)
        if not self.xml:
            for plain, entity in _ENTITIES.items():
                if plain in text and self.chance(0.3):
                    text = text.replace(plain, entity)
        return text

    def sentence(self):
        """Words, or (word, what it may be) of nouns."""
        words = []
        for word in self.random.choice(_TEMPLATES[self.source]).split():
            if "#" in word:
                noun, stems = self.random.choice(_NOUNS[self.source])
                words.append((word.replace("#", noun), stems))
            else:
                words.append((word, None))
        return words

    def marked(self, words, depth=0):
        """Words with elements around runs of them, and things between."""
        out = []
        at = 0
        while at < len(words):
            if depth < 4 and self.chance(0.22):
                size = self.random.choice([1, 1, 1, 2, 3, 5])
                part = words[at:at + size]
                out.append(self.element(part, depth))
                at += len(part)
                continue
            out.append(self.escape(words[at][0]))
            at += 1
            if self.chance(0.02):
                out.append(f'<{self.tag("img")}/>')
            elif self.chance(0.01):
                out.append("<!-- a <b> -->")
            elif self.chance(0.02):
                out.append(f'<{self.tag("code" if not self.xml else "c")}'
                           f'{" translate=" + chr(34) + "no" + chr(34)}>'
                           f'{self.random.choice(_CODE)}'
                           f'</{"code" if not self.xml else "c"}>')
            elif self.chance(0.01):
                name = self.random.choice(_INLINE)
                out.append(f"<{self.tag(name)}></{name}>")
        return " ".join(out)

    def element(self, words, depth):
        name = self.random.choice(_INLINE)
        tag = self.tag(name)
        if len(words) == 1 and words[0][1]:
            word, stems = words[0]
            # Punctuation may stay outside.
            inside = word.rstrip(".,!?“”")
            self.nouns.append((str(self.count), stems))
            return (f"<{tag}>{self.escape(inside)}</{name}>"
                    + self.escape(word[len(inside):]))
        return f"<{tag}>{self.marked(words, depth + 1)}</{name}>"

    def text(self):
        blocks = []
        for _ in range(self.random.choice([1, 1, 2])):
            words = []
            for _ in range(self.random.choice([1, 1, 1, 2, 3])):
                words += self.sentence()
            inner = self.marked(words)
            if self.xml or self.chance(0.6):
                name = self.random.choice(_BLOCKS)
                inner = f"<{self.tag(name)}>{inner}</{name}>"
            blocks.append(inner)
        text = "\n".join(blocks) if not self.xml or len(blocks) == 1 else (
            f"<doc>\n{chr(10).join(blocks)}\n</doc>")
        if not self.xml and self.chance(0.1):
            text += "<script>if (a < b) c('</b>');</script>"
        return text


def marked_texts(source, xml, count):
    """`count` of (text, nouns): the nouns that have an element of their own as
    (its id, what a translation of it may begin with, by |)."""
    texts = []
    for i in range(count):
        maker = _Maker(source, xml, i)
        text = maker.text()
        texts.append((text, maker.nouns))
    return texts


class _MarkdownMaker(_Maker):
    """Links are numbered, so that one knows them again."""

    _delimiters = ["*", "*", "_", "**", "**", "__", "~~"]
    _code = ["make -j2", "a < b", "`tick` x", "server.conf", "a|b"]

    def __init__(self, source, seed):
        super().__init__(source, "markdown", seed)
        self.definitions = []
        self.around = []  # kinds of the elements around
        self.cell = False

    def escape(self, text):
        if text in "<>&" or self.chance(0.95):
            return text
        return self.random.choice(
            [f"{text} a\\_b", f"{text} \\*", f"{text} &copy;", f"{text} \\[x\\]",
             f"{text} snake_case", f"{text} 2 * 3"])

    def marked(self, words, depth=0):
        out = []
        at = 0
        while at < len(words):
            if depth < 3 and self.chance(0.22):
                size = self.random.choice([1, 1, 1, 2, 3, 5])
                part = words[at:at + size]
                out.append(self.element(part, depth))
                at += len(part)
                continue
            out.append(self.escape(words[at][0]))
            at += 1
            if self.chance(0.02):
                self.count += 1
                out.append(f"![](i{self.count}.png)")
            elif self.chance(0.01):
                out.append("<!-- a *b* -->")
            elif self.chance(0.03):
                out.append(self.code())
            elif self.chance(0.01):
                out.append("<https://example.org/a_b?c=d>")
            elif self.chance(0.01):
                out.append("<kbd>F5</kbd>")
        return " ".join(out)

    def code(self):
        code = self.random.choice(self._code)
        if self.cell:
            code = code.replace("|", "\\|")
        return f"`` {code} ``" if "`" in code else f"`{code}`"

    def element(self, words, depth):
        name = self.random.choice(
            [*self._delimiters, "link", "link", "link", "b", "image"])
        if name in self.around or (name in ("link", "image")
                                   and {"link", "image"} & set(self.around)):
            return self.marked(words, depth + 1)
        if len(words) == 1 and words[0][1]:
            word, stems = words[0]
            inside = word.rstrip(".,!?“”")
            before, rest = "", word[len(inside):]
            while inside[0] in "“„":
                before, inside = before + inside[0], inside[1:]
            made = self.enclose(name, inside)
            if name == "link":
                self.nouns.append((str(self.count), stems))
            return before + made + rest
        self.around.append(name)
        inner = self.marked(words, depth + 1)
        self.around.pop()
        return self.enclose(name, inner)

    def enclose(self, name, inner):
        if name == "b":
            return f"<b>{inner}</b>"
        if name not in ("link", "image"):
            return f"{name}{inner}{name}"
        self.count += 1
        target = f"{self.count}"
        text = f"[{inner}]"
        kind = self.random.choice(["inline", "inline", "title", "full",
                                   "collapsed", "shortcut"])
        plain = all(c.isalnum() or c == " " for c in inner)
        if kind in ("collapsed", "shortcut") and (
                not plain or inner.lower() in
                [label.lower() for label, _ in self.definitions]):
            kind = "inline"
        if kind == "inline":
            text += f"({target})"
        elif kind == "title":
            text += f'({target} "A *title*")'
        elif kind == "full":
            text += f"[r{target}]"
            self.definitions.append((f"r{target}", target))
        else:
            text += "[]" if kind == "collapsed" else ""
            self.definitions.append((inner, target))
        return ("!" if name == "image" else "") + text

    def sentences(self, most=3):
        words = []
        for _ in range(self.random.randint(1, most)):
            words += self.sentence()
        return self.marked(words)

    def lines(self, text, prefix):
        """Some spaces as line breaks, of which some are hard."""
        out = []
        code = False
        for part in text.split(" "):
            if out:
                # What begins a line must begin no block, nor be in code.
                safe = part[:1].isalpha() and not code and self.chance(0.1)
                hard = self.random.choice(["", "", "", "\\", "  "])
                out.append(f"{hard}\n{prefix}" if safe else " ")
            code ^= part.count("`") % 2 == 1
            out.append(part)
        return "".join(out)

    def block(self):
        kind = self.random.choice(
            ["p", "p", "p", "h", "setext", "list", "tasks", "numbers", "quote",
             "table", "code", "indented", "html", "rule"])
        text = self.sentences(1 if kind in ("h", "setext", "table") else 3)
        if kind == "p":
            return self.lines(text, "")
        if kind == "h":
            return f"{self.random.choice(['#', '##', '###'])} {text}"
        if kind == "setext":
            return f"{text}\n{self.random.choice(['===', '---'])}"
        if kind == "list":
            return (f"- {self.lines(text, '  ')}\n- {self.sentences(1)}\n"
                    f"  * {self.sentences(1)}")
        if kind == "tasks":
            return f"- [ ] {text}\n- [x] {self.sentences(1)}"
        if kind == "numbers":
            return f"1. {self.lines(text, '   ')}\n2. {self.sentences(1)}"
        if kind == "quote":
            return f"> {self.lines(text, '> ')}\n>\n> {self.sentences(1)}"
        if kind == "table":
            self.cell = True
            cells = [self.sentences(1).replace("\\*", "x") for _ in range(4)]
            self.cell = False
            return (f"| {cells[0]} | {cells[1]} |\n|---|:-:|\n"
                    f"| {cells[2]} | {cells[3]} |")
        if kind == "code":
            return "```c\nint a = *b;  // The house\n\n# no heading\n```"
        if kind == "indented":
            return "    the **code**"
        if kind == "html":
            return '<div class="a">\nThe *house*.\n</div>'
        return "* * *"

    def text(self):
        blocks = [self.block()
                  for _ in range(self.random.choice([1, 1, 2, 3]))]
        if self.chance(0.1):
            blocks.insert(0, "---\ntitle: The house\n---")
        blocks += [f"[{label}]: {target}"
                   for label, target in self.definitions]
        return "\n\n".join(blocks) + "\n"


def marked_down_texts(source, count):
    """The same of Markdown, of several lines; ids are where links lead."""
    texts = []
    for i in range(count):
        maker = _MarkdownMaker(source, i)
        texts.append((maker.text(), maker.nouns))
    return texts
