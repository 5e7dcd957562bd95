#ifndef TRIVIUM_MODEL_CHAT_FORMAT_GRAMMAR_PARTS_H_
#define TRIVIUM_MODEL_CHAT_FORMAT_GRAMMAR_PARTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/grammar/grammar.h"

namespace trivium {

// Adds all rules of `part` to `grammar` and returns a call of its root.
ExpressionId AddGrammar(const Grammar& part, Grammar* grammar);

// Texts of UTF-8 that end with `mark` and have it nowhere else. `mark` is not
// empty.
ExpressionId TextUpTo(std::string_view mark, Grammar* grammar);

// A stretch of a text that is read by marks of its own, as MarkedReader does.
struct TextMode {
  enum class Kind : uint8_t {
    kText,   // any text, in which marks count wherever they stand
    kStart,  // white space, then a mark, or text of the mode `otherwise`
    kEnd,    // no text
  };
  // In place of a mode: the text may not have the mark.
  static constexpr int kNever = -1;
  struct Mark {
    std::string text;   // not empty; no mark is inside of another
    int next = kNever;  // the mode behind it
  };

  Kind kind = Kind::kEnd;
  std::vector<Mark> marks = {};
  int otherwise = 0;
  bool may_end = false;  // the text may end here
  // The rest of a text that may end here, where no mark has begun.
  ExpressionId then = ExpressionGraph::kNoLabel;
};

// Texts of UTF-8 that are read by the modes, from the mode `first` on.
ExpressionId TextInModes(const std::vector<TextMode>& modes, int first,
                         Grammar* grammar);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_CHAT_FORMAT_GRAMMAR_PARTS_H_
