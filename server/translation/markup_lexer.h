#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_LEXER_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_LEXER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {

// A tag, or what is between tags. Parsers of HTML build a tree, which has lost
// what its text looked like; here every byte is some token's, so that what is
// not translated comes out as it was.
struct MarkupToken {
  enum class Kind { kText, kRawText, kStart, kEnd, kCdata, kDoctype, kOther };
  static constexpr size_t kNone = -1;

  Kind kind = Kind::kText;
  TextSpan span;
  std::string name;           // of tags; HTML's in lower case
  bool self_closing = false;  // XML's <b/>
  bool untranslated = false;  // translate="no", class="notranslate"
  // Of a start tag its end tag's index, and the other way round.
  size_t partner = kNone;
};

// By the rules of HTML's tokenizer; of XML, which is well-formed, by its own.
// Takes linear time. A text may have so many tokens; of one that has more the
// first are returned, one more than that.
inline constexpr size_t kMostMarkupTokens = 100'000;
std::vector<MarkupToken> LexMarkup(std::string_view text, bool xml);

// HTML's white space, and XML's.
inline bool IsBlankByte(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

// Elements whose contents have neither tags nor, but for title, text to
// translate; names in lower case.
bool IsRawTextElement(std::string_view name);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_LEXER_H_
