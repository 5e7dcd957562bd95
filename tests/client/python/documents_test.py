"""Tests what is translated in each format of documents, and that nothing else
changes."""

import io
import itertools
import json
import re
import unittest
import zipfile
from html.parser import HTMLParser
from xml.etree import ElementTree

import fake_server
import make_documents
from make_documents import Maker
from trivium.documents import FORMATS, DocumentError, Options, translation

SEEDS = range(150)


class Nothing:
    """An empty memory of earlier runs."""

    def find(self, sent):
        return None

    def keep(self, sent, translation):
        pass


class Changer:
    """Translates with a function, which sees only the texts between HTML tags. Leaves
    unchanged what the server would leave."""

    def __init__(self, change):
        self.change = change

    def translate(self, texts):
        for index, sent in enumerate(texts):
            yield index, fake_server.translated(
                sent.text, sent.format == "HTML", self.one)

    def one(self, text):
        kept = text.startswith(("https://", "{")) or not text.strip()
        return text if kept else self.change(text)


def translate(form, data, change=str.upper, **options):
    if isinstance(data, str):
        data = data.encode()
    document = FORMATS[form](data, Options(**options))
    done, failures = translation.translate(
        document.segments, Changer(change), Nothing(), lambda *_: None)
    assert not failures
    return document.render(done)


def texts_of(form, data, **options):
    if isinstance(data, str):
        data = data.encode()
    document = FORMATS[form](data, Options(**options))
    return [segment.sent.text for segment in document.segments]


def moved(form, data, translations):
    """Returns the document with these translations of the sent texts."""
    class Given:
        def translate(self, texts):
            for index, sent in enumerate(texts):
                yield index, translations[sent.text]
    document = FORMATS[form](data.encode(), Options())
    done, failures = translation.translate(
        document.segments, Given(), Nothing(), lambda *_: None)
    assert not failures, failures
    return document.render(done).decode()


WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def runs_of(document):
    """Returns each text of document.xml with its formatting, neighbours with the same
    formatting joined, and the other elements in their order."""
    found = []

    def walk(element, formatting):
        name = element.tag.removeprefix(WORD)
        if name == "r":
            properties = element.find(WORD + "rPr")
            formatting = [one.tag for one in properties if one.tag != WORD + "lang"
                          ] if properties is not None else []
        elif name == "t":
            found.append((formatting, element.text or ""))
        elif name not in ("rPr", "lang", "b", "u", "proofErr"):
            found.append((name, element.text if name.endswith("Text") else None))
        for child in element:
            walk(child, formatting)
        if name in ("p", "hyperlink"):
            found.append((name, "end"))
    walk(ElementTree.fromstring(document), None)
    grouped = itertools.groupby(found, key=lambda one: one[0])
    return [(key, "".join(text for _, text in group) if isinstance(key, list)
             else [text for _, text in group]) for key, group in grouped]


