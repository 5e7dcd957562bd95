#ifndef TRIVIUM_SERVER_DOCUMENTS_XML_TOKENS_H_
#define TRIVIUM_SERVER_DOCUMENTS_XML_TOKENS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// A tag, a text or another part of an XML text.
struct XmlToken {
  enum class Kind { kOpen, kClose, kEmpty, kText, kCdata, kOther };
  Kind kind;
  std::string_view raw;
  std::string_view name;  // of tags, with its prefix
  size_t begin;           // offset in the text

  bool opens() const { return kind == Kind::kOpen || kind == Kind::kEmpty; }
  // The change of depth behind it: +1, -1 or 0.
  int depth() const {
    return kind == Kind::kOpen ? 1 : kind == Kind::kClose ? -1 : 0;
  }
  // The name without its prefix, and the prefix with its colon.
  std::string_view local_name() const;
  std::string_view prefix() const;
  // The value of an attribute, decoded; empty if it has none.
  std::string Attribute(std::string_view attribute) const;
  bool HasAttribute(std::string_view attribute) const;
  // The text of kText and kCdata as people read it.
  std::string Text() const;
};

// The most tags and texts of a document, in all of its parts: more than long
// books have. Each takes up to 400 bytes of memory.
inline constexpr size_t kMostXmlTokens = 500'000;

// Splits a text that is well-formed XML into tokens, which cover it. Entities
// are not resolved. INVALID_ARGUMENT says where the text is not XML, that it
// has more than `most` tokens, or that it declares entities that are made of
// others or that are in other files.
absl::StatusOr<std::vector<XmlToken>> XmlTokensOf(std::string_view text,
                                                  size_t most = kMostXmlTokens);

// Returns the index of the token that closes the element that `at` opens.
size_t EndOfElement(const std::vector<XmlToken>& tokens, size_t at);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_XML_TOKENS_H_
