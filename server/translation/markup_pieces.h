#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_PIECES_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_PIECES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/translation/sentences.h"

namespace trivium {

enum class MarkupFormat { kHtml, kXml, kMarkdown };

// A part of a text with markup. The pieces follow one another and together
// cover all bytes of the text.
struct MarkupPiece {
  enum class Kind {
    kText,     // text with the format's escapes
    kRawText,  // text without escapes, as in CDATA
    kEscape,   // stands for its last byte: Markdown's "\\*"
    kSpace,    // stands for a space: Markdown's line break and next line's ">"
    // The two tags of an element within a sentence: <b>, </b>.
    kOpen,
    kClose,
    // Stands for no word: <img>, a comment, a script, a tag without partner.
    kVoid,
    // Stands for a word and is not translated: <code>make</code>.
    kOpaque,
    kBreak,  // ends sentences: <p>, </td>, <pre>...</pre>
  };
  Kind kind = Kind::kText;
  TextSpan span;
  size_t partner = 0;  // of kOpen and kClose: the other's index
  // For kOpen: true if the text in the element has no escapes.
  bool raw = false;
  // For kClose: replaces its bytes in a translation, unless empty.
  std::string written = {};
  // For kOpen and kClose: true for an image, whose description is between them.
  bool image = false;
};

// The three functions below return INVALID_ARGUMENT if elements are nested too
// deep or there are too many.

// Splits HTML. Malformed markup is no error, as in browsers: it becomes text or
// a piece of its own.
absl::StatusOr<std::vector<MarkupPiece>> HtmlPieces(std::string_view text);

// Splits an XML document, or a fragment, which may have text around its
// elements. An element is part of a sentence if its parent or any other
// ancestor has text of its own. Also returns INVALID_ARGUMENT if the text is
// malformed, and says where.
absl::StatusOr<std::vector<MarkupPiece>> XmlPieces(std::string_view text);

// Splits CommonMark with GitHub's tables, task lists, strikethrough and links
// without brackets. YAML or TOML front matter may precede it. Malformed markup
// is text.
absl::StatusOr<std::vector<MarkupPiece>> MarkdownPieces(std::string_view text);

// Maximum depth of nested elements. It bounds the time of placing tags, which
// handles each word once for each element around it.
inline constexpr int kMostMarkupDepth = 100;
// Returns the error for an element at byte `at` that is nested too deep.
absl::Status TooDeepMarkup(size_t at);

// Returns the code point of an entity that HTML 4 names, such as "eacute", or 0
// if the name is unknown.
char32_t NamedEntity(std::string_view name);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_PIECES_H_
