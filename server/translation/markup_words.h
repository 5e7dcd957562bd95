#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_WORDS_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_WORDS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {

// What only stands for its like. kObject is Markup::kObject.
enum class WordKind { kWord, kPunctuation, kObject };

struct Word {
  TextSpan span;
  WordKind kind = WordKind::kWord;
};

// ICU's words (dictionaries tell those of Chinese, Japanese and Thai) and what
// else is no white space, in order. Each of `whole`, which ascend and are
// apart, is a word by itself; none reaches across one of `cuts`, bytes of the
// text.
std::vector<Word> WordsOf(std::string_view text,
                          const std::vector<size_t>& cuts,
                          const std::vector<TextSpan>& whole);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_WORDS_H_
