#include "server/translation/pipeline/invisible_characters_stage.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/invisible_characters.h"
#include "server/translation/mnemonics.h"
#include "server/translation/numbers.h"
#include "server/translation/text_edits.h"
#include "server/translation/unusual_spaces.h"

namespace trivium {
namespace {

// False for control characters, and for the space of scripts that the target
// language may not have.
bool ComesBack(std::string_view space) {
  constexpr UChar32 kIdeographicSpace = 0x3000;
  const UChar32 c = FirstCharacter(space);
  return u_charType(c) == U_SPACE_SEPARATOR && c != kIdeographicSpace;
}

}  // namespace

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
  const std::vector<TextSpan> spaces = UnusualSpaces(text);
  add_unknown(spaces, " ");
  add_unknown(UnusualHyphens(text), "-");
  if (!edits.empty()) {
    job->text_stages.insert(TextStage::kInvisibleCharacters);
  }
  if (const TextSpan mark = KeyMark(*job); mark.begin < mark.end) {
    edits.push_back({mark});
    job->text_stages.insert(TextStage::kInvisibleCharacters);
    // Markup has it before the sentence, and the sentence alone is replaced.
    if (!job->markup || !IsBlank(text.substr(0, mark.begin))) {
      job->text.mnemonic = text.substr(
          mark.begin, 1 + FirstCodePoint(text.substr(mark.end)).size);
    }
  }
  const size_t invisible = edits.size();
  add_unknown(CapitalSharpS(text), "SS");
  if (edits.size() > invisible) {
    job->text_stages.insert(TextStage::kLetterCase);
  }
  // None of those is in a price's mark, so no two edits overlap.
  if (options_.prices) {
    for (const TextSpan& span : RoundPriceMarks(text)) {
      edits.push_back({span});
      job->text_stages.insert(TextStage::kNumbers);
    }
  }
  std::sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) {
    return a.span.begin < b.span.begin;
  });
  std::vector<TextEdit> kept;
  if (!spaces.empty()) {
    const EditedText edited(std::string(text), edits);
    for (const TextSpan& span : spaces) {
      if (!ComesBack(span.Of(text))) continue;
      const size_t begin = edited.InEdited(span.begin);
      kept.push_back(
          {{begin, edited.InEdited(span.end)}, std::string(span.Of(text))});
    }
  }
  job->text.spaces = std::move(kept);
  if (edits.empty()) return absl::OkStatus();
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

absl::Status InvisibleCharactersStage::After(
    const TranslationJob& job, const Attempt& attempt,
    TranslationCandidate* candidate) const {
  if (options_.feeds_pivot) return absl::OkStatus();
  const TextSpan part = job.part(attempt).span;
  std::vector<TextEdit> spaces;
  if (part.end - part.begin <= kLongestSentence) {
    spaces = job.text.SpacesIn(part);
  }
  const bool marked = !job.text.mnemonic.empty() && attempt.part == 0;
  if (spaces.empty() && !marked) return absl::OkStatus();
  for (size_t h = 0; h < candidate->translation.hypotheses.size(); ++h) {
    const std::string& text = candidate->translation.hypotheses[h].text;
    candidate->Edit(h, UnusualSpaceEdits(part.Of(job.text.text), spaces, text));
    if (marked && !text.empty()) {
      candidate->Edit(h, {MnemonicEdit(job.text.mnemonic, text)});
    }
  }
  return absl::OkStatus();
}

TextSpan InvisibleCharactersStage::KeyMark(const TranslationJob& job) const {
  if (!options_.labels || models_.empty()) return {};
  const std::string_view text = job.text.text;
  const TextSpan label = WithoutWhiteSpace(text, {0, text.size()});
  const auto at = FindMnemonic(label.Of(text), [this](std::string_view word) {
    return std::all_of(
        models_.begin(), models_.end(),
        [word](const auto& model) { return model->IsPiece(word); });
  });
  return at ? TextSpan{label.begin + *at, label.begin + *at + 1} : TextSpan();
}

}  // namespace trivium
