#ifndef TRIVIUM_SERVER_TRANSLATION_MARKDOWN_EXTENSIONS_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKDOWN_EXTENSIONS_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "server/translation/sentences.h"

namespace trivium {

// A mark of an extension of CommonMark. md4c reports it as text.
struct MarkdownMark {
  enum class Kind {
    kFootnote,    // [^1], and at the begin of a block [^1]:; ^[its text]
    kAttributes,  // {#id .class}
    kName,        // [[Page|label]] of a wiki; 2^nd^
    kLine,        // begins a line and is no text: [!NOTE], :::tip, ": "
    kHighlight,   // the two "==" of ==marked== and "++" of ++inserted++
  };
  Kind kind = Kind::kFootnote;
  TextSpan span;
};

// Finds marks in the text of one block.
class MarkdownExtensions {
 public:
  // `end` is the end of the block.
  MarkdownExtensions(std::string_view text, size_t end)
      : text_(text.substr(0, end)) {}

  // The place where the text at `span` begins.
  enum class Place { kBlock, kLine, kWithin };
  // Returns the first mark within `span`, a text that md4c reports as one.
  std::optional<MarkdownMark> Next(TextSpan span, Place place) const;

  // True if the highlight at `at` may begin an element that ends in the block.
  bool Opens(size_t at);
  // True if the highlight at `at` may end an element.
  bool Closes(size_t at) const;

 private:
  std::optional<TextSpan> LineMark(TextSpan span, Place place) const;
  std::optional<TextSpan> Footnote(size_t at, size_t end, bool at_begin) const;
  std::optional<TextSpan> Name(size_t at, size_t end) const;
  std::optional<TextSpan> Note(size_t at, size_t end) const;
  // A raised sign and the word before it.
  std::optional<TextSpan> Raised(TextSpan span, size_t at) const;
  std::optional<TextSpan> Attributes(size_t at, size_t end) const;
  bool IsHighlight(size_t at) const;

  const std::string_view text_;
  // For "==" and "++": a mark that may end an element, and the end of the block
  // if there is none from some byte on. Makes Opens take linear time in all.
  std::array<size_t, 2> closer_ = {0, 0};
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKDOWN_EXTENSIONS_H_
