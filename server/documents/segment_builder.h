#ifndef TRIVIUM_SERVER_DOCUMENTS_SEGMENT_BUILDER_H_
#define TRIVIUM_SERVER_DOCUMENTS_SEGMENT_BUILDER_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/documents/document_segment.h"

namespace trivium {

// Turns the bytes of a text into what people read.
using DecodeText = std::function<std::string(std::string_view)>;

// White space that stays unchanged at the ends of a segment.
enum class Margin {
  kSpace,
  kEscapes,  // also \t as two characters
};

// Collects the pieces of a document in order. Texts and marks belong to the
// open segment, which Close ends. Marks before its first text and after its
// last stay where they are.
//
//   builder.Literal("<p>");  builder.Text("Hello ", "line 1");
//   builder.Mark(DocumentItem::Kind::kOpen, "<b>", "b");  ...
//   builder.Close();
//   builder.status()         // was that all?
//   builder.Render(translations, most_bytes)
class SegmentBuilder {
 public:
  // `write` writes translated segments. Default: texts as they are.
  SegmentBuilder();
  explicit SegmentBuilder(WriteSegment write) : write_(std::move(write)) {}

  const std::vector<DocumentSegment>& segments() const { return segments_; }
  // INVALID_ARGUMENT if there were more than kMostDocumentItems, or if they had
  // more than kMostDocumentItemBytes: the others are left out.
  absl::Status status() const;

  // Adds markup that belongs to no words.
  void Literal(std::string_view raw);
  void Mark(DocumentItem::Kind kind, std::string_view raw,
            std::string key = "");

  // Adds a text. Null `decode`: it is read as it is.
  void Text(std::string_view raw, const std::string& place,
            const DecodeText& decode = nullptr, Margin margin = Margin::kSpace);
  void Item(DocumentItem item, const std::string& place = "");

  // Adds a segment of the document's own markup. `raw` is its bytes.
  void Whole(SegmentText sent, std::string_view raw, std::string place,
             WriteSegment write);

  // Ends the open segment. Null: written as the builder's others.
  void Close(WriteSegment write = nullptr);

  // Returns the whole text with translations, one for each segment. An error of
  // Parts names the segment's place. INVALID_ARGUMENT if the text has more than
  // `most_bytes`.
  absl::StatusOr<std::string> Render(Translations translations,
                                     size_t most_bytes) const;

 private:
  // Returns true if there is room for an item more, of so many bytes.
  bool HasRoom(size_t bytes);

  WriteSegment write_;
  std::vector<DocumentSegment> segments_;
  // The bytes before each segment, and those after the last.
  std::vector<std::string> between_ = {""};
  std::vector<DocumentItem> items_;  // of the open segment
  std::string place_;                // of the open segment's first text
  size_t closed_items_ = 0;          // of segments_
  size_t bytes_ = 0;                 // of all items
  bool too_many_ = false;
  bool too_long_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_SEGMENT_BUILDER_H_
