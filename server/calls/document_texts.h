#ifndef TRIVIUM_SERVER_CALLS_DOCUMENT_TEXTS_H_
#define TRIVIUM_SERVER_CALLS_DOCUMENT_TEXTS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/documents/document.h"

namespace trivium {

// The different texts of a document, and their translations: each text is
// translated once, however often it occurs.
//
//   auto texts = DocumentTexts::Read(format, bytes, options);
//   for (size_t i = 0; i < texts->size(); ++i) ... texts->sent(i) ...
//   texts->Set(i, translation)
//   texts->Render()             // the translated document
//
// Texts are sent in one format: HTML, or the document's own markup.
class DocumentTexts {
 public:
  // INVALID_ARGUMENT says what is wrong with the document.
  static absl::StatusOr<DocumentTexts> Read(const DocumentFormat& format,
                                            std::string_view bytes,
                                            const DocumentOptions& options);

  size_t size() const { return texts_.size(); }
  const std::string& sent(size_t text) const { return texts_[text].sent; }
  // The text as people read it in the document.
  const std::string& shown(size_t text) const;
  // The place where it occurs first.
  const std::string& place(size_t text) const;
  size_t bytes() const { return document_->bytes(); }
  // About how much memory it takes, without translations.
  size_t held_bytes() const;

  // Sets the translation of a text. INVALID_ARGUMENT if it lacks marks that the
  // text has; the text then stays as it is. May run beside Set of other texts.
  absl::Status Set(size_t text, std::string translation);
  // The translation of a text that has one.
  const std::string& translation(size_t text) const {
    return *texts_[text].translation;
  }
  // Returns the document; texts without a translation stay. INVALID_ARGUMENT as
  // of Document::Render.
  absl::StatusOr<std::string> Render() const;

 private:
  struct Text {
    std::string sent;
    const DocumentSegment* first;  // of the segments with this text
    std::optional<std::string> translation = std::nullopt;
  };

  explicit DocumentTexts(std::unique_ptr<Document> document)
      : document_(std::move(document)) {}

  std::unique_ptr<Document> document_;
  std::vector<Text> texts_;
  std::vector<int> text_of_segment_;  // -1: nothing to translate
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_DOCUMENT_TEXTS_H_
