#include "server/calls/convert/document_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"
#include "server/errors/rpc_status.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr size_t kMostShownBytes = 200;

absl::Status CheckOption(const DocumentFormat& format, unsigned option,
                         bool given, const char* name) {
  if (!given || (format.options & option) != 0) return absl::OkStatus();
  return InvalidField(fmt::format("start.document.{}", name),
                      fmt::format("{} has no such option; leave it out",
                                  std::string(format.name)));
}

v1::TextFormat FormatOf(DocumentMarkup markup) {
  switch (markup) {
    case DocumentMarkup::kMarkdown:
      return v1::TEXT_FORMAT_MARKDOWN;
    case DocumentMarkup::kXml:
      return v1::TEXT_FORMAT_XML;
    case DocumentMarkup::kHtml:
      break;
  }
  return v1::TEXT_FORMAT_HTML;
}

}  // namespace

absl::StatusOr<DocumentReading> ConvertDocumentReading(
    const v1::TranslateDocumentRequest::Start& in) {
  DocumentReading reading;
  const bool named = !in.format().empty();
  reading.format = named ? FindDocumentFormat(in.format())
                         : DocumentFormatOfFile(in.file_name());
  if (reading.format == nullptr) {
    return named ? InvalidField(
                       "start.format",
                       fmt::format("'{}' is no format; there are {}",
                                   Shorten(in.format()), DocumentFormatNames()))
                 : InvalidField(
                       "start.file_name",
                       fmt::format("'{}' does not show the document's format; "
                                   "name it in start.format: {}",
                                   Shorten(in.file_name()),
                                   DocumentFormatNames()));
  }
  const DocumentFormat& format = *reading.format;
  const v1::DocumentOptions& given = in.document();
  TRIVIUM_RETURN_IF_ERROR(
      CheckOption(format, kEncodingOption, given.has_encoding(), "encoding"));
  TRIVIUM_RETURN_IF_ERROR(CheckOption(format, kRetranslateOption,
                                      given.retranslate(), "retranslate"));
  TRIVIUM_RETURN_IF_ERROR(
      CheckOption(format, kMarkFuzzyOption, given.mark_fuzzy(), "mark_fuzzy"));
  TRIVIUM_RETURN_IF_ERROR(
      CheckOption(format, kKeysOption, given.keys(), "keys"));
  TRIVIUM_RETURN_IF_ERROR(CheckOption(format, kKeysOption,
                                      !given.only_keys().empty(), "only_keys"));
  TRIVIUM_RETURN_IF_ERROR(
      CheckOption(format, kColumnsOption, !given.columns().empty(), "columns"));
  TRIVIUM_RETURN_IF_ERROR(
      CheckOption(format, kColumnsOption, given.no_header(), "no_header"));
  DocumentOptions& options = reading.options;
  options.target_language = in.options().target_language();
  options.encoding = given.encoding();
  options.retranslate = given.retranslate();
  options.mark_fuzzy = given.mark_fuzzy();
  options.keys = given.keys();
  options.only_keys = {given.only_keys().begin(), given.only_keys().end()};
  options.columns = {given.columns().begin(), given.columns().end()};
  options.no_header = given.no_header();
  return reading;
}

absl::Status CheckDocumentTranslation(const v1::TranslateOptions& in,
                                      const std::string& path) {
  const std::array<std::pair<bool, const char*>, 9> others = {{
      {in.format() != v1::TEXT_FORMAT_UNSPECIFIED, "format"},
      {in.tokens(), "tokens"},
      {in.has_cross_attention(), "cross_attention"},
      {in.has_decoder_attention(), "decoder_attention"},
      {in.sentences(), "sentences"},
      {in.words(), "words"},
      {in.decoding().num_hypotheses() > 1, "decoding.num_hypotheses"},
      {in.decoding().top_logprobs() > 0, "decoding.top_logprobs"},
      {in.decoding().trace(), "decoding.trace"},
  }};
  for (const auto& [given, name] : others) {
    if (!given) continue;
    return InvalidField(fmt::format("{}.{}", path, name),
                        "is for texts, and a document has no place for it; "
                        "leave it out");
  }
  return absl::OkStatus();
}

