#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_TREE_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_TREE_H_

#include <vector>

#include "server/translation/markup.h"
#include "server/translation/markup_plan.h"
#include "server/translation/markup_words.h"
#include "server/translation/sentences.h"

namespace trivium {

// The elements, single tags and opaque pieces of a sentence, and its words.
struct MarkupTree {
  std::vector<MarkupNode> nodes;  // as in a MarkupPlan, but without places
  std::vector<Word> words;        // of the source, in Markup::plain()
  std::vector<int> owners;        // [words]: the innermost node around each
};

// Grows the tree of a sentence. `whole` are words that no border splits,
// relative to the sentence.
MarkupTree GrowMarkupTree(const Markup& markup,
                          const Markup::Sentence& sentence,
                          const std::vector<TextSpan>& whole);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_TREE_H_
