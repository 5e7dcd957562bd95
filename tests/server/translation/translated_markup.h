#ifndef TRIVIUM_TESTS_SERVER_TRANSLATION_TRANSLATED_MARKUP_H_
#define TRIVIUM_TESTS_SERVER_TRANSLATION_TRANSLATED_MARKUP_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/translation/markup.h"

namespace trivium {

// Texts with markup, translated by a test.

inline TextSpan SpanOf(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  EXPECT_NE(at, std::string_view::npos) << word << " in " << text;
  return {at, at + word.size()};
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

// The text with the translation of its part `plain`, of whose words each
// stands, in the order of the translation, for the one beside it.
inline std::string Translated(const Markup& markup, const std::string& plain,
                              const std::string& translation,
                              const Pairs& pairs) {
  const TextSpan span = SpanOf(markup.plain(), plain);
  std::vector<AlignedWords> words;
  for (const auto& [target, source] : pairs) {
    TextSpan from = SpanOf(plain, source);
    words.push_back({.target = SpanOf(translation, target),
                     .source = {from.begin + span.begin, from.end + span.begin},
                     .weight = 1});
  }
  const Markup::Sentence sentence = markup.In(span);
  return markup.text().substr(0, sentence.source.begin) +
         markup.Place(sentence, translation, words) +
         markup.text().substr(sentence.source.end);
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_TRANSLATION_TRANSLATED_MARKUP_H_
