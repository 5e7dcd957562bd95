"""Tests documents, journals, and the command trivium-translate with a fake
server."""

import contextlib
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import fake_server
import grpc
from trivium import Client, DocumentError, TriviumError, journal, progress, translate_command


class JournalTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "j"

    def test_what_was_kept_is_found(self):
        first = journal.Journal(self.path, {"to": "de"})
        first.keep("ä b", "Ä B")
        first.close()
        with self.path.open("ab") as file:
            file.write('["cut", "Ç'.encode()[:-1])
        second = journal.Journal(self.path, {"to": "de"})
        self.assertEqual((second.found, second.known), (1, {"ä b": "Ä B"}))
        second.keep("ä b", "Ä B")  # known: not written once more
        second.keep("c", "C")
        second.close()
        third = journal.Journal(self.path, {"to": "de"})
        self.assertEqual(third.found, 2)
        third.remove()
        self.assertFalse(self.path.exists())

    def test_other_settings_and_other_files_are_refused(self):
        first = journal.Journal(self.path, {"to": "de"})
        first.keep("a", "A")
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

    def test_documents_are_translated_and_told(self):
        told, texts = [], {}
        with Client(self.server.address) as client:
            done = client.translate_document(
                b"a\nb\na", file_name="x.txt", document={"encoding": "latin-1"},
                known={"b": "bee"}, on_progress=lambda *one: told.append(one),
                on_text=texts.__setitem__, target_language="de")
        self.assertEqual((done.data, done.result.text_count), (b"A\nbee\nA", 2))
        self.assertEqual((told, texts), ([(1, 2), (2, 2)], {"a": "A", "b": "bee"}))
        start = self.server.requests[-1]
        self.assertEqual((start.file_name, start.document.encoding, start.texts,
                          start.options.target_language), ("x.txt", "latin-1", True, "de"))
        self.server.break_after = [1]  # is tried once more
        with Client(self.server.address) as client:
            self.assertEqual(client.translate_document(b"a\nb").data, b"A\nB")
        with mock.patch.object(fake_server.inference_pb2, "DocumentResult"), \
                Client(self.server.address) as client, self.assertRaises(TriviumError):
            client.translate_document(b"a")

    def test_translates(self):
        page = self.write("a.txt", "I ate an apple.\n")
        code, err = self.run_command(page, "--from", "en", "--to", "de", "--beam-size", "2",
                                     "--check", "--protect-pattern", "x+")
        self.assertEqual(code, 0, err)
        self.assertEqual((self.folder / "a.de.txt").read_text(), "I ATE AN APPLE.\n")
        self.assertEqual(self.files(), ["a.de.txt", "a.txt"])
        start = self.server.requests[-1]
        options = start.options
        self.assertEqual((start.file_name, options.source_language, options.target_language,
                          options.decoding.beam_size, list(options.protect.patterns)),
                         ("a.txt", "en", "de", 2, ["x+"]))
        self.assertTrue(options.HasField("checks"))
        self.assertFalse(options.HasField("glossary"))
        code, err = self.run_command(page, "-o", str(self.folder / "b"))
        self.assertEqual(code, 0, err)
        self.assertTrue((self.folder / "b").exists())

    def test_flags_of_formats_are_told_to_the_server(self):
        page = self.write("a.json", "one")
        code, err = self.run_command(page, "--keys", "--only", "title", "--only", "x",
                                     "--encoding", "latin-1", "--retranslate",
                                     "--mark-fuzzy", "--format", "json", "--column", "2",
                                     "--column", "note", "--no-header")
        self.assertEqual(code, 0, err)
        start = self.server.requests[-1]
        self.assertEqual(start.format, "json")
        self.assertEqual(start.document, fake_server.inference_pb2.DocumentOptions(
            encoding="latin-1", retranslate=True, mark_fuzzy=True, keys=True,
            only_keys=["title", "x"], columns=["2", "note"], no_header=True))

    def test_standard_input_becomes_standard_output(self):
        for text in ("one\n", ""):
            source = io.TextIOWrapper(io.BytesIO(text.encode()))
            sink = io.TextIOWrapper(io.BytesIO())
            with mock.patch("sys.stdin", source), mock.patch("sys.stdout", sink):
                code, err = self.run_command("-", "--format", "text")
            self.assertEqual(code, 0, err)
            self.assertEqual(sink.buffer.getvalue(), text.upper().encode())
        self.assertEqual(self.files(), [])
        for wrong in (["-"], ["-", "-", "--format", "text"],
                      [self.write("a.txt", "one"), self.write("b.txt", "two"), "-o", "-"]):
            with self.assertRaises(SystemExit) as caught:
                self.run_command(*wrong)
            self.assertEqual(caught.exception.code, 2)

    def test_several_files_and_folders(self):
        one = self.write("a.txt", "one")
        (self.folder / "f" / "g").mkdir(parents=True)
        self.write("f/b.txt", "two")
        self.write("f/g/c.txt", "three")
        out = self.folder / "out"
        code, err = self.run_command(one, str(self.folder / "f"), "-o", str(out))
        self.assertEqual(code, 0, err)
        self.assertEqual((out / "a.txt").read_text(), "ONE")
        self.assertEqual((out / "f" / "g" / "c.txt").read_text(), "THREE")
        unknown = fake_server.status_of(grpc.StatusCode.INVALID_ARGUMENT, "no format",
                                        field="start.file_name")
        self.server.failures.append((grpc.StatusCode.INVALID_ARGUMENT, unknown))
        code, err = self.run_command(str(self.folder / "f"), "--to", "de")
        self.assertEqual(code, 0, err)
        self.assertIn("b.txt: left out", err)
        self.assertEqual((self.folder / "f.de" / "g" / "c.txt").read_text(), "THREE")

    def test_a_folder_may_be_this_one(self):
        (self.folder / "f").mkdir()
        self.write("f/a.txt", "one")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder / "f")
        code, err = self.run_command(".", "--to", "de")
        self.assertEqual(code, 0, err)
        self.assertEqual((self.folder / "f.de" / "a.txt").read_text(), "ONE")

    def test_an_output_may_be_a_folder(self):
        (self.folder / "out").mkdir()
        code, err = self.run_command(self.write("a.txt", "one"), "-o", str(self.folder / "out"))
        self.assertEqual(code, 0, err)
        self.assertEqual((self.folder / "out" / "a.txt").read_text(), "ONE")

    def test_outputs_that_cannot_be_are_told_first(self):
        for name in ("f", "g", "empty"):
            (self.folder / name).mkdir()
        same = [self.write("f/a.txt", "one"), self.write("g/a.txt", "two")]
        folder = str(self.folder / "f")
        for wrong, told in (
            ([*same, "-o", str(self.folder / "out")], "f/a.txt and "),
            ([folder, "-o", folder], "would overwrite it"),
            ([str(self.folder / "empty")], "has no files"),
            ([same[0], "-o", str(self.folder / "none" / "a.txt")], "its folder does not exist"),
        ):
            code, err = self.run_command(*wrong)
            self.assertEqual(code, 1)
            self.assertIn(told, err)
        self.assertEqual(self.server.requests, [])

    def test_errors_name_flags(self):
        wrong = fake_server.status_of(grpc.StatusCode.INVALID_ARGUMENT,
                                      "start.options.target_language: 'xx' is wrong",
                                      field="start.options.target_language")
        self.server.failures.append((grpc.StatusCode.INVALID_ARGUMENT, wrong))
        code, err = self.run_command(self.write("a.txt", "one"), "--to", "xx")
        self.assertEqual(code, 1)
        self.assertIn("--to: 'xx' is wrong", err)

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
            {"model": "", "options": {
                "glossary": {"terms": [{"source": "a", "target": "b"}], "inflections": False}}})
        other.keep("one", "UNO")
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

        def stop(self, text, translation):
            if len(kept) == 25:
                raise KeyboardInterrupt
            kept.append(text)
            keep(self, text, translation)
        with mock.patch.object(journal.Journal, "keep", stop):
            code, err = self.run_command(page)
        self.assertEqual(code, 130)
        self.assertIn("continues", err)
        code, err = self.run_command(page)
        self.assertEqual(code, 0, err)
        self.assertIn("25 texts", err)
        self.assertEqual(sorted(self.server.known), sorted(kept))
        self.assertEqual((self.folder / "a.translated.txt").read_text(),
                         "\n".join(texts).upper())
        self.assertEqual(self.files(), ["a.translated.txt", "a.txt"])

    def test_other_options_do_not_mix(self):
        page = self.write("a.txt", "one")
        other = journal.Journal(self.folder / "a.de.txt.trivium-journal", {})
        other.keep("one", "UNO")
        other.close()
        code, err = self.run_command(page, "--to", "de")
        self.assertEqual(code, 1)
        self.assertIn("a.de.txt.trivium-journal: ", err)

    def test_wrong_commands_are_told(self):
        page = self.write("a.txt", "one")
        for arguments, what in (
                ([str(self.folder / "none.txt")], "none.txt: "),
                ([page, "--inflections"], "--term"),
                ([page, "--glossary", self.write("none.tsv", "")], "--term"),
                ([page, "--glossary", self.write("bad.tsv", "a=b\n")], "'a=b'"),
                ([page, "-o", page], "-o"),
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