class PropertyTest(unittest.TestCase):
    """Random documents become what their makers expect, byte for byte."""

    maxDiff = None

    def check(self, form, make, encode=str.encode):
        for seed in SEEDS:
            before = encode(make(Maker(seed, None)))
            with self.subTest(form=form, seed=seed):
                self.assertEqual(translate(form, before), encode(make(Maker(seed, str.upper))))
                if form not in ("po", "xliff"):
                    self.assertEqual(translate(form, before, str), before)

    def test_text(self):
        self.check("text", make_documents.text)

    def test_text_with_a_mark(self):
        self.check("text", make_documents.text, lambda t: b"\xef\xbb\xbf" + t.encode())
        self.check("text", make_documents.text, lambda t: b"\xff\xfe" + t.encode("utf-16-le"))

    def test_srt(self):
        self.check("srt", make_documents.srt)

    def test_po(self):
        self.check("po", make_documents.po)

    def test_json(self):
        self.check("json", make_documents.json_document)

    def test_html(self):
        """White space in a translated text is a space, as browsers show it."""
        for seed in SEEDS:
            before = make_documents.html(Maker(seed, None))
            after = make_documents.html(Maker(seed, str.upper))
            with self.subTest(seed=seed):
                made = translate("html", before).decode()
                self.assertEqual(*(re.sub(r"\s+", " ", one) for one in (made, after)))
                stays = re.compile(r"<(script|pre|style)\b.*?</\1>", re.DOTALL)
                self.assertEqual(*([one.group() for one in stays.finditer(page)]
                                   for page in (made, after)))
                self.assertEqual(translate("html", before, str).decode(), before)

    def test_markdown(self):
        """The sent texts are the document, in parts (server_test.py has the rest)."""
        for seed in SEEDS:
            before = make_documents.markdown(Maker(seed, None))
            with self.subTest(seed=seed):
                self.assertEqual(translate("markdown", before, str).decode(), before)
                parts = texts_of("markdown", before)
                rest = re.sub(r"^---\r?\ntitle: .*\r?\n---", "", before)
                for part in parts:
                    block = part.split("\n\n[")[0].lstrip("\n")
                    self.assertIn(block, rest)
                    rest = rest.replace(block, "", 1)
                self.assertRegex(rest, r"^[\s-]*$")

    def test_xliff(self):
        self.check("xliff", make_documents.xliff)

    def test_docx(self):
        def parts(data):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                all = [(one.filename, one.date_time, one.compress_type, archive.read(one))
                       for one in archive.infolist()]
            document = next(content for name, *_, content in all if "document" in name)
            return runs_of(document), [one for one in all if one[3] != document]
        for seed in SEEDS:
            before = make_documents.docx(Maker(seed, None))
            with self.subTest(seed=seed):
                self.assertEqual(parts(translate("docx", before)),
                                 parts(make_documents.docx(Maker(seed, str.upper))))
                self.assertEqual(translate("docx", before, str), before)

    def test_tags_are_the_same_whatever_the_translation(self):
        """This holds even if texts come back with markup of their own."""
        class Tags(HTMLParser):
            def __init__(self, text):
                super().__init__()
                self.found = []
                self.feed(text)

            def handle_starttag(self, tag, attrs):
                self.found.append((tag, [name for name, _ in attrs]))

            def handle_endtag(self, tag):
                self.found.append(tag)
        hostile = '<b>&amp;"\'</p>]]>-->'
        for seed in SEEDS:
            before = make_documents.html(Maker(seed, None))
            after = translate("html", before, lambda text: text + hostile).decode()
            self.assertEqual(Tags(after).found, Tags(before).found)
            translate("xliff", make_documents.xliff(Maker(seed, None)), lambda t: t + hostile)
            made = translate("json", make_documents.json_document(Maker(seed, None)),
                             lambda text: text + hostile + '\\"\n\x01')
            json.loads(made)

    def test_what_was_translated_is_read_again(self):
        hostile = ' <b>&amp;"\\ ]]>'
        for form, make in (("po", make_documents.po), ("xliff", make_documents.xliff)):
            for seed in SEEDS:
                once = translate(form, make(Maker(seed, None)), lambda text: text + hostile)
                self.assertEqual(translate(form, once), once, "nothing is missing any more")


