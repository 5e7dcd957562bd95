#ifndef TRIVIUM_SERVER_DOCUMENTS_HTML_DOCUMENT_H_
#define TRIVIUM_SERVER_DOCUMENTS_HTML_DOCUMENT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "server/documents/segment_builder.h"
#include "server/documents/text_document.h"

namespace trivium {

// Decodes HTML by its declaration or <meta charset>.
absl::StatusOr<DecodedText> DecodeHtml(std::string_view data);
// Returns the segments of HTML or XHTML.
absl::StatusOr<SegmentBuilder> ReadHtmlText(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_HTML_DOCUMENT_H_
