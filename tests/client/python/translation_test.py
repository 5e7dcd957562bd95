"""Texts of documents through translators: markup, protected spans, journals, and
the command trivium-translate against a fake server."""

import contextlib
import io
import os
import pathlib
import random
import tempfile
import unittest
from unittest import mock

import fake_server
import grpc
from make_documents import WORDS
from trivium import InvalidArgumentError, journal, progress, translate_command
from trivium.documents import carry, protect, translation
from trivium.documents.carry import Alignment, Source
from trivium.documents.document import DocumentError, Segment, Slot
from trivium.documents.translation import Translated
from trivium.errors import make_error


def segment(*texts, spaces=True):
    slots = [Slot(text, text, str, spaces, spaces) for text in texts]
    return Segment("here", slots)


def diagonal(source, target):
    """The n-th word looks at the n-th."""
    size = len(source)
    rows = [[float(q == k) for k in range(size)] for q in range(len(target))]
    return Alignment(["▁" + word for word in source], ["▁" + word for word in target], rows)


class Memory(dict):
    def find(self, source):
        return self.get(source)

    def keep(self, source, parts):
        self[source] = parts


class Scripted:
    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def translate(self, texts, align):
        for index, text in enumerate(texts):
            self.asked.append(text)
            answer = self.answers(text)
            if isinstance(answer, str):
                words = answer.split()
                aligned = diagonal(text.split(), words) if align else None
                answer = Translated(answer, aligned)
            yield index, answer


def run(segments, answers, memory=None):
    translator = Scripted(answers)
    memory = Memory() if memory is None else memory
    done, failures = translation.translate(segments, translator, memory, lambda *_: None)
    return done, failures, translator.asked


class CarryTest(unittest.TestCase):
    def divide(self, parts, target, rows, spaces=True):
        source = carry.join(segment(*parts, spaces=spaces))
        pieces = ["▁" + word for word in source.text.split()]
        targets = ["▁" + word for word in target.split()]
        return carry.divide(source, target, Alignment(pieces, targets, rows))

    def test_words_go_where_they_looked(self):
        self.assertEqual(
            self.divide(["I ate a", "red", "apple"], "Ich aß einen roten Apfel",
                        [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, .9, .1, 0],
                         [0, 0, .2, .8, 0], [0, 0, 0, 0, 1]]),
            ["Ich aß einen", "roten", "Apfel"])

    def test_order_stays_where_words_cross(self):
        parts = self.divide(["have", "eaten", "it"], "habe es gegessen",
                            [[1, 0, 0], [0, 0, 1], [0, 1, 0]])
        self.assertEqual(" ".join(parts).split(), ["habe", "es", "gegessen"])
        self.assertEqual(len(parts), 3)

    def test_more_parts_than_words(self):
        parts = self.divide(["a", "b", "c"], "x", [[0, 1, 0]])
        self.assertEqual(parts, ["", "x", ""])

    def test_random_cuts_lose_nothing(self):
        rng = random.Random(1)
        for _ in range(500):
            parts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 3)))
                     for _ in range(rng.randint(2, 5))]
            words = rng.choices(WORDS, k=rng.randint(1, 9))
            count = len(" ".join(parts).split())
            rows = [[rng.random() for _ in range(count)] for _ in words]
            spaces = rng.random() < 0.5
            source = carry.join(segment(*parts, spaces=spaces))
            rows = [row[:len(source.text.split())] for row in rows]
            made = self.divide(parts, " ".join(words), rows, spaces)
            self.assertEqual(len(made), len(parts))
            # Where the document has white space between parts, it has it still.
            joined = (" " if spaces else "").join(one for one in made if one)
            self.assertEqual(joined.replace(" ", ""), "".join(words).replace(" ", ""))
            if not spaces:
                self.assertEqual(joined, " ".join(words))

    def test_scripts_without_spaces_are_cut_between_characters(self):
        source = carry.join(segment("I am", "Anna"))
        made = carry.divide(source, "私はアンナです", Alignment(
            ["▁I", "▁am", "▁Anna"], ["▁私", "は", "アンナ", "です"],
            [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, .2, .8]]))
        self.assertEqual("".join(made), "私はアンナです")
        self.assertTrue(made[1].startswith("アンナ"))

    def test_pieces_that_are_not_the_text_tell_nothing(self):
        source = carry.join(segment("a b", "c"))
        self.assertIsNone(carry.divide(source, "x y", Alignment(
            ["?", "?", "?"], ["x", "y"], [[1, 0, 0], [0, 1, 0]])))


class ProtectTest(unittest.TestCase):
    def test_what_is_protected(self):
        for text, spans in (
                ("You have %d of %(total)s, %1$s %-5.2f %%", ["%d", "%(total)s", "%1$s", "%-5.2f", "%%"]),
                ("Hi {name}, {{x}} ${y} %{z} {n, plural, one {# a} other {# b}}",
                 ["{name}", "{{x}}", "${y}", "%{z}", "{n, plural, one {# a} other {# b}}"]),
                ("see https://a.b/c?d=e. Or a.b@c.de!", ["https://a.b/c?d=e", "a.b@c.de"]),
                ("a&nbsp;b &#160;", ["&nbsp;", "&#160;"]),
                ("100% sicher, 50%ige Lösung, a & b", [])):
            self.assertEqual(protect.split(text)[1::2], spans)
            self.assertEqual("".join(protect.split(text)), text)

    def test_lost_spans_come_back_by_fragments(self):
        done, failures, asked = run(
            [segment("You have %d new messages, {name}.")],
            lambda text: text.upper().replace("%D", "D"))
        self.assertEqual(done, [["YOU HAVE %d NEW MESSAGES, {name}."]])
        self.assertEqual(asked[1:], ["You have", "new messages,"])
        self.assertFalse(failures)

    def test_kept_spans_need_no_fragments(self):
        done, _, asked = run([segment("Save %s")], lambda text: "%s sichern")
        self.assertEqual(done, [["%s sichern"]])
        self.assertEqual(len(asked), 1)

    def test_fragments_never_bring_spans_of_their_own(self):
        done, _, _ = run([segment("a %s b")], lambda text: "x %s %s")
        self.assertEqual(done[0][0].count("%s"), 1)


