#include "server/calls/document_texts.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "server/documents/document_segment.h"
#include "server/documents/entities.h"

namespace trivium {
namespace {

// Memory of a segment and of its text: strings and lists.
constexpr size_t kSegmentBytes = 500;
// Copies of a document's bytes: its own, its segments', its different texts',
// and the one that is written.
constexpr size_t kCopies = 4;

bool IsPlain(const DocumentSegment& segment) {
  return segment.sent.format == SegmentText::Format::kPlain;
}

}  // namespace

absl::StatusOr<DocumentTexts> DocumentTexts::Read(
    const DocumentFormat& format, std::string_view bytes,
    const DocumentOptions& options) {
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Document> document,
                           format.read(bytes, options));
  DocumentTexts all(std::move(document));
  absl::flat_hash_map<SegmentText, int> known;
  for (const DocumentSegment* const segment : all.document_->segments()) {
    int& text = all.text_of_segment_.emplace_back(-1);
    if (!segment->sent.HasLetters()) continue;
    const auto [found, added] =
        known.emplace(segment->sent, static_cast<int>(all.texts_.size()));
    text = found->second;
    if (!added) continue;
    all.texts_.push_back({IsPlain(*segment) ? EscapeMarkup(segment->sent.text)
                                            : segment->sent.text,
                          segment});
  }
  return all;
}

size_t DocumentTexts::held_bytes() const {
  return kCopies * bytes() + kSegmentBytes * text_of_segment_.size();
}

const std::string& DocumentTexts::shown(size_t text) const {
  return texts_[text].first->sent.text;
}
const std::string& DocumentTexts::place(size_t text) const {
  return texts_[text].first->place;
}

absl::Status DocumentTexts::Set(size_t text, std::string translation) {
  const DocumentSegment& segment = *texts_[text].first;
  if (IsPlain(segment)) translation = UnescapeMarkup(translation);
  TRIVIUM_RETURN_IF_ERROR(segment.Parts(translation).status());
  texts_[text].translation = std::move(translation);
  return absl::OkStatus();
}

absl::StatusOr<std::string> DocumentTexts::Render() const {
  size_t bytes = 0;
  for (const int text : text_of_segment_) {
    if (text >= 0 && texts_[text].translation) {
      bytes += texts_[text].translation->size();
    }
  }
  TRIVIUM_RETURN_IF_ERROR(
      CheckRenderedBytes(bytes, document_->MostRenderedBytes()));
  std::vector<std::optional<std::string>> translations;
  for (const int text : text_of_segment_) {
    translations.push_back(text < 0 ? std::nullopt : texts_[text].translation);
  }
  return document_->Render(translations);
}

}  // namespace trivium
