"""Tests the translation of documents' texts, journals, and the command
trivium-translate with a fake server."""

import contextlib
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import fake_server
import grpc
from trivium import InvalidArgumentError, journal, progress, translate_command
from trivium.documents import translation
from trivium.documents.document import Builder, DocumentError, Sent
from trivium.errors import make_error
from trivium.v1 import inference_pb2


def segment(*texts):
    """Makes a segment of texts. The second, fourth... are in an element."""
    builder = Builder()
    for index, text in enumerate(texts):
        if index % 2:
            builder.mark("open", ["<"], "x")
        builder.text(text, "here")
        if index % 2:
            builder.mark("close", [">"], "x")
    builder.close()
    return builder.segments[0]


class Memory(dict):
    def find(self, sent):
        return self.get(sent)

    def keep(self, sent, translation):
        self[sent] = translation


class Scripted:
    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def translate(self, texts):
        for index, sent in enumerate(texts):
            self.asked.append(sent.text)
            yield index, self.answers(sent.text)


def run(segments, answers, memory=None):
    translator = Scripted(answers)
    memory = Memory() if memory is None else memory
    done, failures = translation.translate(segments, translator, memory, lambda *_: None)
    return done, failures, translator.asked


class TranslationTest(unittest.TestCase):
    def test_equal_texts_are_asked_once(self):
        done, _, asked = run([segment("a b"), segment("c"), segment("a b"), segment("12 – 5")],
                             str.upper)
        self.assertEqual(asked, ["a b", "c"])
        self.assertEqual(done, ["A B", "C", "A B", None])

    def test_markup_goes_as_one_text(self):
        swapped = '<span id="0">C</span> D A &lt; B'
        done, _, asked = run([segment("a < b ", "c", " d")], lambda _: swapped)
        self.assertEqual(asked, ['a &lt; b <span id="0">c</span> d'])
        self.assertEqual(done, [swapped])

    def test_markup_that_is_lost_is_told(self):
        memory = Memory()
        done, failures, _ = run([segment("a ", "b")], lambda _: "A B", memory)
        self.assertEqual((done, memory), ([None], {}))
        self.assertRegex(str(failures[0].error), "markup did not come back")

    def test_what_failed_is_told_by_place(self):
        error = make_error(grpc.StatusCode.INVALID_ARGUMENT, "too long")
        done, failures, _ = run([segment("a"), segment("b"), segment("a")],
                                lambda text: error if text == "a" else "B")
        self.assertEqual(done, [None, "B", None])
        self.assertEqual([(one.place, one.text) for one in failures], [("here", "a")] * 2)
        self.assertIsInstance(failures[0].error, InvalidArgumentError)

    def test_memory_is_asked_first(self):
        memory = Memory()
        run([segment("a"), segment("b")], str.upper, memory)
        done, _, asked = run([segment("a"), segment("b"), segment("d")], str.upper, memory)
        self.assertEqual((done, asked), (["A", "B", "D"], ["d"]))


class JournalTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "j"

    def test_what_was_kept_is_found(self):
        first = journal.Journal(self.path, {"to": "de"})
        first.keep(Sent("ä b"), "Ä B")
        first.close()
        with self.path.open("ab") as file:
            file.write('["cut", "PLAIN", "Ç'.encode()[:-1])
        second = journal.Journal(self.path, {"to": "de"})
        self.assertEqual(second.found, 1)
        self.assertEqual(second.find(Sent("ä b")), "Ä B")
        self.assertIsNone(second.find(Sent("ä b", "HTML")))
        second.keep(Sent("c"), "C")
        second.close()
        third = journal.Journal(self.path, {"to": "de"})
        self.assertEqual(third.found, 2)
        third.remove()
        self.assertFalse(self.path.exists())

    def test_other_settings_and_other_files_are_refused(self):
        first = journal.Journal(self.path, {"to": "de"})
        first.keep(Sent("a"), "A")
        first.close()
        for settings in ({"to": "fr"}, {}):
            with self.assertRaisesRegex(DocumentError, "options"):
                journal.Journal(self.path, settings)
        self.path.write_text("something of somebody's\n")
        with self.assertRaisesRegex(DocumentError, "journal"):
            journal.Journal(self.path, {"to": "de"})


