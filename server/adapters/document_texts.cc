#include "server/adapters/document_texts.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "server/documents/document_segment.h"
#include "server/documents/entities.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

void ProtectWhatProgramsRead(v1::Protection* protection) {
  for (const v1::ProtectedKind kind :
       {v1::PROTECTED_KIND_PRINTF, v1::PROTECTED_KIND_ICU_MESSAGE,
        v1::PROTECTED_KIND_MUSTACHE, v1::PROTECTED_KIND_URL,
        v1::PROTECTED_KIND_EMAIL}) {
    protection->add_kinds(kind);
  }
  protection->add_patterns(R"([$%#]\{[^{}]*\})");
}

bool IsHtml(const DocumentSegment& segment) {
  return segment.sent.format == SegmentText::Format::kHtml;
}

}  // namespace

absl::StatusOr<DocumentTexts> DocumentTexts::Read(
    const Environment& environment, const DocumentFormat& format,
    std::string_view bytes, v1::TranslateRequest* request) {
  DocumentOptions options;
  options.target_language = request->options().target_language();
  auto document = format.read(bytes, options);
  if (!document.ok()) {
    return InvalidField("file", std::string(document.status().message()));
  }
  DocumentTexts texts(*std::move(document));
  absl::flat_hash_map<SegmentText, int> inputs;
  for (const DocumentSegment* const segment : texts.document_->segments()) {
    int& input = texts.inputs_.emplace_back(-1);
    if (!segment->sent.HasLetters()) continue;
    const auto [found, added] =
        inputs.emplace(segment->sent, request->inputs_size());
    input = found->second;
    if (!added) continue;
    request->add_inputs()->set_text(IsHtml(*segment)
                                        ? segment->sent.text
                                        : EscapeMarkup(segment->sent.text));
  }
  const int most = environment.limits.max_inputs;
  if (request->inputs_size() > most) {
    return InvalidField(
        "file", fmt::format("has {} different texts, and at most {} are "
                            "translated in one request; split it",
                            request->inputs_size(), most));
  }
  // A call has at least one input.
  if (request->inputs_size() == 0) request->add_inputs()->set_text("");
  request->mutable_options()->set_format(v1::TEXT_FORMAT_HTML);
  ProtectWhatProgramsRead(request->mutable_options()->mutable_protect());
  return texts;
}

absl::StatusOr<DocumentTexts::Rendered> DocumentTexts::Render(
    const v1::TranslateResponse& response) const {
  Rendered rendered;
  const std::vector<const DocumentSegment*> segments = document_->segments();
  std::vector<std::optional<std::string>> translations(segments.size());
  for (size_t i = 0; i < segments.size(); ++i) {
    if (inputs_[i] < 0) continue;
    const v1::TranslateResult& result = response.results(inputs_[i]);
    if (result.hypotheses().empty()) continue;
    const std::string& text = result.hypotheses(0).text();
    std::string translation =
        IsHtml(*segments[i]) ? text : UnescapeMarkup(text);
    if (segments[i]->Parts(translation).ok()) {
      translations[i] = std::move(translation);
    } else {
      ++rendered.untranslated;
    }
  }
  TRIVIUM_ASSIGN_OR_RETURN(rendered.document, document_->Render(translations));
  return rendered;
}

}  // namespace trivium
