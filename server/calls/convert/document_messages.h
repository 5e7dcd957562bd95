#ifndef TRIVIUM_SERVER_CALLS_CONVERT_DOCUMENT_MESSAGES_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_DOCUMENT_MESSAGES_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/documents/document.h"
#include "server/translation/language_detection.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The messages of TranslateDocument.

// The document that a start announces. INVALID_ARGUMENT if it names no format
// that there is, or an option that the format lacks.
struct DocumentReading {
  const DocumentFormat* format = nullptr;
  DocumentOptions options;
};
absl::StatusOr<DocumentReading> ConvertDocumentReading(
    const v1::TranslateDocumentRequest::Start& in);

// INVALID_ARGUMENT if options of all texts ask for what a document has no place
// for. `path` names them in errors.
absl::Status CheckDocumentTranslation(const v1::TranslateOptions& in,
                                      const std::string& path);
// Adds what belongs to documents: the format in which texts are sent, and
// protection of what programs read (%s, {name}, ${name}, addresses).
void AddDocumentTranslation(const DocumentFormat& format,
                            v1::TranslateOptions* options);

const std::string& ModelOf(const v1::TranslateDocumentRequest& message);
v1::Input TextInput(const std::string& text);

// The outcome of a text.
struct DocumentOutcome {
  std::optional<std::string> translation;  // nullopt: it stays as it is
  std::optional<v1::DocumentNote> note;    // without place and text
};
DocumentOutcome ConvertDocumentOutcome(const v1::TranslateOptions& options,
                                       const v1::TranslateResult& result);
v1::DocumentNote FailureNote(const absl::Status& status);
// Fills in where the note's text is, and its beginning.
void SetPlace(const std::string& place, std::string_view text,
              v1::DocumentNote* note);

void WriteDocumentFormat(const DocumentFormat& format, v1::DocumentResult* out);
void WriteDetectedLanguages(const std::vector<LanguageGuess>& guesses,
                            v1::DocumentResult* out);

using DocumentMessage = std::unique_ptr<v1::TranslateDocumentResponse>;
DocumentMessage MakeDocumentProgress(size_t done, size_t total);
void AddTranslatedText(const std::string& text, const std::string& translation,
                       v1::TranslateDocumentResponse* progress);
DocumentMessage MakeDocumentData(std::string_view bytes);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_DOCUMENT_MESSAGES_H_
