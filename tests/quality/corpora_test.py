import collections
import lzma
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]
                       / "model/embedded/training"))
import corpora  # noqa: E402


class CorporaTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, lines):
        path = pathlib.Path(self.folder.name, name)
        opener = lzma.open if name.endswith(".xz") else open
        with opener(path, "wt", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        return path

    def pairs(self, lines, tests=()):
        held_out = corpora.HeldOut([self.write("test.tsv", tests)])
        counts = collections.Counter()
        path = self.write("corpus.tsv.xz", lines)
        return list(corpora.training_pairs(path, held_out, counts)), counts

    def test_drops_what_a_test_set_has_on_either_side_in_any_dress(self):
        kept, counts = self.pairs(
            ["HELLO, World\tHallo Erde", "Bye\t»Hallo Welt.«",
             "Good day\tGuten Tag"],
            tests=["Hello world!\tHallo Welt!"])
        self.assertEqual(kept, [("Good day", "Guten Tag")])
        self.assertEqual(counts["held out"], 2)

    def test_a_test_set_of_signs_holds_nothing(self):
        kept, _ = self.pairs(["A1\tB1"], tests=["...\t!!!"])
        self.assertEqual(kept, [("A1", "B1")])

    def test_drops_what_is_no_translation(self):
        unclean = ["\tleer", "12 %\t12 %", "short\t" + "lang " * 20,
                   "this was never translated\tthis was never translated",
                   "bad\x07bell\tGlocke", "no tab"]
        kept, counts = self.pairs(unclean + ["Taxi\tTaxi"])
        self.assertEqual(kept, [("Taxi", "Taxi")])
        self.assertEqual(counts["unclean"], 5)

    def test_keeps_a_repeated_pair_once_and_other_translations(self):
        kept, counts = self.pairs(
            ["Hi\tHallo", "Hi\tHallo", "Hi\tTag"])
        self.assertEqual(kept, [("Hi", "Hallo"), ("Hi", "Tag")])
        self.assertEqual(counts["repeated"], 1)


if __name__ == "__main__":
    unittest.main()
