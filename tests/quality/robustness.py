"""robustness.py PROGRAMS MODEL: 200 texts as people type them (sentences.tsv),
translated by the embedded model, beam 4, as served: in int8, and in bf16 where
the CPU has its instructions.

Prints what came through, and fails where the model does worse than it did.
The bounds are what it achieves, less one or two for other instruction sets'
rounding; a better model raises them.
"""

import collections
import pathlib
import sys
import unittest

import sentence_checks as checks
from served import Served

PROGRAMS, MODEL = sys.argv[1:3]
AT_LEAST = {"numbers": 45, "placeholders": 44, "addresses": 25, "emoji": 28}
AT_MOST_LOOPS = 1  # "ha ha ha ha" becomes six of them


class Int8Test(unittest.TestCase):
    PRECISION = "int8"

    @classmethod
    def setUpClass(cls):
        lines = pathlib.Path(__file__).with_name("sentences.tsv").read_text(
            encoding="utf-8").splitlines()
        cls.sentences = [line.split("\t") for line in lines]
        print(cls.PRECISION)
        with Served(PROGRAMS, MODEL, cls.PRECISION) as server:
            results = server.translate(
                [text for _, _, text in cls.sentences], "de")
        cls.best = [one["result"]["hypotheses"][0] for one in results]
        kept = collections.defaultdict(lambda: [0, 0])
        cls.looping = []
        for (number, _, text), made in zip(cls.sentences, cls.best):
            translation = made.get("text", "")
            lost = []
            for kind, (came, of) in checks.kept(text, translation).items():
                kept[kind][0] += came
                kept[kind][1] += of
                if came < of:
                    lost.append(kind)
            if checks.loops(text, translation):
                cls.looping.append(number)
                lost.append("loops")
            print(f"{number:>3} {text} -> {translation}"
                  + (f"   [{', '.join(lost)}]" if lost else ""))
        cls.kept = dict(kept)
        for kind, (came, of) in cls.kept.items():
            print(f"{kind}: {came} of {of} came through")
        print(f"loops: {len(cls.looping)} {' '.join(cls.looping)}", flush=True)

    def test_there_are_200(self):
        self.assertEqual([int(number) for number, _, _ in self.sentences],
                         list(range(1, 201)))

    def test_what_must_be_copied_is(self):
        for kind, bound in AT_LEAST.items():
            with self.subTest(kind):
                self.assertGreaterEqual(self.kept[kind][0], bound)

    def test_no_more_loops_than_known(self):
        self.assertLessEqual(len(self.looping), AT_MOST_LOOPS, self.looping)

    def test_everything_ends_by_itself_and_says_something(self):
        for (number, _, text), made in zip(self.sentences, self.best):
            with self.subTest(number=number, text=text):
                self.assertEqual(made["finish_reason"], "end")
                self.assertTrue(made.get("text"))


class Bf16Test(Int8Test):
    PRECISION = "bf16"

    @classmethod
    def setUpClass(cls):
        with Served(PROGRAMS, MODEL) as server:
            isa = server.isa
        if isa not in ("bf16", "amx"):
            print("skipped: quality in bf16, which needs AVX512_BF16 or AMX",
                  flush=True)
            raise unittest.SkipTest(isa)
        super().setUpClass()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
