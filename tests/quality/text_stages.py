"""text_stages.py PROGRAMS MODEL: what the text stages promise, by the embedded
model as served: numbers, capitals, titles, and sentences that are in the target
language already.

The texts have no word that the model cannot translate, so that only the stages
are tested.
"""

import re
import sys
import unittest

from served import Served

PROGRAMS, MODEL = sys.argv[1:3]
OFF = ["--no-text-stages"]


class TextStagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Served(PROGRAMS, MODEL))

    def translated(self, texts, target, source=None, flags=()):
        """(translation, text stages) of each text."""
        named = ["--source-language", source] if source else []
        results = [one["result"] for one in self.server.translate(
            texts, target, flags=[*named, *flags])]
        return [(one["hypotheses"][0].get("text", ""),
                 one.get("text_stages", [])) for one in results]

    def test_separators_are_those_of_the_target(self):
        made = self.translated(["It costs 1,234.50 dollars.",
                                "The house costs £5,294,349.36."], "de", "en")
        for (text, _), number in zip(made, ["1.234,50", "5.294.349,36"]):
            self.assertIn(number, text)
        [(text, _)] = self.translated(["Es kostet 1.234,50 Euro."], "en", "de")
        self.assertIn("1,234.50", text)

    def test_german_counts_hours_to_24(self):
        [(text, _)] = self.translated(["Call me at 3:30 pm."], "de", "en")
        self.assertEqual(re.findall(r"\d+", text), ["15", "30"])

    def test_capitals_are_translated_as_their_normal_case(self):
        texts = ["What else is happening?", "I love the old house.",
                 "Where is the next station?"]
        plain = self.translated(texts, "de", "en")
        loud = self.translated([text.upper() for text in texts], "de", "en")
        for (normal, _), (text, stages) in zip(plain, loud):
            self.assertEqual(text, normal.replace("ß", "SS").upper())
            self.assertEqual(stages, ["letter_case"])

    def test_titles_are_translated_as_their_normal_case(self):
        [(normal, _)] = self.translated(
            ["The president visits the new house"], "de", "en")
        [(text, stages)] = self.translated(
            ["The President Visits the New House"], "de", "en")
        self.assertEqual(text, normal)
        self.assertEqual(stages, ["letter_case"])
        [(text, _)] = self.translated(["Die Besten Tipps Für Den Sommer"],
                                      "en", "de")
        self.assertTrue(all(word[0].isupper() or word in ("for", "the", "of")
                            for word in text.split()), text)

    def test_the_target_language_stays(self):
        english = "The weather is nice."
        [(text, stages), (other, none), (both, some)] = self.translated(
            [english, "Das Wetter ist schön.",
             f"{english} Das Wetter ist schön."], "en")
        self.assertEqual((text, stages),
                         (english, ["target_language"]))
        self.assertEqual(none, [])
        self.assertEqual(both, f"{english} {other}")
        self.assertEqual(some, ["target_language"])

    def test_a_wrong_language_is_found_where_the_source_is_named(self):
        [one] = self.server.translate(
            ["The weather is nice today."], "en",
            flags=["--source-language", "de", "--check"])
        if one["result"]["hypotheses"][0]["text"].startswith("Das"):
            self.assertIn("wrong_language",
                          [found["check"] for found
                           in one["result"]["suspicions"]])

    def test_normal_texts_are_not_touched(self):
        texts = ["I saw 3 cats in 2012.", "The NATO is in Brussels.",
                 "Angela Merkel met Barack Obama.", "OK", "12"]
        on = self.translated(texts, "de", "en")
        off = self.translated(texts, "de", "en", OFF)
        self.assertEqual(on, off)
        self.assertTrue(all(not stages for _, stages in on), on)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
