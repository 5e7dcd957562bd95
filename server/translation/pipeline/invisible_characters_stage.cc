#include "server/translation/pipeline/invisible_characters_stage.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "server/translation/invisible_characters.h"
#include "server/translation/numbers.h"
#include "server/translation/text_edits.h"

namespace trivium {

absl::Status InvisibleCharactersStage::Open(TranslationJob* job) const {
  if (!job->prefix.empty()) return absl::OkStatus();
  const std::string_view text = job->text.text;
  std::vector<TextEdit> edits;
  for (const TextSpan& span : NeedlessInvisibleCharacters(text)) {
    edits.push_back({span});
  }
  const auto add_unknown = [&](const std::vector<TextSpan>& spans,
                               const char* plain) {
    for (const TextSpan& span : spans) {
      const char32_t c = FirstCodePoint(span.Of(text)).value;
      const bool known =
          c >= 0x80 &&
          std::all_of(models_.begin(), models_.end(),
                      [c](const auto& model) { return model->Knows(c); });
      if (!known) edits.push_back({span, plain});
    }
  };
  add_unknown(UnusualSpaces(text), " ");
  add_unknown(UnusualHyphens(text), "-");
  if (!edits.empty()) {
    job->text_stages.insert(TextStage::kInvisibleCharacters);
  }
  const size_t invisible = edits.size();
  add_unknown(CapitalSharpS(text), "SS");
  if (edits.size() > invisible) {
    job->text_stages.insert(TextStage::kLetterCase);
  }
  // None of those characters is in a price's mark, so no two edits overlap.
  if (prices_) {
    for (const TextSpan& span : RoundPriceMarks(text)) {
      edits.push_back({span});
      job->text_stages.insert(TextStage::kNumbers);
    }
  }
  if (edits.empty()) return absl::OkStatus();
  std::sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) {
    return a.span.begin < b.span.begin;
  });
  if (job->markup) {
    job->markup->Edit(edits);
    job->text.text = job->markup->plain();
    job->protected_spans = job->markup->opaque();
  } else {
    job->edited.emplace(std::move(job->text.text), std::move(edits));
    job->text.text = job->edited->text();
  }
  return absl::OkStatus();
}

}  // namespace trivium
