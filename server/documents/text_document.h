#ifndef TRIVIUM_SERVER_DOCUMENTS_TEXT_DOCUMENT_H_
#define TRIVIUM_SERVER_DOCUMENTS_TEXT_DOCUMENT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/documents/document.h"
#include "server/documents/segment_builder.h"

namespace trivium {

// A document's bytes as text, which can be encoded to the same bytes again.
struct DecodedText {
  std::string text;      // UTF-8
  std::string encoding;  // as ICU names it
  std::string bom = "";  // the byte order mark

  // The way of characters that the encoding lacks.
  enum class Missing { kRefuse, kReference };  // kReference: as &#228;
  absl::StatusOr<std::string> Encode(std::string_view other,
                                     Missing missing) const;
};

// Decodes a document. `encoding` is used if there is no byte order mark; empty:
// UTF-8.
// INVALID_ARGUMENT if the encoding is unknown, if the bytes are not in it, if
// it would not give the same bytes again, or if there are too many lines.
absl::StatusOr<DecodedText> DecodeDocument(std::string_view data,
                                           const std::string& encoding = "");

// The encoding that an XML declaration names, or else `otherwise`.
std::string XmlEncoding(std::string_view data, std::string otherwise = "utf-8");
// The first group of `pattern` (RE2) in the first 4096 bytes, or `otherwise`.
std::string DeclaredEncoding(std::string_view data, const char* pattern,
                             std::string otherwise);

// Makes a document of one encoded text. An error of the builder.
absl::StatusOr<std::unique_ptr<Document>> NewTextDocument(
    DecodedText source, SegmentBuilder builder,
    DecodedText::Missing missing = DecodedText::Missing::kRefuse);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_TEXT_DOCUMENT_H_
