import pathlib
import random
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]
                       / "model/embedded/training"))
import augment  # noqa: E402
import copied  # noqa: E402

PAIR = ("Tom paid 30 dollars.", "Tom zahlte 30 Dollar.")


def draws(function, pair, count=200):
    generator = random.Random(1)
    return [function(pair, generator) for _ in range(count)]


class AugmentTest(unittest.TestCase):
    def test_capitals_are_for_both_sides(self):
        self.assertEqual(augment.upper(("Is", "Straße"), None),
                         ("IS", "STRASSE"))

    def test_lower_case_is_never_a_target(self):
        for english, german, to_german, to_english in draws(
                augment.lower, PAIR):
            self.assertEqual(english, english.lower())
            self.assertEqual(german, german.lower())
            self.assertIn(to_german, (PAIR[1], PAIR[1][:-1]))
            self.assertIn(to_english, (PAIR[0], PAIR[0][:-1]))

    def test_titles_are_never_a_target(self):
        for english, german, to_german, to_english in draws(
                augment.title, ("The house of Tom.", "Das Haus von Tom.")):
            self.assertRegex(english, r"^The House ([Oo])f Tom\.?$")
            self.assertRegex(german, r"^Das Haus Von Tom\.?$")
            self.assertEqual(to_german.rstrip("."), "Das Haus von Tom")
            self.assertEqual(to_english.rstrip("."), "The house of Tom")

    def test_amounts_and_dates_are_as_each_language_writes_them(self):
        generator = random.Random(1)
        for _ in range(500):
            english, german = augment.amount(generator)
            self.assertEqual(re.sub(r"\D", "", english),
                             re.sub(r"\D", "", german))
            number = r"\d{1,3}(?:%s\d{3})*(?:%s\d+)?"
            self.assertRegex(english, number % (",", r"\."))
            self.assertRegex(german, "^" + number % (r"\.", ",") + "( |$)")
            english, german = augment.date(generator)
            if english != german:
                months = [pair for pair in augment.MONTHS
                          if pair[0] in english and pair[1] in german]
                self.assertTrue(months, (english, german))
                self.assertRegex(german, r"^\d+\. \w+( \d{4})?$")
                self.assertEqual(sorted(re.findall(r"\d+", english)),
                                 sorted(re.findall(r"\d+", german)))
        found = [english for english, _ in draws(augment.written, PAIR)]
        self.assertTrue(any(one.startswith(PAIR[0] + " ") for one in found))

    def test_a_tag_is_around_the_same_on_both_sides(self):
        inner = set()
        for english, german in draws(augment.tagged, PAIR):
            tags = [re.findall(r"<[^>]+>", text) for text in (english, german)]
            self.assertEqual(tags[0], tags[1])
            self.assertEqual(len(tags[0]), 2)
            inner.add(re.search(">(.*)<", english)[1])
        self.assertEqual(inner, {PAIR[0], "Tom", "30"})

    def test_names_have_any_latin_letters_and_scripts_stay_apart(self):
        generator = random.Random(1)
        names = [copied.person(generator) for _ in range(2000)]
        for letter in "řčžšłóñçãøåæğşőăßé":
            self.assertTrue(any(letter in name for name in names), letter)
        for name in names:
            self.assertRegex(name, r"^[^\W\d_]+([ -][^\W\d_]+)*$")
        for _ in range(300):
            word = copied.other_script(generator)
            self.assertGreaterEqual(len(word), 2)
            self.assertFalse(word.isascii())

    def test_a_number_becomes_the_same_on_both_sides(self):
        decimal = False
        for english, german in draws(augment.number, PAIR):
            self.assertTrue(english.startswith("Tom paid "))
            number = english[len("Tom paid "):-len(" dollars.")]
            own = german[len("Tom zahlte "):-len(" Dollar.")]
            decimal |= own != number
            if own != number:  # as German writes it
                self.assertEqual(
                    own, number.translate(str.maketrans(".,", ",.")))
        self.assertTrue(decimal)

    def test_numbers_that_are_not_surely_the_same_stay(self):
        for pair in (("3 or 3", "3 oder 3"), ("1 dog", "1 Hund"),
                     ("at 7:45", "um 7:45"), ("5 men", "fünf Männer")):
            self.assertIsNone(augment.number(pair, random.Random(1)), pair)

    def test_one_of_several_numbers_becomes_another(self):
        for english, german in draws(augment.number,
                                     ("Read 7 and 12.", "Lies 7 und 12.")):
            kept = ("Read 7 and ", "Lies 7 und "), (" and 12.", " und 12.")
            self.assertTrue(
                english.startswith(kept[0][0]) and german.startswith(kept[0][1])
                or english.endswith(kept[1][0]) and german.endswith(kept[1][1]),
                (english, german))

    def test_what_is_copied_has_its_form(self):
        generator = random.Random(1)
        for function, form in (
                (copied.code, r"[-+A-Z 0-9]*[0-9]"),
                (copied.mail_address, r"[\w.]+@[\w-]+(\.\w+)+"),
                (copied.web_address, r"(https?://)?[\w-]+(\.[\w-]+)+(/\S*)?"
                                     r"([?#]\S+)?"),
                (copied.file_name, r"([CDE]:\\|[.~]?/)?\S+"),
                (copied.placeholder, r"[%{$<\[:@].*")):
            for _ in range(300):
                self.assertRegex(function(generator), rf"^{form}$")

    def test_something_to_copy_takes_a_names_place(self):
        seen = set()
        for english, german in draws(augment.shared_word, PAIR, 1000):
            new = english[:-len(" paid 30 dollars.")]
            self.assertEqual(german, new + " zahlte 30 Dollar.")
            seen.add(new)
        self.assertIn("{name}", seen)
        self.assertIn("%s", seen)
        self.assertTrue(any(one.startswith("https://") for one in seen))
        self.assertIsNone(
            augment.shared_word(("He came", "Er kam"), random.Random(1)))

    def test_two_to_copy_keep_their_order(self):
        for english, german in draws(augment.framed, ("A.", "B."), 1000):
            for (first, second) in augment.DOUBLE_FRAMES:
                before, between, after = first.split("{}")
                if between and before and english.startswith(before):
                    end = len(english) - len(after)
                    things = english[len(before):end].split(between)
                    self.assertEqual(german, second.format(*things))

    def test_one_word_loses_its_full_stop(self):
        self.assertIsNone(augment.one_word(PAIR, random.Random(1)))
        found = draws(augment.one_word, ("Wait!", "Warte!"))
        self.assertIn(("Wait", "Warte"), found)
        self.assertIn(("wait", "warte", "Warte", "Wait"), found)

    def test_what_is_repeated_is_so_as_often(self):
        counts = set()
        for english, german in draws(augment.repeated, ("Wait!", "Warte!")):
            words = [re.findall(r"\w+", text) for text in (english, german)]
            self.assertEqual(len(words[0]), len(words[1]))
            for some in words:
                self.assertEqual(len({word.lower() for word in some}), 1)
            counts.add(len(words[0]))
        self.assertEqual(counts, {2, 3, 4, 5, 6})

    def test_every_variant_has_text_on_all_sides(self):
        generator = random.Random(5)
        made = [augment.augmented(PAIR, generator) for _ in range(2000)]
        made = [one for one in made if one]
        self.assertGreater(len(made), 1000)
        for one in made:
            self.assertIn(len(one), (2, 4))
            self.assertTrue(all(text.strip() for text in one))

    def test_the_same_seed_gives_the_same(self):
        self.assertEqual(draws(augment.augmented, PAIR),
                         draws(augment.augmented, PAIR))

    def test_a_whole_text_has_every_sentence_in_order(self):
        pairs = [(f"Sentence {i}.", f"Satz {i}.") for i in range(1, 7)]
        for function in (augment.flowing, augment.lines, augment.paragraphs,
                         augment.listed, augment.headed, augment.text):
            for made in draws(lambda some, generator: function(
                    some[:generator.randint(2, 6)], generator), pairs):
                for word, text in zip(("Sentence", "Satz"), made):
                    numbers = re.findall(rf"{word} (\d)", text)
                    self.assertGreaterEqual(len(numbers), 2)
                    self.assertEqual(numbers, sorted(numbers))
                # Both sides have the same form.
                self.assertEqual(made[0].replace("Sentence", "Satz"), made[1])

    def test_whole_texts_have_lines_lists_and_headings(self):
        pairs = [("A dog.", "Ein Hund."), ("A cat.", "Eine Katze."),
                 ("A horse.", "Ein Pferd.")]
        found = {german for _, german in draws(augment.text, pairs, 2000)}
        for text in (
                "Ein Hund. Eine Katze. Ein Pferd.",
                "Ein Hund.\nEine Katze.\nEin Pferd.",
                "Ein Hund.\n\nEine Katze. Ein Pferd.",
                "1. Ein Hund\n2. Eine Katze\n3. Ein Pferd",
                "Ein Hund.\n- Eine Katze\n- Ein Pferd",
                "## Ein Hund\n\nEine Katze. Ein Pferd."):
            self.assertIn(text, found)

    def test_joined(self):
        self.assertEqual(augment.joined([("A.", "B."), ("C.", "D.")]),
                         ("A. C.", "B. D."))


if __name__ == "__main__":
    unittest.main()
