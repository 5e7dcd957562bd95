"""Tests the Python client and trivium-translate with a real server, whose embedded
model translates between English and German."""

import asyncio
import contextlib
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

import trivium
from make_documents import (
    Maker,
    android,
    escape_html,
    html,
    json_document,
    markdown,
    odt,
    properties,
    srt,
    table,
    text,
    xliff,
)
from started_server import ports_of
from trivium import translate_command


# What TranslateDocument protects.
PROTECT = {
    "kinds": [
        f"PROTECTED_KIND_{one}" for one in "PRINTF ICU_MESSAGE MUSTACHE URL EMAIL".split()],
    "patterns": [r"[$%#]\{[^{}]*\}|&#?\w+;"],
}


def parts(data):
    """The parts of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


class Server:
    """A trivium-server on a free port."""

    def __init__(self, program, model):
        self._folder = tempfile.TemporaryDirectory()
        ports = pathlib.Path(self._folder.name) / "ports"
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--http-listen", "off",
             "--metrics-listen", "off",
             "--port-file", ports, "--log-level", "warn",
             "--model-root", pathlib.Path(model).parent, "en-de=" + model])
        self.address = "127.0.0.1:" + ports_of(self.process, ports)["grpc"]

    def stop(self):
        self.process.terminate()
        self._folder.cleanup()
        return self.process.wait(60)


class ServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program, model = sys.argv[1:3]  # from run_tests.py
        cls.server = Server(program, model)
        cls.client = trivium.Client(cls.server.address)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        code = cls.server.stop()
        assert code == 0, f"the server ended with {code}"

    def test_translate(self):
        response = self.client.translate(["I ate an apple."], decoding={"beam_size": 2})
        self.assertIn("Apfel", response.results[0].hypotheses[0].text)
        self.assertEqual(response.model.name, "en-de")
        back = self.client.translate(["Guten Morgen!"], target_language="en")
        self.assertIn("morning", back.results[0].hypotheses[0].text)

    def test_streams(self):
        texts = [f"Number {i}." for i in range(100)]
        lone = self.client.translate(texts[:1]).results[0].hypotheses[0].text
        outcomes = list(self.client.translate_stream(texts, window=16))
        self.assertEqual([one.index for one in outcomes], list(range(100)))
        self.assertEqual(outcomes[0].get().hypotheses[0].text, lone)
        vectors = list(self.client.encode_stream(texts[:3]))
        self.assertEqual(len(vectors[2].get().embedding), 256)

        async def run():
            async with trivium.AsyncClient(self.server.address) as client:
                return [one.get().hypotheses[0].text
                        async for one in client.translate_stream(texts)]
        self.assertEqual(asyncio.run(run()),
                         [one.get().hypotheses[0].text for one in outcomes])

    def test_generate_score_and_tokens(self):
        text = self.client.generate("I ate an apple.").text()
        self.assertIn("Apfel", text)
        scores = self.client.score([("The house is big.", "Das Haus ist gross."),
                                    ("The house is big.", "Die Katze ist rot.")]).results
        self.assertGreater(scores[0].total_logprob, scores[1].total_logprob)
        tokens = self.client.tokenize([text], target=True, add_special_tokens=False)
        ids = [token.id for token in tokens.results[0].tokens]
        self.assertEqual(self.client.detokenize([ids]), [text])

        async def run():
            async with trivium.AsyncClient(self.server.address) as client:
                return await client.generate("I ate an apple.").text()
        self.assertEqual(asyncio.run(run()), text)

    def test_models(self):
        self.assertEqual([one.name for one in self.client.models()], ["en-de"])
        self.assertEqual(self.client.model().name, "en-de")

    def test_models_come_and_go(self):
        loaded = self.client.load_model("embedded", name="other",
                                        precision="PRECISION_F32")
        self.assertEqual((loaded.name, loaded.precision), ("other", 1))
        answer = self.client.translate(["I ate an apple."], model="other")
        self.assertEqual(answer.model.name, "other")
        with self.assertRaises(trivium.AlreadyExistsError):
            self.client.load_model("embedded", name="other")
        with self.assertRaises(trivium.InvalidArgumentError):
            self.client.load_model("../outside")

        async def run():
            async with trivium.AsyncClient(self.server.address) as client:
                again = await client.reload_model("other")
                await client.unload_model("other")
                return again
        self.assertEqual(asyncio.run(run()).name, "other")
        with self.assertRaises(trivium.NotFoundError):
            self.client.unload_model("other")

    def test_errors(self):
        with self.assertRaises(trivium.InvalidArgumentError) as caught:
            self.client.translate(["a"], decoding={"beam_size": 0})
        self.assertEqual(caught.exception.violations[0].field, "options.decoding.beam_size")
        self.assertTrue(caught.exception.request_id)
        with self.assertRaises(trivium.NotFoundError):
            self.client.encode(["a"], model="none")
        with self.assertRaises(trivium.FailedPreconditionError):
            self.client.classify(["a"])
        with self.assertRaises(trivium.FailedPreconditionError):
            self.client.chat([{"role": "user", "content": "Hi"}]).text()

    def translate(self, name, text, **options):
        options = {"source_language": "en", "target_language": "de", **options}
        data = text if isinstance(text, bytes) else text.encode()
        done = self.client.translate_document(data, file_name=name, **options)
        self.assertFalse(done.result.untranslated_count, done.result.notes)
        return done.data.decode(errors="replace")

    def test_documents(self):
        page = self.translate("a.html", "<p>I ate a <b>red apple</b>.</p>\r\n<pre>x y</pre>")
        self.assertRegex(page, r"^<p>[^<]*<b>[^<]*Apfel[^<]*</b>[^<]*</p>\r\n<pre>x y</pre>$")
        page = self.translate("a.html", "<p>I have <i>eaten</i> the <b>apple</b>.</p>")
        self.assertEqual(page, "<p>Ich habe den <b>Apfel</b> <i>gegessen</i>.</p>")
        page = self.translate("a.html", '<p>Hello!</p><img title="A cat.">')
        self.assertRegex(page, r'<img title="[^"]*Katze[^"]*">$')
        catalogue = self.translate("a.po", 'msgid "Good morning!"\nmsgstr ""\n')
        self.assertEqual(catalogue, 'msgid "Good morning!"\nmsgstr "Guten Morgen!"\n')
        strings = self.translate("a.json", '{"a": "You have %d new messages, {name}."}')
        self.assertRegex(strings, r'^\{"a": "[^"]*%d[^"]*\{name\}[^"]*"\}$')

    def test_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.txt"
            path.write_text("Guten Morgen!\r\n\n12\n", newline="")
            err = io.StringIO()
            with contextlib.redirect_stderr(err):
                code = translate_command.main(
                    ["--address", self.server.address, "--from", "auto", "--to", "en",
                     str(path)])
            self.assertEqual(code, 0, err.getvalue())
            out = path.with_name("a.en.txt").read_bytes()
            self.assertRegex(out, rb"^Good morning[!.]\r\n\n12\n$")
            with contextlib.redirect_stderr(err):
                code = translate_command.main(
                    ["--address", self.server.address, str(path), "--keys"])
            self.assertEqual(code, 1)
            self.assertIn("--keys: text has no such option", err.getvalue())

    def test_known_texts_and_progress(self):
        told, texts = [], {}
        options = {"source_language": "en", "target_language": "de"}
        data = "".join(f"Number {i}.\n" for i in range(300)).encode()
        first = self.client.translate_document(
            data, document_format="text", on_progress=lambda *one: told.append(one),
            on_text=texts.__setitem__, **options)
        self.assertEqual(len(texts), 300)
        self.assertEqual((told[-1], first.result.text_count), ((300, 300), 300))
        texts["Number 7."] = "<sieben>"
        again = self.client.translate_document(data, document_format="text", known=texts, **options)
        self.assertIn(b"\n<sieben>\n", again.data)
        self.assertEqual(again.result.timings.inference.nanos, 0)

    def test_one_language_is_detected_for_a_document(self):
        # By itself, the second line could be English.
        done = self.client.translate_document(
            "Gestern war ich in der Stadt und habe eingekauft.\nHallo\n".encode(),
            document_format="text", source_language="auto", target_language="en")
        self.assertEqual(done.result.detected_languages[0].language, "de")
        self.assertRegex(done.data, rb"town.*\n(Hello|Hi)\n$")

    def test_cues_in_the_target_language_stay(self):
        english = "She told me that she would come back tomorrow morning."
        lines = ("Gestern war ich in der Stadt und habe eingekauft.",
                 "Der Hund schläft im Garten unter dem alten Baum.", english,
                 "Wir haben das Haus im Sommer verkauft.")
        cues = "".join(f"{i}\n00:00:0{i},000 --> 00:00:0{i},900\n{text}\n\n"
                       for i, text in enumerate(lines, 1))
        done = self.client.translate_document(
            cues.encode(), document_format="srt", source_language="auto",
            target_language="en")
        self.assertIn("de", [one.language for one in done.result.detected_languages])
        texts = done.data.decode().split("\n")[2::4]
        self.assertEqual(texts[2], english)
        for text, word in zip(texts, ("town|city", "dog", "tomorrow", "house")):
            self.assertRegex(text, word)

    def test_documents_that_cannot_be_translated(self):
        for what, field in (({"document_format": "tmx"}, "start.format"),
                            ({"file_name": "a.exe"}, "start.file_name"),
                            ({"document_format": "docx"}, "data"),
                            ({"document_format": "text", "words": True}, "start.options.words"),
                            ({"document_format": "text", "target_language": "xx"},
                             "start.options.target_language"),
                            ({"document_format": "xml"}, None)):
            with self.subTest(**what):
                if field is None:
                    done = self.client.translate_document(b"<a>Hello", **what)
                    self.assertEqual(done.data, b"<a>Hello")
                    self.assertEqual(done.result.untranslated_count, 1)
                    self.assertTrue(done.result.notes[0].error.message)
                    continue
                with self.assertRaises(trivium.InvalidArgumentError) as caught:
                    self.client.translate_document(b"x", **what)
                self.assertEqual(caught.exception.violations[0].field, field)

        async def run():
            async with trivium.AsyncClient(self.server.address) as client:
                return await client.translate_document(b"", file_name="a.md")
        self.assertEqual(asyncio.run(run()).data, b"")

    def test_markup_is_as_one_text(self):
        """The result is the same whether the text is cut into blocks or not."""
        for seed in range(12):
            for name, make in (("a.md", markdown), ("a.html", html)):
                page = make(Maker(seed, None))
                if name == "a.html":  # attributes are translated in documents only
                    page = re.sub(r'\b(alt|title)="[^"]*"', "", page)
                form = "MARKDOWN" if name == "a.md" else "HTML"
                whole = self.client.translate(
                    [page], source_language="en", target_language="de",
                    format=f"TEXT_FORMAT_{form}", protect=PROTECT)
                with self.subTest(seed=seed, name=name):
                    self.assertEqual(self.translate(name, page),
                                     whole.results[0].hypotheses[0].text)

    def test_documents_stay_byte_for_byte_where_nothing_is_translated(self):
        """English to English comes back as it is."""
        for seed in range(30):
            for form, make in (("html", html), ("markdown", markdown), ("json", json_document),
                               ("srt", srt), ("text", text), ("csv", table),
                               ("properties", properties), ("android", android)):
                page = make(Maker(seed, None))
                with self.subTest(seed=seed, form=form):
                    same = self.translate("", page, document_format=form, target_language="en")
                    self.assertEqual(same, page)

    def test_known_translations_go_to_their_places(self):
        """The makers of the documents say what these become."""
        for seed in range(30):
            for form, make in (("csv", table), ("properties", properties),
                               ("android", android), ("odt", odt)):
                texts = set()

                def record(one, texts=texts):
                    texts.add(one)
                    return one
                source = make(Maker(seed, record))
                expected = make(Maker(seed, str.upper))
                packed = isinstance(source, bytes)
                with self.subTest(seed=seed, form=form):
                    done = self.client.translate_document(
                        source if packed else source.encode(), document_format=form,
                        document={"columns": ["text"]} if form == "csv" else {},
                        known={escape_html(one): escape_html(one.upper()) for one in texts},
                        source_language="en", target_language="de")
                    if packed:
                        self.assertEqual(parts(done.data), parts(expected))
                    else:
                        self.assertEqual(done.data.decode(), expected)

    def test_books(self):
        """An EPUB's page is translated, and its first entry stays as it must be."""
        page = "<html><body><p>I ate a <b>red apple</b>.</p></body></html>"
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("mimetype", "application/epub+zip")
            for name, content in (
                    ("META-INF/container.xml", '<c><rootfile full-path="a.opf"/></c>'),
                    ("a.opf", '<p><item href="a.xhtml" media-type="application/xhtml+xml"/></p>'),
                    ("a.xhtml", page)):
                archive.writestr(name, content, zipfile.ZIP_DEFLATED)
        done = self.client.translate_document(
            out.getvalue(), file_name="a.epub", source_language="en", target_language="de")
        self.assertRegex(parts(done.data)["a.xhtml"].decode(), "<b>[^<]*Apfel[^<]*</b>")
        with zipfile.ZipFile(io.BytesIO(done.data)) as archive:
            first = archive.infolist()[0]
        self.assertEqual((first.filename, first.compress_type, first.header_offset),
                         ("mimetype", zipfile.ZIP_STORED, 0))

    def test_tags_of_random_documents_stay(self):
        for seed in range(8):
            for name, make in (("a.html", html), ("a.xlf", xliff)):
                before = make(Maker(seed, None))
                after = self.translate(name, before)
                tags = [re.findall(r"<(?!target|/target)[^>]*>", re.sub(
                    r'\b(alt|title)="[^"]*"', "", one)) for one in (before, after)]
                # The page says its new language.
                tags[0] = [tag.replace('lang="en"', 'lang="de"') for tag in tags[0]]
                if name == "a.html":  # each is there, with its words
                    self.assertEqual(*map(sorted, tags))
                else:  # targets have the inline tags of their sources again
                    self.assertGreaterEqual(len(tags[1]), len(tags[0]))
