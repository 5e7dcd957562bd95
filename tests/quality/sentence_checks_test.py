import unittest

import sentence_checks as checks


class SentenceChecksTest(unittest.TestCase):
    def test_numbers_may_be_written_as_the_language_does(self):
        kept = checks.kept("At 9:30 we had 1,250 of 7.", "Um 9.30 hatten wir "
                           "1.250 von 8.")
        self.assertEqual(kept["numbers"], (2, 3))

    def test_numbers_may_be_words(self):
        kept = checks.kept("I have 3 of 12, and 1, 25", "Ich habe Drei von "
                           "zwölf, und ein Fünfundzwanzig")
        self.assertEqual(kept["numbers"], (2, 4))

    def test_afternoons_may_have_24_hours(self):
        self.assertEqual(checks.kept("At 6 p.m., 3 of us", "Um 18 Uhr 3 von uns")
                         ["numbers"], (2, 2))
        self.assertEqual(checks.kept("At 6:30 p.m.", "Um 18.30")["numbers"], (1, 1))
        self.assertEqual(checks.kept("At 6 p.m.", "Um 6")["numbers"], (1, 1))
        self.assertEqual(checks.kept("At 6 a.m.", "Um 18")["numbers"], (0, 1))

    def test_a_number_twice_must_come_twice(self):
        self.assertEqual(checks.kept("3 and 3", "3")["numbers"], (1, 2))

    def test_what_belongs_to_others_is_no_number(self):
        self.assertEqual(
            checks.numbers("{0} %1$s https://a.com/2 b3@c.de 4"), ["4"])

    def test_placeholders_are_letter_for_letter(self):
        source = "{name} %s %1$s ${x} %(y)d <b> [link] {{a}}"
        self.assertEqual(checks.kept(source, source)["placeholders"], (8, 8))
        self.assertEqual(
            checks.kept(source, source.upper())["placeholders"], (0, 8))

    def test_addresses_end_before_the_full_stop(self):
        self.assertEqual(checks.addresses("See www.a.org."), ["www.a.org"])
        kept = checks.kept("Ask x@y.com!", "Frag x@y.com.")
        self.assertEqual(kept["addresses"], (1, 1))

    def test_emoji(self):
        self.assertEqual(checks.kept("ok 😂😂 ✅", "gut 😂 ✅")["emoji"], (2, 3))

    def test_a_loop_is_what_the_source_does_not_say(self):
        self.assertTrue(checks.loops("Go on!", "weiter weiter weiter weiter"))
        self.assertTrue(checks.loops("Hello", "Das ist " * 40))
        self.assertFalse(checks.loops("no no no no no", "nein " * 5))
        self.assertFalse(checks.loops("Go on!", "Weiter, weiter, weiter!"))
        self.assertTrue(checks.loops("a b", "x y z x y z x y z x y z"))


if __name__ == "__main__":
    unittest.main()
