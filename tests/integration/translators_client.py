"""Tests a real server with the clients of LibreTranslate and DeepL.

translators_client.py SERVER MODEL PACKAGES: see begin() of chat_server.py.
"""

import io
import json
import sys
import unittest
import urllib.request
import uuid

import chat_server

TEXT = "The house is big."


class LibreTranslateTest(chat_server.ServerTest):
    def setUp(self):
        self.client = LibreTranslateAPI(self.url)

    def test_texts(self):
        self.assertIn("Haus", self.client.translate(TEXT, "en", "de"))
        self.assertIn("house", self.client.translate("Das Haus ist groß.", "auto",
                                                     "en"))
        self.assertEqual(self.client.detect(TEXT)[0]["language"], "en")
        self.assertIn("en", [language["code"] for language in self.client.languages()])

    def test_a_file(self):
        """Sends it as LibreTranslate's page does; libretranslatepy cannot."""
        border = uuid.uuid4().hex
        page = "<h1>The house is big.</h1>\n<p>I ate an apple.</p>\n"
        body = "".join(
            f"--{border}\r\nContent-Disposition: form-data; {head}\r\n\r\n{value}\r\n"
            for head, value in (
                ('name="source"', "en"), ('name="target"', "de"),
                ('name="file"; filename="page.html"\r\nContent-Type: text/html',
                 page))) + f"--{border}--\r\n"
        request = urllib.request.Request(
            f"{self.url}/translate_file", body.encode(),
            {"Content-Type": f"multipart/form-data; boundary={border}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            url = json.load(answer)["translatedFileUrl"]
        with urllib.request.urlopen(url, timeout=60) as answer:
            translated = answer.read().decode()
        self.assertRegex(translated, r"<h1>[^<]*Haus[^<]*</h1>\n<p>[^<]*Apfel")


class DeeplTest(chat_server.ServerTest):
    def setUp(self):
        self.client = deepl.Translator("none", server_url=self.url)
        self.addCleanup(self.client.close)

    def test_texts(self):
        result = self.client.translate_text(TEXT, target_lang="DE")
        self.assertIn("Haus", result.text)
        self.assertEqual(result.detected_source_lang, "EN")
        both = self.client.translate_text(["<b>The house</b> is big.", "Hi."],
                                          source_lang="EN", target_lang="DE",
                                          tag_handling="html")
        self.assertIn("<b>", both[0].text)
        with self.assertRaisesRegex(deepl.DeepLException, "formality"):
            self.client.translate_text(TEXT, target_lang="DE", formality="more")

    def test_lists_of_tags(self):
        text = "<doc><par>I like <x a=\"1\">red apples</x>.</par><par>Yes.</par></doc>"
        tags = {"source_lang": "EN", "target_lang": "DE", "tag_handling": "xml"}
        result = self.client.translate_text(text, ignore_tags="x", splitting_tags="par",
                                            outline_detection=False, **tags)
        self.assertIn("<x a=\"1\">red apples</x>", result.text)
        self.assertEqual(result.text.count("translate="), 0)
        with self.assertRaisesRegex(deepl.DeepLException, "non_splitting_tags"):
            self.client.translate_text(text, non_splitting_tags="par", **tags)

    def test_documents(self):
        status, page = self.translate_document("a.html", "<p>The <b>house</b> is big.</p>")
        self.assertTrue(status.done)
        self.assertRegex(page, r"<p>.*<b>[^<]*Haus[^<]*</b>.*</p>")
        table = self.translate_document("a.csv", "id,text\n1,The house is big.\n")[1]
        self.assertRegex(table, r"^id,text\n1,.*Haus.*\n$")
        for options, what in (({"output_format": "pdf"}, "output_format"),
                              ({"formality": "more"}, "formality")):
            with self.assertRaisesRegex(deepl.DeepLException, what):
                self.translate_document("a.html", "<p>Hi.</p>", **options)
        with self.assertRaisesRegex(deepl.DocumentTranslationException, "JSON"):
            self.translate_document("a.json", "{")

    def translate_document(self, name, text, **options):
        source, made = io.BytesIO(text.encode()), io.BytesIO()
        source.name = name  # as a file that was opened
        status = self.client.translate_document(source, made, source_lang="EN", target_lang="DE",
                                                **options)
        return status, made.getvalue().decode()

    def test_languages_and_usage(self):
        self.assertEqual({language.code for language in
                          self.client.get_target_languages()}, {"DE", "EN"})
        self.assertEqual(len(self.client.get_glossary_languages()), 2)
        self.assertFalse(self.client.get_usage().any_limit_reached)

    def test_glossaries(self):
        glossary = self.client.create_glossary("g", "EN", "DE", {"house": "Bude"})
        self.assertEqual(self.client.get_glossary_entries(glossary), {"house": "Bude"})
        held = self.client.translate_text(TEXT, source_lang="EN", target_lang="DE",
                                          glossary=glossary)
        self.assertIn("Bude", held.text)
        self.assertEqual([g.name for g in self.client.list_glossaries()], ["g"])
        self.client.delete_glossary(glossary)
        with self.assertRaises(deepl.DeepLException):
            self.client.get_glossary(glossary.glossary_id)

    def test_lines_may_be_no_borders(self):
        joined = self.client.translate_text(
            "The house\nis big.", source_lang="EN", target_lang="DE",
            split_sentences=deepl.SplitSentences.NO_NEWLINES)
        whole = self.client.translate_text(TEXT, source_lang="EN", target_lang="DE")
        self.assertEqual(joined.text, whole.text)

    def test_multilingual_glossaries(self):
        client = deepl.DeepLClient("none", server_url=self.url)
        self.addCleanup(client.close)
        dictionary = deepl.api_data.MultilingualGlossaryDictionaryEntries
        made = client.create_multilingual_glossary(
            "g", [dictionary("EN", "DE", {"house": "Bude"}),
                  dictionary("DE", "EN", {"Hund": "hound"})])
        self.assertEqual([(one.source_lang, one.target_lang, one.entry_count)
                          for one in made.dictionaries],
                         [("DE", "EN", 1), ("EN", "DE", 1)])

        def entries(source, target):
            return client.get_multilingual_glossary_entries(
                made, source, target).dictionaries[0].entries

        self.assertEqual(entries("EN", "DE"), "house\tBude\n")
        held = client.translate_text(TEXT, source_lang="EN", target_lang="DE",
                                     glossary=made)
        self.assertIn("Bude", held.text)
        held = client.translate_text("Der Hund ist groß.", source_lang="DE",
                                     target_lang="EN-US", glossary=made)
        self.assertIn("hound", held.text)
        client.update_multilingual_glossary_name(made, "h")
        client.update_multilingual_glossary_dictionary(
            made, dictionary("EN", "DE", {"dog": "Dackel"}))
        self.assertEqual(entries("EN", "DE"), "house\tBude\ndog\tDackel\n")
        client.replace_multilingual_glossary_dictionary(
            made, dictionary("EN", "DE", {"cat": "Kater"}))
        self.assertEqual(entries("EN", "DE"), "cat\tKater\n")
        client.delete_multilingual_glossary_dictionary(made, source_lang="EN",
                                                       target_lang="DE")
        self.assertEqual(
            [(g.name, len(g.dictionaries))
             for g in client.list_multilingual_glossaries()], [("h", 1)])
        client.delete_multilingual_glossary(made)
        with self.assertRaises(deepl.GlossaryNotFoundException):
            client.get_multilingual_glossary(made.glossary_id)


if __name__ == "__main__":
    chat_server.begin("libretranslatepy", "deepl>=1.22")
    import deepl
    from libretranslatepy import LibreTranslateAPI
    unittest.main(argv=sys.argv[:1])
