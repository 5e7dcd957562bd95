#ifndef TRIVIUM_SERVER_ADAPTERS_DOCUMENT_TEXTS_H_
#define TRIVIUM_SERVER_ADAPTERS_DOCUMENT_TEXTS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/calls/environment.h"
#include "server/documents/document.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// A document that one Translate call translates: its different texts are the
// call's inputs, all as HTML.
//
//   auto texts = DocumentTexts::Read(environment, format, bytes, &request);
//   ... the call ...
//   texts->Render(response)     // the translated document
class DocumentTexts {
 public:
  // Adds the inputs and the options that belong to documents: parts that
  // programs read (%s, {name}, ${name}, addresses) come through as they are.
  // INVALID_ARGUMENT says what is wrong with the document.
  static absl::StatusOr<DocumentTexts> Read(const Environment& environment,
                                            const DocumentFormat& format,
                                            std::string_view bytes,
                                            v1::TranslateRequest* request);

  struct Rendered {
    std::string document;
    int untranslated = 0;  // texts that stay, since their marks were lost
  };
  absl::StatusOr<Rendered> Render(const v1::TranslateResponse& response) const;

  size_t bytes() const { return document_->bytes(); }

 private:
  explicit DocumentTexts(std::unique_ptr<Document> document)
      : document_(std::move(document)) {}

  std::unique_ptr<Document> document_;
  std::vector<int> inputs_;  // of each segment: its input; -1: it has none
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_DOCUMENT_TEXTS_H_
