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

struct Attempt;
struct TranslationJob;

// Finds the spans of texts that a call protects, and checks that translations
// have them. A span came through if its placeholder was copied once, and the
// rest of the translation has no other span of the same bytes. Immutable.
class SpanProtection {
 public:
  // Finds no spans; for texts with markup, whose opaque pieces are protected.
  SpanProtection() = default;

  // `path` names the options in errors: "options.protect". Compiles the
  // patterns, which takes milliseconds.
  static absl::StatusOr<SpanProtection> Create(const ProtectionOptions& options,
                                               const std::string& path);

  // Returns the protected spans of a text in ascending order, without overlap
  // and without white space at their ends. Returns the errors of
  // ProtectedSpans::Find.
  absl::StatusOr<std::vector<TextSpan>> Find(
      std::string_view text, const AliveCheck& check_alive) const;

  // A part that was translated, and the spans that its translation must have.
  struct Part {
    std::vector<std::string_view> spans;  // their texts in the model's source
    std::span<const TextSpan> origins;    // [spans] places in the call's text
  };

  // In the hypotheses of `translation`, replaces the placeholders of `style` by
  // the spans, and returns [hypotheses] the places. Appends lost spans to
  // `translation->lost`, and adds their number, and that of hypotheses with
  // stray placeholders, to `losses`.
  absl::StatusOr<std::vector<std::vector<Restored::Place>>> Restore(
      const Part& part, int style, const AliveCheck& check_alive,
      TranslatedText* translation, int* losses) const;

  // Checks a part that was translated in pieces, with its spans between them.
  // Adds the spans that the model also wrote into a piece to `joined->lost` and
  // `losses`.
  absl::Status CheckPieces(const Part& part,
                           const std::vector<TranslatedText>& pieces,
                           const AliveCheck& check_alive,
                           TranslatedText* joined, int* losses) const;

 private:
  SpanProtection(ProtectedSpans spans, std::string path)
      : spans_(std::move(spans)), path_(std::move(path)) {}

  // Adds to `counts`, [spans], the number of times that each is in the texts.
  absl::Status Count(const std::vector<std::string_view>& texts,
                     const std::vector<std::string_view>& spans,
                     const AliveCheck& check_alive,
                     std::vector<int>* counts) const;

  ProtectedSpans spans_;
  std::string path_;
};

// Returns where the placeholders of the attempt's protected spans are in a text
// that the model reads or writes, ascending. None if it is asked in pieces.
std::vector<TextSpan> PlaceholdersIn(const TranslationJob& job,
                                     const Attempt& attempt,
                                     std::string_view text);

// Adds what remains of `found` outside of the job's protected spans, cut at
// line breaks and without white space at its ends. `found` must ascend, and its
// spans must not overlap.
void AddProtectedSpans(const std::vector<TextSpan>& found, TranslationJob* job);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_SPAN_PROTECTION_H_
