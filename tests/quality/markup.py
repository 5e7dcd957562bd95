"""markup.py PROGRAMS MODEL [COUNT]: 2,000 texts with markup, half of them HTML
and half XML, half English and half German, and as many of Markdown, translated
by the embedded model, beam 4, as served in int8. What comes out is parsed by
Python's parsers and markdown-it-py (PyPI), which know nothing of ours: is it
well-formed, and has it the same elements with the same attributes, each in the
same one? Has Markdown the same blocks in the same order? Do elements that had
one noun alone have its translation?

By hand. Fails where an element is lost, doubled or elsewhere.
"""

import html.parser
import re
import sys
import xml.etree.ElementTree

import markdown_it
from marked_texts import marked_down_texts, marked_texts
from served import Served

_VOID = {"img"}


class _HtmlTree(html.parser.HTMLParser):
    """Elements as (path of tags and attributes), and what people read in
    each, by id; `problem`: the first thing that is not well-formed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self.open = []
        self.elements = []
        self.texts = {}
        self.others = []
        self.text = ""
        self.problem = None
        self.feed(text)
        self.close()
        if self.open:
            self.problem = self.problem or f"{self.open[-1]} is not closed"

    def handle_starttag(self, tag, attrs):
        self.open.append((tag, *attrs))
        self.elements.append(tuple(self.open))
        if tag in _VOID:
            self.open.pop()

    def handle_startendtag(self, tag, attrs):
        self.elements.append((*self.open, (tag, *attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.problem = self.problem or f"</{tag}> closes nothing"
        else:
            self.open.pop()

    def handle_comment(self, data):
        self.others.append(data)

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "script":
            self.others.append(data)
            return
        if "<" in data or ">" in data or "&" in data:
            self.problem = self.problem or f"{data!r} is not escaped"
        self.add(data)

    def handle_entityref(self, name):
        self.add(html.unescape(f"&{name};"))

    def handle_charref(self, name):
        self.add(html.unescape(f"&#{name};"))

    def add(self, text):
        self.text += text
        for tag in self.open:
            number = dict(tag[1:]).get("id")
            self.texts[number] = self.texts.get(number, "") + text


class _XmlTree:
    def __init__(self, text):
        self.elements = []
        self.texts = {}
        self.others = re.findall("<!--.*?-->", text)
        self.text = ""
        self.problem = None
        try:
            self.walk(xml.etree.ElementTree.fromstring(f"<x>{text}</x>"), ())
        except xml.etree.ElementTree.ParseError as error:
            self.problem = str(error)

    def walk(self, node, path):
        path = (*path, (node.tag, *node.attrib.items()))
        self.elements.append(path)
        self.texts[node.get("id")] = "".join(node.itertext())
        self.text = self.text or self.texts[node.get("id")]
        for child in node:
            self.walk(child, path)


class _MarkdownTree:
    """By markdown-it: blocks in order, with what is in them where that is no
    text, and of each block's text the elements as (path of tags and
    attributes)."""

    problem = None

    def __init__(self, text):
        parser = markdown_it.MarkdownIt("commonmark").enable(
            ["table", "strikethrough"])
        self.elements = []
        self.others = []  # blocks
        self.texts = {}
        self.text = ""
        for token in parser.parse(text):
            self.others.append(repr(
                (len(self.others), token.type, token.tag,
                 token.markup.strip("=-"), token.info, token.level,
                 token.hidden, sorted(token.attrs.items()),
                 "" if token.type == "inline" else token.content)))
            if token.type == "inline":
                self.walk(token.children, (len(self.others),))

    def walk(self, tokens, path):
        for token in tokens:
            if token.type == "text":
                self.add(token.content, path)
            elif token.type == "softbreak":
                self.add(" ", path)
            elif token.nesting == 1:
                path = (*path, self.element(token))
                self.elements.append(path)
            elif token.nesting == -1 or token.content.startswith("</"):
                path = path[:-1]
            elif token.type == "html_inline" and token.content[1] != "!":
                path = (*path, self.element(token))
                self.elements.append(path)
            else:
                self.elements.append((*path, self.element(token)))
                if token.type == "image":
                    self.walk(token.children or (), self.elements[-1])

    @staticmethod
    def element(token):
        return (token.type, *token.attrs.items(),
                "" if token.type == "image" else token.content)

    def add(self, text, path):
        self.text += text
        for element in path[1:]:
            number = dict(one for one in element if isinstance(one, tuple)).get(
                "href")
            self.texts[number] = self.texts.get(number, "") + text


def _texts(form, source, count):
    if form == "markdown":
        return marked_down_texts(source, count)
    texts = marked_texts(source, form == "xml", count)
    # Of a line each, which is one space to both formats.
    return [(text.replace("\n", " "), words) for text, words in texts]


def main(programs, model, count=2000):
    bad = 0
    with Served(programs, model) as server:
        for form, tree, each in (("html", _HtmlTree, count // 4),
                                 ("xml", _XmlTree, count // 4),
                                 ("markdown", _MarkdownTree, count // 2)):
            same = elements = right = nouns = empty = 0
            for source, target in (("en", "de"), ("de", "en")):
                texts = _texts(form, source, each)
                results = server.translate([text for text, _ in texts], target,
                                           flags=["--format", form])
                for (text, words), made in zip(texts, results, strict=True):
                    if "result" not in made:
                        bad += 1
                        print(f"refused: {text}: {made}")
                        continue
                    translation = made["result"]["hypotheses"][0]["text"]
                    before, after = tree(text), tree(translation)
                    assert before.problem is None, (before.problem, text)
                    if (after.problem is None
                            and sorted(before.elements) ==
                            sorted(after.elements)
                            and sorted(before.others) == sorted(after.others)):
                        same += 1
                    else:
                        bad += 1
                        print(f"{after.problem}: {text} -> {translation}")
                    elements += len(before.elements)
                    empty += sum(
                        1 for number, text in before.texts.items()
                        if number and text.strip()
                        and not after.texts.get(number, "").strip())
                    for number, stems in words:
                        # Of nouns that the model has translated so.
                        stem = re.compile(rf"\b(?:{stems})", re.IGNORECASE)
                        if not stem.search(after.text):
                            continue
                        nouns += 1
                        if stem.search(after.texts.get(number, "")):
                            right += 1
            print(f"{form}: {same} of {2 * each} well-formed with the same "
                  f"elements in the same ones ({elements} elements, {empty} of "
                  f"them lost all words); {right} of {nouns} nouns have their "
                  "element", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3], *map(int, sys.argv[3:4])))