void AddDocumentTranslation(const DocumentFormat& format,
                            v1::TranslateOptions* options) {
  options->set_format(FormatOf(format.markup));
  v1::Protection* const protection = options->mutable_protect();
  for (const v1::ProtectedKind kind :
       {v1::PROTECTED_KIND_PRINTF, v1::PROTECTED_KIND_ICU_MESSAGE,
        v1::PROTECTED_KIND_MUSTACHE, v1::PROTECTED_KIND_URL,
        v1::PROTECTED_KIND_EMAIL}) {
    const auto& kinds = protection->kinds();
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      protection->add_kinds(kind);
    }
  }
  protection->add_patterns(R"([$%#]\{[^{}]*\}|&#?\w+;)");
}

const std::string& ModelOf(const v1::TranslateDocumentRequest& message) {
  return message.start().model();
}

v1::Input TextInput(const std::string& text) {
  v1::Input input;
  input.set_text(text);
  return input;
}

DocumentOutcome ConvertDocumentOutcome(const v1::TranslateOptions& options,
                                       const v1::TranslateResult& result) {
  DocumentOutcome outcome;
  for (const v1::UnkeptSpan& one : result.unkept()) {
    if (one.hypothesis() != 0) continue;
    outcome.note = FailureNote(absl::InternalError(
        one.count() == 0
            ? fmt::format("its translation lacks '{}'", Shorten(one.text()))
            : fmt::format("its translation has '{}' {} times",
                          Shorten(one.text()), one.count())));
    return outcome;
  }
  if (!result.hypotheses().empty()) {
    outcome.translation = result.hypotheses(0).text();
  }
  v1::DocumentNote note;
  for (const v1::Suspicion& one : result.suspicions()) {
    const auto& told = note.suspicions();
    if (one.hypothesis() == 0 &&
        std::find(told.begin(), told.end(), one.check()) == told.end()) {
      note.add_suspicions(one.check());
    }
  }
  for (const v1::GlossaryUse& use : result.glossary_uses()) {
    const auto& missing = use.missing();
    const int term = static_cast<int>(use.term());
    if (std::find(missing.begin(), missing.end(), 0u) != missing.end() &&
        term < options.glossary().terms_size()) {
      note.add_missing(options.glossary().terms(term).target());
    }
  }
  if (note.ByteSizeLong() > 0) outcome.note = std::move(note);
  return outcome;
}

v1::DocumentNote FailureNote(const absl::Status& status) {
  v1::DocumentNote note;
  *note.mutable_error() = ToRpcStatus(status);
  return note;
}

void SetPlace(const std::string& place, std::string_view text,
              v1::DocumentNote* note) {
  note->set_place(place);
  note->set_text(Shorten(text, kMostShownBytes));
}

void WriteDocumentFormat(const DocumentFormat& format,
                         v1::DocumentResult* out) {
  out->set_format(std::string(format.name));
  out->set_media_type(std::string(format.type));
}

void WriteDetectedLanguages(const std::vector<LanguageGuess>& guesses,
                            v1::DocumentResult* out) {
  for (const LanguageGuess& guess : guesses) {
    v1::DetectedLanguage* const added = out->add_detected_languages();
    added->set_language(guess.language);
    added->set_confidence(static_cast<float>(guess.percent) / 100);
    added->set_reliable(guess.reliable);
  }
}

DocumentMessage MakeDocumentProgress(size_t done, size_t total) {
  auto message = std::make_unique<v1::TranslateDocumentResponse>();
  message->mutable_progress()->set_done(static_cast<uint32_t>(done));
  message->mutable_progress()->set_total(static_cast<uint32_t>(total));
  return message;
}

void AddTranslatedText(const std::string& text, const std::string& translation,
                       v1::TranslateDocumentResponse* progress) {
  v1::DocumentText* const told = progress->mutable_progress()->mutable_text();
  told->set_text(text);
  told->set_translation(translation);
}

DocumentMessage MakeDocumentData(std::string_view bytes) {
  auto message = std::make_unique<v1::TranslateDocumentResponse>();
  message->set_data(std::string(bytes));
  return message;
}

}  // namespace trivium
