#include "server/translation/pipeline/invisible_characters_stage.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "server/translation/invisible_characters.h"
#include "server/translation/text_edits.h"

namespace trivium {

absl::Status InvisibleCharactersStage::Open(TranslationJob* job) const {
  if (!job->prefix.empty()) return absl::OkStatus();
  const std::string_view text = job->text.text;
  std::vector<TextEdit> edits;
  for (const TextSpan& span : NeedlessInvisibleCharacters(text)) {
    edits.push_back({span});
  }
  for (const TextSpan& span : UnusualSpaces(text)) {
    const char32_t space = FirstCodePoint(span.Of(text)).value;
    const bool known =
        std::all_of(models_.begin(), models_.end(),
                    [space](const auto& model) { return model->Knows(space); });
    if (!known) edits.push_back({span, " "});
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
  job->text_stages.insert(TextStage::kInvisibleCharacters);
  return absl::OkStatus();
}

}  // namespace trivium
