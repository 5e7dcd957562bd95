#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_PLAN_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_PLAN_H_

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "server/translation/markup.h"
#include "server/translation/markup_words.h"
#include "server/translation/sentences.h"

namespace trivium {

// An element, single tag or opaque piece of a sentence, and its place in the
// translation.
struct MarkupNode {
  static constexpr size_t kNoTag = std::numeric_limits<size_t>::max();

  // Indices of the Markup's tags to write before and after the node's words.
  size_t open = kNoTag;
  size_t close = kNoTag;
  int last = 0;               // its last descendant, or itself
  std::vector<int> children;  // ascending
  bool opaque = false;
  bool raw = false;
  // begins_before: the element began in an earlier sentence, so it contains all
  // words before its end. ends_after: it ends in a later sentence.
  bool begins_before = false, ends_after = false;
  TextSpan plain;  // its contents in Markup::plain()
  // The words [begin, end) of the translation that it contains. If there are
  // none, the node stands in the gap before word `begin`.
  int begin = 0, end = 0;
  // For a node in a gap: true if it attaches to the preceding word, so that a
  // space follows it.
  bool leans_left = false;
};

// The place of each tag in a translation.
struct MarkupPlan {
  // Node 0 is the sentence. Children follow their parent, in the source's
  // order. A child's words are a subset of its parent's, and siblings share
  // none.
  std::vector<MarkupNode> nodes;
  std::vector<Word> words;  // of the translation
  // [words]: true if the word is not written, because it is the U+FFFC of an
  // opaque piece that is placed elsewhere.
  std::vector<bool> dropped;
};

// Places the sentence's tags according to the aligned words.
MarkupPlan PlanMarkup(const Markup& markup, const Markup::Sentence& sentence,
                      std::string_view translation,
                      std::span<const AlignedWords> words);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_PLAN_H_