class FormatsTest(unittest.TestCase):
    def test_html_blocks_end_texts_and_inline_tags_do_not(self):
        page = ("<p>I ate an <b>red</b> <i>apple</i>.<br>It was<p>good.<ul><li>A<li>B</ul>"
                "<textarea>C &lt; D</textarea>")
        self.assertEqual(texts_of("html", page),
                         ['I ate an <span id="0">red</span> <span id="1">apple</span>.',
                          "It was", "good.", "A", "B", "C < D"])

    def test_html_tags_go_with_their_words(self):
        sent = ('<code id="0"></code> has\n<span id="1">the <img id="2">red</span> '
                '&amp; <span id="3">old</span> house')
        page = (f'<p id=x> <i><code>f</code> has\n<a title="T" href="/">the <img alt="I">red'
                '</a> &amp; <B>old</B> house</i> </p>')
        self.assertEqual(texts_of("html", page), ["T", "I", sent])
        made = moved("html", page, {
            "T": "D", "I": "Ü",
            sent: 'Das <span id="3">alte</span>, <span id="1">rote<img id="2"></span> Haus '
                  '&lt;hat <code id="0"></code>'})
        self.assertEqual(made, '<p id=x> <i>Das <B>alte</B>, <a title="D" href="/">rote'
                         '<img alt="Ü"></a> Haus &lt;hat <code>f</code></i> </p>')

    def test_markup_that_does_not_come_back_is_refused(self):
        segment = FORMATS["html"](b"a <b>c</b> <img> d", Options()).segments[0]
        self.assertEqual(segment.sent.text, 'a <span id="0">c</span> <img id="1"> d')
        for broken in ('a <span id="0">c</span> d', 'a c <img id="1"> d',
                       '<span id="0">c</span> <img id="1"> <img id="1">',
                       '<img id="0"></span> <img id="1">', '<span id="0"><img id="1">',
                       '<span id="0"></span><img id="1"><span id="2"></span>'):
            with self.assertRaisesRegex(DocumentError, "did not come back"):
                segment.parts(broken)

    def test_docx_runs_follow_their_words(self):
        def document(*runs):
            namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
            return f'<w:document xmlns:w="{namespace}"><w:p>{"".join(runs)}</w:p></w:document>'

        def run(text, properties=""):
            text = f'<w:t xml:space="preserve">{text}</w:t>' if text[0] != "<" else text
            return f"<w:r><w:rPr>{properties}</w:rPr>{text}</w:r>"

        def made(before, sent, target):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as archive:
                archive.writestr("word/document.xml", before)
            document = FORMATS["docx"](out.getvalue(), Options())
            self.assertEqual([one.sent.text for one in document.segments], [sent])
            with zipfile.ZipFile(io.BytesIO(document.render([target]))) as archive:
                return archive.read("word/document.xml").decode()
        note = '<w:footnoteReference w:id="2"/>'
        language = '<w:lang w:val="en"/>'
        self.assertEqual(
            made(document(run("The ", language), "\n ", run("red", "<w:b/>"),
                          run(" house ", language),
                          run("is ol"), run("d"), run(note, "<w:v/>"), run(". ")),
                 'The <span id="0">red</span> house is old<img id="1">. ',
                 'Alt<img id="1"> ist das Haus, das <span id="0">rote</span>. '),
            document(run("Alt", language), run(note, "<w:v/>"),
                     run(" ist das Haus, das ", language), run("rote", "<w:b/>"),
                     run(". ", language)))
        link = '<w:hyperlink r:id="1">'
        fields = [f'<w:fldChar w:fldCharType="{one}"/>' for one in ("begin", "separate", "end")]
        self.assertEqual(
            made(document(run("See "), '<w:bookmarkStart w:id="7"/>', link,
                          run("chapter", "<w:u/>"), "</w:hyperlink>", '<w:bookmarkEnd w:id="7"/>',
                          run(" "), run(fields[0]), run("<w:instrText>REF</w:instrText>"),
                          run(fields[1]), run("two"), run(fields[2]), run("!")),
                 'See <span id="0"><span id="1"><span id="2">chapter</span></span></span> '
                 '<span id="3">two</span>!',
                 '<span id="3">Zwei</span>: <span id="0">ein<span id="1"> <span id="2">'
                 'Kapitel</span></span></span>!'),
            document(run(fields[0]), run("<w:instrText>REF</w:instrText>"),
                     run(f'{fields[1]}<w:t xml:space="preserve">Zwei</w:t>{fields[2]}'
                         '<w:t xml:space="preserve">: </w:t>'),
                     '<w:bookmarkStart w:id="7"/>', run("ein"), link, run(" "),
                     run("Kapitel", "<w:u/>"), "</w:hyperlink>", '<w:bookmarkEnd w:id="7"/>',
                     run("!")))

    def test_xliff_codes_go_with_their_words(self):
        def document(target):
            return ('<xliff version="1.2"><file source-language="en"><body><trans-unit id="1">'
                    '<source>Open <bpt id="1">&lt;b></bpt>the <ph id="2">%s</ph><ept id="1">'
                    f'&lt;/b></ept> <g id="3">now</g></source>{target}</trans-unit></body>'
                    "</file></xliff>")
        made = moved("xliff", document(""), {
            'Open <span id="0">the <code id="1"></code></span> <span id="2">now</span>':
            '<span id="2">Jetzt</span> <span id="0">das <code id="1"></code></span> öffnen'})
        self.assertEqual(made, document(
            '<target><g id="3">Jetzt</g> <bpt id="1">&lt;b></bpt>das <ph id="2">%s</ph>'
            '<ept id="1">&lt;/b></ept> öffnen</target>'))

    def test_html_attributes_that_people_read(self):
        page = ('<meta name="description" content="About us"><meta name=viewport content="x">'
                '<img alt=\'It "is"\' src="a.png"><input type="submit" value="Send">'
                '<input value="mine" placeholder="Name">')
        self.assertEqual(texts_of("html", page),
                         ["About us", 'It "is"', "Send", "Name"])
        self.assertIn(b"alt='it&#39;s'", translate("html", page, lambda _: "it's"))

    def test_html_encodings(self):
        head = '<meta charset="iso-8859-1"><p>Ähre</p>'
        out = translate("html", head.encode("latin-1"), lambda _: "Łódź é")
        self.assertEqual(out, '<meta charset="iso-8859-1"><p>&#321;ód&#378; é</p>'
                         .encode("latin-1"))
        with self.assertRaisesRegex(DocumentError, "'klingon'"):
            texts_of("html", '<meta charset="klingon">')

    def test_broken_html_is_carried(self):
        for page in ("<", "a < b", "<p", "</", "<p>a</b></i><", "<!-- open", "<a href='x>t",
                     "<script>never closed", "&notanentity; &amp", "<p translate=no>a<p>b"):
            with self.subTest(page):
                self.assertEqual(translate("html", page, str), page.encode())

    def test_markdown_is_sent_block_by_block(self):
        page = ("---\ntitle: x\n---\n# One\ntwo\n\n- three\n\n  four\n- five\nfive\n"
                "2. 5\n\n> six\n>\n> seven\n")
        self.assertEqual(texts_of("markdown", page),
                         ["# One\ntwo", "- three\n\n  four", "- five\nfive\n2. 5",
                          "> six\n>\n> seven"])

    def test_markdown_that_has_blank_lines_is_not_cut(self):
        for block in ("```\na\n\nb\n```", "~~~~ x\na\n\n~~~\n\nb\n~~~~~", "<!-- a\n\nb -->",
                      "<pre>\n\na\n\n</pre>", "- ```\n  a\n\nb\n  ```", "<script>\n\nx</script>",
                      "1. a\n\n   ```\n\nb\n   ```", "<![CDATA[\n\na]]>", "<?a\n\nb?>"):
            page = f"x\n\n{block}\n\ny\r\n"
            with self.subTest(block):
                self.assertEqual(texts_of("markdown", page), ["x", block, "y"])

    def test_markdown_rules_are_no_front_matter(self):
        self.assertEqual(texts_of("markdown", "a\n\n---\nb\n---\n\nc"), ["a", "\n---\nb\n---", "c"])

    def test_markdown_is_sent_with_its_links_definitions(self):
        page = "[A] and [b][C d]\n\nelse\n\n[a]: /a\n[c  D]: /c 't'\n[e]: /e\n"
        texts = texts_of("markdown", page)
        sent = "[A] and [b][C d]\n\n[a]: /a\n[c  D]: /c 't'"
        self.assertEqual(texts[:2], [sent, "else"])
        made = moved("markdown", page, {
            sent: "[B][A] und [b][C d]\n\n[a]: /a\n[c  D]: /c 't'", "else": "sonst",
            texts[2]: texts[2]})
        self.assertEqual(made, page.replace("[A] and", "[B][A] und").replace("else", "sonst"))

    def test_srt_wraps_into_as_many_lines(self):
        cue = "1\n00:00:01,000 --> 00:00:02,000\n{}\n\n"
        out = translate("srt", cue.format("a b c d\ne f"), lambda _: "one two three four five")
        self.assertEqual(out.decode(), cue.format("one two three\nfour five"))
        out = translate("srt", cue.format("a\nb"), lambda _: "one")
        self.assertEqual(out.decode(), cue.format("one"))

    def test_json_keys_and_choice(self):
        data = '{"title": "a", "id": "b", "items": [{"title": "c", "x": "d"}]}'
        self.assertEqual(json.loads(translate("json", data, only=["title"])),
                         {"title": "A", "id": "b", "items": [{"title": "C", "x": "d"}]})
        self.assertEqual(json.loads(translate("json", data, keys=True, only=["none"])),
                         {"TITLE": "a", "ID": "b", "ITEMS": [{"TITLE": "c", "X": "d"}]})

    def test_json_escapes_as_the_document_does(self):
        self.assertEqual(translate("json", '["\\u00e4", "b"]'), b'["\\u00c4", "B"]')
        self.assertEqual(translate("json", '["ä\\nb"]'), '["Ä\\nB"]'.encode())
        self.assertEqual(translate("json", '["\\ud800 a", "b"]'), b'["\\ud800 a", "B"]')

    def test_po_forms(self):
        entry = 'msgid "one"\nmsgid_plural "many"\nmsgstr[0] ""\n'
        self.assertIn(b'msgstr[0] "MANY"', translate("po", entry))
        three = entry + 'msgstr[1] ""\nmsgstr[2] ""\n'
        self.assertTrue(translate("po", three).endswith(
            b'msgstr[0] "ONE"\nmsgstr[1] "MANY"\nmsgstr[2] "MANY"\n'))
        had = 'msgid "a"\nmsgstr "b"\n'
        self.assertEqual(translate("po", had), had.encode())
        self.assertEqual(translate("po", had, retranslate=True), b'msgid "a"\nmsgstr "A"\n')

    def test_xliff_names_the_language(self):
        document = ('<xliff version="2.0" srcLang="en"><file id="f"><unit id="u"><segment>'
                    "<source>a</source></segment></unit></file></xliff>")
        out = translate("xliff", document, target_language="de").decode()
        self.assertIn('<xliff version="2.0" srcLang="en" trgLang="de">', out)
        self.assertIn("<source>a</source><target>A</target>", out)

    def test_xliff_segmented_sources_and_alternatives(self):
        document = ('<xliff version="1.2"><file source-language="en"><body><trans-unit id="1">'
                    '<source>a. b.</source><seg-source><mrk mtype="seg" mid="1">a.</mrk> '
                    '<mrk mtype="seg" mid="2">b.</mrk></seg-source><alt-trans><source>x</source>'
                    "<target>y</target></alt-trans></trans-unit></body></file></xliff>")
        out = translate("xliff", document).decode()
        self.assertIn('</seg-source><target><mrk mtype="seg" mid="1">A.</mrk> '
                      '<mrk mtype="seg" mid="2">B.</mrk></target><alt-trans>', out)
        self.assertEqual(texts_of("xliff", document), ["a.", "b."])

    def test_errors_say_what_and_where(self):
        for form, data, what in (
                ("json", b'{"a": \n x}', "line 2, column 2: .*JSON"),
                ("json", b"[" * 100000, "nested|JSON"),
                ("xliff", b"<xliff>\n<b></xliff>", "line 2, column 6: .*XML"),
                ("xliff", b"<tmx/>", "line 1: .*<tmx>"),
                ("po", b'msgid "a"\nmsgstr b\n', "line 2: .*PO"),
                ("srt", b"hello\n", "line 1: .*cue"),
                ("docx", b"hello", "DOCX"),
                ("text", b"a\nb\xff\n", "line 2: byte 3 .*utf-8")):
            with self.subTest(form=form, data=data[:20]):
                with self.assertRaisesRegex(DocumentError, what):
                    FORMATS[form](data, Options())
        with self.assertRaisesRegex(DocumentError, "'日'.*latin-1"):
            translate("text", b"a", lambda _: "日", encoding="latin-1")

    def test_a_zip_that_is_no_docx(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("a", "b")
        with self.assertRaisesRegex(DocumentError, "word/document.xml"):
            FORMATS["docx"](out.getvalue(), Options())


if __name__ == "__main__":
    unittest.main()
