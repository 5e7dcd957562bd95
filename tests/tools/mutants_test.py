"""Tests of mutants.py."""

import unittest

import mutants


def others(code):
    """What each place of the code may become: {(kind, code): [texts]}."""
    return {(place.kind, code[place.begin:place.end].strip()):
            [other.strip() for _, other in place.others]
            for place in mutants.places(code)}


class MutantsTest(unittest.TestCase):
    def test_conditions(self):
        self.assertEqual(
            others("void F() {\n  if (a < b && c) return;\n}\n"),
            {("condition", "a < b && c"):
             ["a <= b && c", "a < b || c", "false"]})
        self.assertEqual(
            others("void F() {\n  for (int i = 0; i < n; ++i) G(i);\n}\n"),
            {("value", "0"): ["0 + 1"],
             ("condition", "i < n"): ["i <= n", "false"]})
        self.assertEqual(
            others("void F() {\n  if (auto x = G(); x) H();\n}\n"),
            {("condition", "x"): ["false", "!( x)"]})

    def test_declarations_in_conditions_stay(self):
        self.assertEqual(others("void F() {\n  if (T* t = G()) t->H();\n}\n"),
                         {})

    def test_values(self):
        self.assertEqual(others("int F() {\n  return std::min(a + 1, b);\n}\n"),
                         {("value", "std::min(a + 1, b)"):
                          ["std::min(a - 1, b)", "std::max(a + 1, b)"]})
        self.assertEqual(others("bool F() {\n  return true;\n}\n"),
                         {("value", "true"): ["false"]})

    def test_statements(self):
        self.assertEqual(
            others("void F() {\n  ++a_;\n  b->G(1);\n  int c;\n  c += 2;\n}\n"),
            {("statement", "++a_"): [""], ("statement", "b->G(1)"): [""],
             ("statement", "c += 2"): [""]})

    def test_comments_and_strings_stay(self):
        self.assertEqual(
            others('void F() {\n  // if (a < b) c();\n  const char* d = "; e();"'
                   ";\n}\n"), {})

    def test_one_number_selects_each_other_text(self):
        code = "void F() {\n  if (a < b) ++c;\n  d();\n}\n"
        found = mutants.places(code)
        drawn = [(found[0], 1, found[0].others[0][1]),
                 (found[0], 2, found[0].others[1][1]), (found[1], 3, "")]
        self.assertEqual(
            mutants.rewritten(code, drawn), mutants.DECLARATION +
            "void F() {\n  if (trivium::MutantRuns(1) ? static_cast<bool>(a <= "
            "b) : trivium::MutantRuns(2) ? static_cast<bool>(false) : "
            "static_cast<bool>(a < b)) ++c;\n"
            "  trivium::MutantRuns(3) ? (void)0 : (void)(d());\n}\n")

    def test_a_check_is_dropped(self):
        code = "S F() {\n  TRIVIUM_RETURN_IF_ERROR(G(a));\n}\n"
        place, = mutants.places(code)
        self.assertEqual(place.others,
                         [("the check is dropped", "absl::OkStatus()")])
        self.assertEqual(code[place.begin:place.end], "G(a)")

    def test_lines_keep_their_numbers(self):
        code = "int F() {\n  return a +  // one\n         b;\n}\n"
        place, = mutants.places(code)
        (_, other), = place.others
        self.assertEqual(
            mutants.rewritten(code, [(place, 1, other)]),
            mutants.DECLARATION +
            "int F() {\n  return trivium::MutantRuns(1) ? (a -            b) : "
            "(a +  // one\n         b);\n}\n")


if __name__ == "__main__":
    unittest.main()
