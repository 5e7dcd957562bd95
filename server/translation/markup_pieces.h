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

// What a text with markup is made of: pieces that follow one another and
// together are all its bytes.
struct MarkupPiece {
  enum class Kind {
    kText,     // with the format's escapes
    kRawText,  // without any, as in CDATA
    kEscape,   // stands for its last byte: Markdown's "\\*"
    kSpace,    // stands for a space: Markdown's line break and next line's ">"
    // The tags of an element in the midst of text, a pair: <b>, </b>.
    kOpen,
    kClose,
    // Stands at a place in the text: <img>, a comment, a tag without partner.
    kVoid,
    // In the text, and not to be translated: <code>make</code>.
    kOpaque,
    kBreak,  // ends sentences: <p>, </td>, <pre>...</pre>
  };
  Kind kind = Kind::kText;
  TextSpan span;
  size_t partner = 0;  // of kOpen and kClose, its index
  // Of kOpen: the text in the element has no escapes.
  bool raw = false;
  // Of kClose: what is written for it in a translation, if not its bytes.
  std::string written = {};
  // Of kOpen and kClose: of a picture, whose description is between them.
  bool image = false;
};

// As HTML is forgiving: whatever has no sense is text or a piece of its own.
// INVALID_ARGUMENT, as all of them: elements are nested too deep, or there are
// too many.
absl::StatusOr<std::vector<MarkupPiece>> HtmlPieces(std::string_view text);

// Documents, and fragments with text around their elements. An element is in
// the midst of text where its parent, or one above it, has text of its own.
// INVALID_ARGUMENT tells where the text is malformed.
absl::StatusOr<std::vector<MarkupPiece>> XmlPieces(std::string_view text);

// CommonMark and, of GitHub, tables, task lists, struck text and links without
// brackets; YAML or TOML may stand before it. Whatever has no sense is text.
absl::StatusOr<std::vector<MarkupPiece>> MarkdownPieces(std::string_view text);

// Each element in a text may take time with each word in it.
inline constexpr int kMostMarkupDepth = 100;
absl::Status TooDeepMarkup(size_t at);

// The code point of an entity that HTML 4 names, as "eacute"; 0: unknown.
char32_t NamedEntity(std::string_view name);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_PIECES_H_
