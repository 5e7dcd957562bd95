"""Documents: what is translated of each format, and that nothing else changes."""

import io
import json
import unittest
import zipfile
from html.parser import HTMLParser

import make_documents
from make_documents import Maker
from trivium.documents import FORMATS, DocumentError, Options, translation
from trivium.documents.translation import Translated

SEEDS = range(150)


class Nothing:
    """No memory of an earlier run."""

    def find(self, source):
        return None

    def keep(self, source, parts):
        pass


class Changer:
    """Translates by a function, and tells of no alignment: what is between
    inline markup is then translated by itself."""

    def __init__(self, change):
        self.change = change
        self.texts = []

    def translate(self, texts, align):
        self.texts += texts
        for index, text in enumerate(texts):
            yield index, Translated(self.change(text))


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
    return [segment.texts for segment in document.segments]


class PropertyTest(unittest.TestCase):
    """Random documents become what their makers say, byte for byte."""

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
        self.check("html", make_documents.html)

    def test_markdown(self):
        self.check("markdown", make_documents.markdown)

    def test_xliff(self):
        self.check("xliff", make_documents.xliff)

    def test_docx(self):
        def parts(data):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return [(one.filename, one.date_time, one.compress_type, archive.read(one))
                        for one in archive.infolist()]
        for seed in SEEDS:
            before = make_documents.docx(Maker(seed, None))
            with self.subTest(seed=seed):
                self.assertEqual(parts(translate("docx", before)),
                                 parts(make_documents.docx(Maker(seed, str.upper))))
                self.assertEqual(translate("docx", before, str), before)

    def test_tags_are_the_same_whatever_the_translation(self):
        """Also where texts come back with markup of their own."""
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
                         [["I ate an", "red", "apple", "."], ["It was"], ["good."],
                          ["A"], ["B"], ["C < D"]])

    def test_html_attributes_that_people_read(self):
        page = ('<meta name="description" content="About us"><meta name=viewport content="x">'
                '<img alt=\'It "is"\' src="a.png"><input type="submit" value="Send">'
                '<input value="mine" placeholder="Name">')
        self.assertEqual(texts_of("html", page),
                         [["About us"], ['It "is"'], ["Send"], ["Name"]])
        self.assertIn(b"alt='it&#39;s'", translate("html", page, lambda _: "it's"))

    def test_html_encodings(self):
        head = '<meta charset="iso-8859-1"><p>Ähre</p>'
        out = translate("html", head.encode("latin-1"), lambda _: "Łódź é")
        self.assertEqual(out, '<meta charset="iso-8859-1"><p>&#321;ód&#378; é</p>'
                         .encode("latin-1"))
        with self.assertRaisesRegex(DocumentError, "'klingon' is not known"):
            texts_of("html", '<meta charset="klingon">')

    def test_broken_html_is_carried(self):
        for page in ("<", "a < b", "<p", "</", "<p>a</b></i><", "<!-- open", "<a href='x>t",
                     "<script>never closed", "&notanentity; &amp", "<p translate=no>a<p>b"):
            with self.subTest(page):
                self.assertEqual(translate("html", page, str), page.encode())

    def test_markdown_text_is_escaped(self):
        document = FORMATS["markdown"](b"Text.\n", Options())
        out = document.render([["1. *a* [b] snake_case <c> _d_ # &lt;"]])
        self.assertEqual(out, b"1\\. \\*a\\* \\[b\\] snake_case \\<c> \\_d\\_ # &amp;lt;\n")
        self.assertEqual(texts_of("markdown", out),
                         [["1. *a* [b] snake_case <c> _d_ # &lt;"]])

    def test_markdown_lines_of_a_paragraph_are_one_text(self):
        page = "One\ntwo\n> three\n> four\n\n- five\n  six\n\n    code\n"
        self.assertEqual(texts_of("markdown", page)[:2], [["One two"], ["three four"]])

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
        self.assertEqual(texts_of("xliff", document), [["a."], ["b."]])

    def test_errors_say_what_and_where(self):
        for form, data, what in (
                ("json", b'{"a": \n x}', "line 2, column 2: no JSON"),
                ("json", b"[" * 100000, "nested too deeply|no JSON"),
                ("xliff", b"<xliff>\n<b></xliff>", "line 2, column 6: no XML"),
                ("xliff", b"<tmx/>", "line 1: no XLIFF: <tmx>"),
                ("po", b'msgid "a"\nmsgstr b\n', "line 2: this is no line of a PO file"),
                ("srt", b"hello\n", "line 1: no cue"),
                ("docx", b"hello", "no DOCX"),
                ("text", b"a\nb\xff\n", "line 2: byte 3 is not utf-8")):
            with self.subTest(form=form, data=data[:20]):
                with self.assertRaisesRegex(DocumentError, what):
                    FORMATS[form](data, Options())
        with self.assertRaisesRegex(DocumentError, "'日', which latin-1 lacks"):
            translate("text", b"a", lambda _: "日", encoding="latin-1")

    def test_a_zip_that_is_no_docx(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("a", "b")
        with self.assertRaisesRegex(DocumentError, "no word/document.xml"):
            FORMATS["docx"](out.getvalue(), Options())


if __name__ == "__main__":
    unittest.main()
