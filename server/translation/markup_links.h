#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_LINKS_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_LINKS_H_

#include <span>
#include <vector>

#include "server/translation/markup.h"
#include "server/translation/markup_words.h"

namespace trivium {

// Links between the words of a translation and those of its source.
struct MarkupLinks {
  static constexpr int kNone = -1;

  struct Link {
    int source = 0;  // word
    float weight = 0;
  };
  // [targets]: to words of the source, ascending, each once.
  std::vector<std::vector<Link>> links;
  // [targets]: the word of the same kind with the highest weight, or kNone. A
  // word that its source word can spare stands for another one that would have
  // none.
  std::vector<int> source_of_target;
  // [targets]: true for a second U+FFFC of the same opaque piece.
  std::vector<bool> dropped;
  // [sources]: the first and last word that stand for it, or kNone.
  std::vector<int> first_target, last_target;
};

// Links the words of a translation, `targets`, to those of its source.
MarkupLinks LinkWords(std::span<const AlignedWords> words,
                      const std::vector<Word>& sources,
                      const std::vector<Word>& targets);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_LINKS_H_
