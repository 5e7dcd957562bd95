#ifndef TRIVIUM_SERVER_DOCUMENTS_DOCUMENT_SEGMENT_H_
#define TRIVIUM_SERVER_DOCUMENTS_DOCUMENT_SEGMENT_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/documents/document.h"

namespace trivium {

// A text of a segment, or a mark between its texts: inline tags, formatted
// runs, codes.
struct DocumentItem {
  enum class Kind {
    kText,
    kOpen,  // kOpen and kClose are around words
    kClose,
    kVoid,  // at a place
    kKept,  // stands for a word
    kGlue,  // written only if its segment is not translated
  };
  Kind kind = Kind::kText;
  std::string raw = "";   // its bytes in the document
  std::string text = "";  // the text that people read
  // A kOpen and a kClose with the same key are a pair. If the key begins with
  // '#', only if everything opened between them is closed there, too.
  std::string key = "";
  // In formats with runs: the keys of the runs that are open before and after
  // it; "": none.
  std::string before = "", after = "";
};

// A part of a translated segment: a text, or one of its marks.
struct DocumentPart {
  std::string text;
  const DocumentItem* mark = nullptr;
};

// Writes a translated segment. Beyond `most` bytes it may stop: what it returns
// is then longer than that, and not used.
using WriteSegment = std::function<std::string(
    const DocumentSegment&, const std::vector<DocumentPart>&, size_t most)>;

// A text that is translated as a whole. If it has marks, it is sent as HTML
// whose tags only number them: <span id="0">words</span>, <img id="1">, <code
// id="2"></code>. They come back around the words that they belong to, and each
// is then replaced by the document's own bytes.
struct DocumentSegment {
  std::string place;  // "line 12"
  SegmentText sent;
  std::vector<DocumentItem> items;
  // Index of the other item of a pair; kNone: no pair's.
  static constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<size_t> partners;
  std::vector<size_t> marks;  // the item of each number
  WriteSegment write;
  // White space around the sent text, which is not sent.
  std::string lead = "", trail = "";

  // Splits a translation into texts and marks. INVALID_ARGUMENT unless it has
  // each mark that was sent exactly once, with pairs nested.
  absl::StatusOr<std::vector<DocumentPart>> Parts(
      std::string_view translation) const;
};

// For each item the index of its partner, or kNone. Pairs are nested.
std::vector<size_t> PartnersOf(const std::vector<DocumentItem>& items);

// Makes the segment of items between the first and the last one that it needs;
// their partners are among them.
DocumentSegment MakeSegment(std::string place, std::vector<DocumentItem> items,
                            WriteSegment write);

// A writer that joins encoded texts and marks, in their order.
WriteSegment Joined(std::function<std::string(std::string_view)> encode);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_DOCUMENT_SEGMENT_H_
