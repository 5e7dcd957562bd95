#ifndef TRIVIUM_SERVER_DOCUMENTS_JSON_SCANNER_H_
#define TRIVIUM_SERVER_DOCUMENTS_JSON_SCANNER_H_

#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace trivium {

// Part of a JSON text, which its tokens cover without a gap.
struct JsonToken {
  enum class Kind { kString, kKey, kOther };  // kOther: one character or more
  Kind kind;
  std::string_view raw;  // of strings: with the quotes
};

// Splits a JSON text (RFC 8259). Unlike other parsers it keeps strings as they
// are written, and allows half surrogates in them. INVALID_ARGUMENT says where
// the text is not JSON, or that it is nested too deep or too long.
absl::Status ScanJson(std::string_view text, std::vector<JsonToken>* tokens);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_JSON_SCANNER_H_
