#ifndef TRIVIUM_SERVER_TRANSLATION_TEXT_EDITS_H_
#define TRIVIUM_SERVER_TRANSLATION_TEXT_EDITS_H_

#include <string>
#include <string_view>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {

// Replaces a span of a text. An empty replacement leaves the span out.
struct TextEdit {
  TextSpan span;
  std::string replacement = {};
};

// A text with edits, which finds the bytes of the original for those of the
// edited text.
//
//   EditedText edited("ca\u00ADfé", {{{2, 4}}});
//   edited.text()                // "café"
//   edited.InOriginal({0, 5})    // {0, 7}
//
// Immutable.
class EditedText {
 public:
  // The edits must ascend and not overlap.
  EditedText(std::string original, std::vector<TextEdit> edits);

  const std::string& original() const { return original_; }
  const std::string& text() const { return text_; }

  // Returns the bytes of the original that a span of text() stands for. What
  // was left out at the ends of the span is not among them.
  TextSpan InOriginal(TextSpan span) const;
  // Returns the byte of text() for one of the original. A byte that was left
  // out or replaced is where its edit begins.
  size_t InEdited(size_t at) const;
  // Returns the bytes of text() for those of a span of the original. An edit
  // that overlaps the span is in it as a whole.
  TextSpan InEdited(TextSpan span) const;

 private:
  // A replacement, in text(), and what it replaces.
  struct Change {
    TextSpan edited;
    TextSpan original;
  };

  // Returns the last change that begins before byte `at` of the original, or
  // null.
  const Change* LastBefore(size_t at) const;

  std::string original_;
  std::string text_;
  std::vector<Change> changes_;  // ascending
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_TEXT_EDITS_H_
