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

// An element of a sentence, or a tag or opaque piece alone, and where it goes
// in the translation.
struct MarkupNode {
  static constexpr size_t kNoTag = std::numeric_limits<size_t>::max();

  // Indices of Markup's tags: what is written before its words, and after them.
  size_t open = kNoTag;
  size_t close = kNoTag;
  int last = 0;               // the last node in it
  std::vector<int> children;  // ascending
  bool opaque = false;
  bool raw = false;
  // It began in an earlier sentence, so all before its end is in it; it ends in
  // a later one.
  bool begins_before = false, ends_after = false;
  TextSpan plain;  // of Markup::plain()
  // The words of the translation that are in it. Of none, the gap where it
  // stands: before word `begin`.
  int begin = 0, end = 0;
  // In a gap: at the word before it, so that a space comes behind.
  bool leans_left = false;
};

// Where everything goes in a translation.
struct MarkupPlan {
  // Node 0 is the sentence; children follow their parent, in the source's
  // order. A child's words are its parent's, and no sibling's.
  std::vector<MarkupNode> nodes;
  std::vector<Word> words;  // of the translation
  // [words] that are not written: places of opaque pieces that are elsewhere.
  std::vector<bool> dropped;
};

// By what the translation's words stand for.
MarkupPlan PlanMarkup(const Markup& markup, const Markup::Sentence& sentence,
                      std::string_view translation,
                      std::span<const AlignedWords> words);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_PLAN_H_
