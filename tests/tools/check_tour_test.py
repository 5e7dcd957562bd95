#!/usr/bin/env python3
"""Tests of check_tour.py."""

import pathlib
import tempfile
import unittest

import check_tour

SOURCE = """
class Decoder {
  void Run();
};
TEST_P(ShapeTest,
       EqualsTheReference) {}
"""


ATTACK = """
class TextsAttack(attack.Attack):
    def test_masks(self):
        pass


class OtherAttack(attack.Attack):
    def test_others(self):
        pass
"""


class CheckTourTest(unittest.TestCase):
    def check(self, line):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "a_test.cc").write_text(SOURCE)
            (folder / "other.cc").write_text("TEST(OtherTest, Works) {}")
            (folder / "texts.py").write_text(ATTACK)
            (folder / "page.md").write_text("# Title\n" + line + "\n")
            return [
                problem.split(": ", 1)[1]
                for problem in check_tour.check(folder / "page.md")
            ]

    def test_what_is_there(self):
        self.assertEqual(self.check("[a](a_test.cc) `ShapeTest.EqualsTheReference`"), [])
        self.assertEqual(self.check("[a](a_test.cc) `Decoder::Run`"), [])
        self.assertEqual(self.check("[b](a_test.cc#L3) ![x](other.cc)"), [])
        self.assertEqual(self.check("[web](https://example.org/none.cc)"), [])

    def test_what_is_not(self):
        self.assertEqual(self.check("[a](none.cc)"), ["there is no none.cc"])
        self.assertEqual(
            self.check("[a](a_test.cc) `ShapeTest.Gone`"),
            ["no linked file has a test ShapeTest.Gone"],
        )
        self.assertEqual(
            self.check("[a](a_test.cc) `Decoder::Walk`"),
            ["no linked file has Decoder::Walk"],
        )

    def test_of_another_file(self):
        self.assertEqual(
            self.check("[a](a_test.cc) `OtherTest.Works`"),
            ["no linked file has a test OtherTest.Works"],
        )

    def test_of_python(self):
        self.assertEqual(self.check("[a](texts.py) `TextsAttack.test_masks`"), [])
        self.assertEqual(
            self.check("[a](texts.py) `TextsAttack.test_others`"),
            ["no linked file has a test TextsAttack.test_others"],
        )

    def test_rows_name_tests(self):
        head = "| threat | test |\n|---|---|\n"
        named = "| a | [a](texts.py) `TextsAttack.test_masks` |\n"
        self.assertEqual(self.check(head + named + "| b | the same |"), [])
        self.assertEqual(
            self.check(head + named + "| b | [a](texts.py) |"),
            ["the row names no test"],
        )
        self.assertEqual(self.check(head + named + "\n| b | c |"), [])


if __name__ == "__main__":
    unittest.main()
