#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_SPAN_PROTECTION_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_SPAN_PROTECTION_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "server/translation/pipeline/text_parts.h"
#include "server/translation/pipeline/translation_options.h"
#include "server/translation/placeholders.h"
#include "server/translation/protected_spans.h"

namespace trivium {

// Finds the spans of texts that a call protects, and tells whether translations
// have them. A span came through if its placeholder was copied once and the
// rest of the translation has no other span of the same bytes. Immutable.
class SpanProtection {
 public:
  // Protects no span of a text by itself; for texts with markup.
  SpanProtection() = default;

  // `path` of the options in errors: "options.protect". Compiles the patterns,
  // which takes milliseconds.
  static absl::StatusOr<SpanProtection> Create(const ProtectionOptions& options,
                                               const std::string& path);

  // The protected spans of a text, without white space at their ends:
  // ascending and apart. Errors are those of ProtectedSpans::Find.
  absl::StatusOr<std::vector<TextSpan>> Find(
      std::string_view text, const AliveCheck& check_alive) const;

  // A part that was translated, and the spans that it must have.
  struct Part {
    std::vector<std::string_view> spans;  // as the model's source has them
    std::span<const TextSpan> origins;    // [spans], in the call's text
  };

  // Replaces the placeholders of `style` in the hypotheses of `translation` by
  // the spans, and returns where, [hypotheses]. Appends lost spans to
  // `translation->lost`, and adds to `losses` how much is wrong; nothing if all
  // came through.
  absl::StatusOr<std::vector<std::vector<Restored::Place>>> Restore(
      const Part& part, int style, const AliveCheck& check_alive,
      TranslatedText* translation, int* losses) const;

  // Of a part that was translated in pieces, between which its spans are: adds
  // to `joined->lost` and `losses` the spans that a model made up beside them.
  absl::Status CheckPieces(const Part& part,
                           const std::vector<TranslatedText>& pieces,
                           const AliveCheck& check_alive,
                           TranslatedText* joined, int* losses) const;

 private:
  SpanProtection(ProtectedSpans spans, std::string path)
      : spans_(std::move(spans)), path_(std::move(path)) {}

  // Adds to `counts`, [spans], how often each is in one of the texts.
  absl::Status Count(const std::vector<std::string_view>& texts,
                     const std::vector<std::string_view>& spans,
                     const AliveCheck& check_alive,
                     std::vector<int>* counts) const;

  ProtectedSpans spans_;
  std::string path_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_SPAN_PROTECTION_H_
