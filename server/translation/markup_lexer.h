#ifndef TRIVIUM_SERVER_TRANSLATION_MARKUP_LEXER_H_
#define TRIVIUM_SERVER_TRANSLATION_MARKUP_LEXER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {

// A tag, or the text between tags. HTML parsers build a tree, which loses how
// the text was written. Here every byte belongs to a token, so whatever is not
// translated is written unchanged.
struct MarkupToken {
  enum class Kind { kText, kRawText, kStart, kEnd, kCdata, kDoctype, kOther };
  static constexpr size_t kNone = -1;

  Kind kind = Kind::kText;
  TextSpan span;
  std::string name;           // of tags; in lower case for HTML
  bool self_closing = false;  // XML's <b/>
  bool untranslated = false;  // translate="no", class="notranslate"
  // Index of a start tag's end tag, or of an end tag's start tag.
  size_t partner = kNone;
};

// Maximum number of tokens in a text. Of a longer text, LexMarkup returns just
// more than these, so that the caller can refuse it.
inline constexpr size_t kMostMarkupTokens = 100'000;

// Splits a text into tokens, in linear time. HTML follows the rules of HTML's
// tokenizer, and XML, which must be well-formed, follows its own.
std::vector<MarkupToken> LexMarkup(std::string_view text, bool xml);

// True for the white space of HTML and XML.
inline bool IsBlankByte(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

// True for elements whose contents have neither tags nor text to translate.
// `name` must be in lower case.
bool IsRawTextElement(std::string_view name);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_MARKUP_LEXER_H_
