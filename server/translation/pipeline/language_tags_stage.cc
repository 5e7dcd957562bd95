#include "server/translation/pipeline/language_tags_stage.h"

#include <string>
#include <utility>
#include <vector>

#include "server/translation/language_tags.h"

namespace trivium {

absl::Status LanguageTagsStage::Open(TranslationJob* job) const {
  std::vector<TextEdit> edits =
      LanguageTagEdits(job->text.text, xml_, source_, target_);
  if (edits.empty()) return absl::OkStatus();
  job->edited.emplace(std::move(job->text.text), std::move(edits));
  job->text.text = job->edited->text();
  // The caller may have parsed the text without the edits.
  job->markup.reset();
  return absl::OkStatus();
}

}  // namespace trivium