class ProgressTest(unittest.TestCase):
    def shown(self, is_terminal):
        times = iter(range(0, 1000))
        out = io.StringIO()
        out.isatty = lambda: is_terminal
        bar = progress.Progress(out, "a.txt", lambda: float(next(times)))
        for done in range(13):
            bar(done, 12)
        bar.end()
        return out.getvalue()

    def test_a_bar_on_a_terminal(self):
        shown = self.shown(True)
        self.assertEqual(shown.count("\r"), 13)
        self.assertTrue(shown.endswith("\n"))
        self.assertIn("a.txt [###############---------------] 6/12 texts", shown)

    def test_lines_in_a_pipe(self):
        shown = self.shown(False)
        self.assertNotIn("\r", shown)
        self.assertEqual([line.split(" texts")[0] for line in shown.splitlines()],
                         ["a.txt: 0/12", "a.txt: 5/12", "a.txt: 10/12", "a.txt: 12/12"])


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.server = fake_server.FakeServer()
        self.addCleanup(self.server.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_command(self, *arguments):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            code = translate_command.main(["--address", self.server.address, *arguments])
        return code, err.getvalue()

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_translates(self):
        page = self.write("a.html", "<p>I ate a <b>red</b> apple.</p><!-- x -->\n")
        code, err = self.run_command(page, "--from", "en", "--to", "de", "--beam-size", "2")
        self.assertEqual(code, 0, err)
        self.assertEqual((self.folder / "a.de.html").read_text(),
                         "<p>I ATE A <b>RED</b> APPLE.</p><!-- x -->\n")
        self.assertEqual(self.files(), ["a.de.html", "a.html"])
        options = self.server.requests[-1].options
        self.assertEqual((options.source_language, options.target_language,
                          options.decoding.beam_size, options.format),
                         ("en", "de", 2, inference_pb2.TEXT_FORMAT_HTML))
        self.assertFalse(options.HasField("glossary"))
        code, err = self.run_command(page, "-o", str(self.folder / "b"))
        self.assertEqual(code, 0, err)
        self.assertTrue((self.folder / "b").exists())

    def test_what_programs_read_is_protected(self):
        page = self.write("a.txt", "Go\nSave %s\nto ${x}\n&foo; a\nwww.a.b c\nA@b.c d\n")
        self.server.unkept["to ${x}"] = [("${x}", 2)]
        code, err = self.run_command(page)
        self.assertEqual(code, 1)
        self.assertIn("a.txt: line 3: 'to ${x}': ", err)
        self.assertEqual(len(self.server.requests[0].options.protect.kinds), 5)

    def test_terms_come_from_flags_and_a_file(self):
        page = self.write("a.txt", "one")
        terms = self.write("terms.tsv", "hard disk\tFestplatte\n\n1=1\tdie = 1\n")
        code, err = self.run_command(page, "--glossary", terms, "--term", "cat=Katze",
                                     "--inflections", "--keep-going")
        self.assertEqual(code, 0, err)
        glossary = self.server.requests[-1].options.glossary
        self.assertTrue(glossary.inflections)
        self.assertEqual([(one.source, one.target) for one in glossary.terms],
                         [("cat", "Katze"), ("hard disk", "Festplatte"), ("1=1", "die = 1")])

    def test_a_stopped_run_has_its_terms(self):
        page = self.write("a.txt", "one")
        other = journal.Journal(
            self.folder / "a.translated.txt.trivium-journal",
            {"source_language": "", "target_language": "", "model": "", "beam_size": None,
             "glossary": {"terms": [{"source": "a", "target": "b"}], "inflections": False}})
        other.keep(Sent("one"), "UNO")
        other.close()
        code, err = self.run_command(page)
        self.assertEqual(code, 1)
        self.assertIn("options", err)
        code, err = self.run_command(page, "--term", "a=b")
        self.assertEqual(code, 0, err)
        self.assertEqual((self.folder / "a.translated.txt").read_text(), "UNO")

    def test_failures_name_file_and_place(self):
        bad = fake_server.status_of(grpc.StatusCode.INVALID_ARGUMENT, "too long")
        self.server.item_errors["two"] = [bad, bad]
        page = self.write("a.txt", "one\ntwo\n")
        code, err = self.run_command(page)
        self.assertEqual(code, 1)
        self.assertIn("a.txt: line 2: 'two': too long", err)
        self.assertEqual(self.files(), ["a.translated.txt.trivium-journal", "a.txt"])
        code, err = self.run_command(page, "--keep-going")
        self.assertEqual(code, 0, err)
        self.assertEqual((self.folder / "a.translated.txt").read_text(), "ONE\ntwo\n")

    def test_a_stopped_run_goes_on(self):
        texts = [f"text {index}" for index in range(40)]
        page = self.write("a.txt", "\n".join(texts))
        keep = journal.Journal.keep
        kept = []

        def stop(self, sent, translation):
            if len(kept) == 25:
                raise KeyboardInterrupt
            kept.append(sent.text)
            keep(self, sent, translation)
        with mock.patch.object(journal.Journal, "keep", stop):
            code, err = self.run_command(page)
        self.assertEqual(code, 130)
        self.assertIn("continues", err)
        with mock.patch.object(
                translate_command.ServerTranslator, "translate", autospec=True,
                side_effect=translate_command.ServerTranslator.translate) as spy:
            code, err = self.run_command(page)
            asked = [one.text for call in spy.call_args_list for one in call.args[1]]
        self.assertEqual(code, 0, err)
        self.assertIn("25 texts", err)
        self.assertEqual(sorted(asked), sorted(set(texts) - set(kept)))
        self.assertEqual((self.folder / "a.translated.txt").read_text(),
                         "\n".join(texts).upper())
        self.assertEqual(self.files(), ["a.translated.txt", "a.txt"])

    def test_other_options_do_not_mix(self):
        page = self.write("a.txt", "one")
        other = journal.Journal(self.folder / "a.de.txt.trivium-journal", {})
        other.keep(Sent("one"), "UNO")
        other.close()
        code, err = self.run_command(page, "--to", "de")
        self.assertEqual(code, 1)
        self.assertIn("a.de.txt.trivium-journal: ", err)

    def test_wrong_commands_are_told(self):
        page = self.write("a.txt", "one")
        for arguments, what in (
                ([str(self.folder / "none.txt")], "none.txt: "),
                ([self.write("a.xyz", "")], "a.xyz: "),
                ([page, "--keys"], "--keys"),
                ([page, "--inflections"], "--term"),
                ([page, "--glossary", self.write("none.tsv", "")], "--term"),
                ([page, "--glossary", self.write("bad.tsv", "a=b\n")], "'a=b'"),
                ([page, "-o", page], "-o"),
                ([page, "--format", "docx"], "DOCX"),
                ([page, "-o", str(self.folder / "no" / "b")], "no/b")):
            code, err = self.run_command(*arguments)
            self.assertEqual(code, 1)
            self.assertIn(what, err)
        self.server.failures.append((grpc.StatusCode.NOT_FOUND, None))
        code, err = self.run_command(page)
        self.assertEqual(code, 1)
        self.assertIn("a.txt: as told", err)

    def test_the_output_keeps_the_umask(self):
        page = self.write("a.txt", "one")
        self.run_command(page)
        umask = os.umask(0)
        os.umask(umask)
        mode = (self.folder / "a.translated.txt").stat().st_mode & 0o777
        self.assertEqual(mode, 0o666 & ~umask)


if __name__ == "__main__":
    unittest.main()
