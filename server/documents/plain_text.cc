// Plain text: each line is a text.
#include <utility>

#include "base/status.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"

namespace trivium {

absl::StatusOr<std::unique_ptr<Document>> ReadPlainText(
    std::string_view data, const DocumentOptions& options) {
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source,
                           DecodeDocument(data, options.encoding));
  SegmentBuilder builder;
  size_t number = 0;
  for (const std::string_view line : SplitLines(source.text)) {
    const std::string_view end = BreakOf(line);
    builder.Text(line.substr(0, line.size() - end.size()),
                 "line " + std::to_string(++number));
    builder.Close();
    builder.Literal(end);
    builder.Close();
  }
  return NewTextDocument(std::move(source), std::move(builder));
}

}  // namespace trivium