class TranslationTest(unittest.TestCase):
    def test_equal_texts_are_asked_once(self):
        done, _, asked = run([segment("a b"), segment("a b"), segment("12 – 5")], str.upper)
        self.assertEqual(asked, ["a b"])
        self.assertEqual(done, [["A B"], ["A B"], None])

    def test_markup_goes_as_one_text(self):
        done, _, asked = run([segment("a b", "c", "d e")], str.upper)
        self.assertEqual(asked, ["a b c d e"])
        self.assertEqual(done, [["A B", "C", "D E"]])

    def test_what_failed_is_told_by_place(self):
        error = make_error(grpc.StatusCode.INVALID_ARGUMENT, "too long")
        done, failures, _ = run([segment("a"), segment("b"), segment("a")],
                                lambda text: error if text == "a" else "B")
        self.assertEqual(done, [None, ["B"], None])
        self.assertEqual([(one.place, one.text) for one in failures], [("here", "a")] * 2)
        self.assertIsInstance(failures[0].error, InvalidArgumentError)

    def test_memory_is_asked_first(self):
        memory = Memory()
        run([segment("a"), segment("b", "c")], str.upper, memory)
        done, _, asked = run([segment("a"), segment("b", "c"), segment("d")], str.upper, memory)
        self.assertEqual((done, asked), ([["A"], ["B", "C"], ["D"]], ["d"]))


class JournalTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "j"

    def test_what_was_kept_is_found(self):
        first = journal.Journal(self.path, {"to": "de"})
        first.keep(Source("ä b", (1, 3)), ["Ä", "B"])
        first.close()
        with self.path.open("ab") as file:
            file.write('["cut", [3], ["Ç'.encode()[:-1])
        second = journal.Journal(self.path, {"to": "de"})
        self.assertEqual(second.found, 1)
        self.assertEqual(second.find(Source("ä b", (1, 3))), ["Ä", "B"])
        self.assertIsNone(second.find(Source("ä b", (3,))))
        second.keep(Source("c", (1,)), ["C"])
        second.close()
        third = journal.Journal(self.path, {"to": "de"})
        self.assertEqual(third.found, 2)
        third.remove()
        self.assertFalse(self.path.exists())

    def test_other_settings_and_other_files_are_refused(self):
        first = journal.Journal(self.path, {"to": "de"})
        first.keep(Source("a", (1,)), ["A"])
        first.close()
        for settings in ({"to": "fr"}, {}):
            with self.assertRaisesRegex(DocumentError, "other options"):
                journal.Journal(self.path, settings)
        self.path.write_text("something of somebody's\n")
        with self.assertRaisesRegex(DocumentError, "no journal"):
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
                          options.decoding.beam_size, options.tokens), ("en", "de", 2, True))
        code, err = self.run_command(page, "-o", str(self.folder / "b"))
        self.assertEqual(code, 0, err)
        self.assertTrue((self.folder / "b").exists())

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

        def stop(self, source, parts):
            if len(kept) == 25:
                raise KeyboardInterrupt
            kept.append(source.text)
            keep(self, source, parts)
        with mock.patch.object(journal.Journal, "keep", stop):
            code, err = self.run_command(page)
        self.assertEqual(code, 130)
        self.assertIn("goes on from here", err)
        with mock.patch.object(
                translate_command.ServerTranslator, "translate", autospec=True,
                side_effect=translate_command.ServerTranslator.translate) as spy:
            code, err = self.run_command(page)
            asked = [one for call in spy.call_args_list for one in call.args[1]]
        self.assertEqual(code, 0, err)
        self.assertIn("goes on after 25 texts", err)
        self.assertEqual(sorted(asked), sorted(set(texts) - set(kept)))
        self.assertEqual((self.folder / "a.translated.txt").read_text(),
                         "\n".join(texts).upper())
        self.assertEqual(self.files(), ["a.translated.txt", "a.txt"])

    def test_other_options_do_not_mix(self):
        page = self.write("a.txt", "one")
        other = journal.Journal(self.folder / "a.de.txt.trivium-journal", {})
        other.keep(Source("one", (3,)), ["UNO"])
        other.close()
        code, err = self.run_command(page, "--to", "de")
        self.assertEqual(code, 1)
        self.assertIn("a.de.txt.trivium-journal: it was begun with other options", err)

    def test_wrong_commands_are_told(self):
        page = self.write("a.txt", "one")
        for arguments, what in (
                ([str(self.folder / "none.txt")], "none.txt: No such file"),
                ([self.write("a.xyz", "")], "a.xyz: its name does not tell its format"),
                ([page, "--keys"], "--keys is for json, this is text"),
                ([page, "-o", page], "would overwrite it"),
                ([page, "--format", "docx"], "a.txt: no DOCX"),
                ([page, "-o", str(self.folder / "no" / "b")], "No such file")):
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
