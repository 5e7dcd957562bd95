#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_WORDS_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_WORDS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {

// A translated word belongs only to a source word of its own kind. kObject is
// the kind of Markup::kObject.
enum class WordKind { kWord, kPunctuation, kObject };

struct Word {
  TextSpan span;
  WordKind kind = WordKind::kWord;
};

// Returns the words of a text in order, as ICU splits them, and anything else
// that is not white space. ICU uses dictionaries for Chinese, Japanese and
// Thai. Each span of `whole`, which are ascending and disjoint, is a single
// word. No word crosses one of `cuts`, which are byte offsets in the text.
std::vector<Word> WordsOf(std::string_view text,
                          const std::vector<size_t>& cuts,
                          const std::vector<TextSpan>& whole);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_WORDS_H_
