#!/usr/bin/env python3
"""Tests check_names on made-up trees."""

import pathlib
import tempfile
import unittest

import check_names


class CheckNamesTest(unittest.TestCase):
    def problems(self, **files):
        """Of base/A.h and so on, by the text of each in the namespace."""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "base").mkdir()
            for name, text in files.items():
                (pathlib.Path(folder) / "base" / f"{name}.h").write_text(
                    f"namespace trivium {{\n{text}\n}}  // namespace trivium\n",
                    encoding="utf-8")
            return check_names.check(pathlib.Path(folder))[0]

    def test_two_types_of_one_name(self):
        for one in ("class Pair {", "struct Pair {", "struct Pair : public Base {",
                    "class Pair final : public Base {", "enum class Pair {",
                    "struct Pair {};"):
            problems = self.problems(a=one + "\n};", b="struct Pair {\n};")
            self.assertEqual(len(problems), 1, one)
            self.assertIn("base/a.h and in base/b.h", problems[0])

    def test_what_may_share_a_name(self):
        for other in ("class Pair;", "namespace {\nstruct Pair {\n};\n}  // namespace",
                      "class Outer {\n  struct Pair {\n  };\n};",
                      "}  // namespace trivium\nnamespace trivium::jinja {\n"
                      "struct Pair {\n};\n}  // namespace trivium::jinja\n"
                      "namespace trivium {"):
            self.assertEqual(self.problems(a="struct Pair {\n};", b=other), [], other)


if __name__ == "__main__":
    unittest.main()
