#include "server/translation/pipeline/placeholder_spaces_stage.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/translation/characters.h"
#include "server/translation/text_edits.h"

namespace trivium {
namespace {

// Scripts from here on may have no spaces.
constexpr UChar32 kFirstSpaceless = 0x0E00;

bool IsSpaceAt(std::string_view text, size_t at) {
  return at < text.size() && u_isUWhiteSpace(FirstCharacter(text.substr(at)));
}

bool IsSpaceBefore(std::string_view text, size_t at) {
  if (at == 0) return false;
  return u_isUWhiteSpace(
      FirstCharacter(text.substr(at - LastCharacterSize(text.substr(0, at)))));
}

bool IsLetter(UChar32 c) { return u_isalpha(c) && c < kFirstSpaceless; }

// True if a word begins at `at` that is more than a genitive's "s".
bool BeginsWord(std::string_view text, size_t at) {
  if (at >= text.size() || !IsLetter(FirstCharacter(text.substr(at)))) {
    return false;
  }
  return text[at] != 's' || (at + 1 < text.size() &&
                             u_isalpha(FirstCharacter(text.substr(at + 1))));
}

bool EndsWord(std::string_view text, size_t at) {
  return at > 0 && IsLetter(FirstCharacter(text.substr(
                       at - LastCharacterSize(text.substr(0, at)))));
}

}  // namespace

absl::Status PlaceholderSpacesStage::After(
    const TranslationJob& job, const Attempt& attempt,
    TranslationCandidate* candidate) const {
  const TextParts& read = job.read();
  const TextParts::Part& part = job.read_part(attempt);
  if (part.protected_spans.empty() || attempt.in_pieces()) {
    return absl::OkStatus();
  }
  for (size_t h = 0; h < candidate->translation.hypotheses.size(); ++h) {
    std::string& text = candidate->translation.hypotheses[h].text;
    std::vector<TextEdit> edits;
    const Restored restored =
        RestoreSpans(text, read.ProtectedTexts(part), attempt.way);
    for (const Restored::Place& place : restored.places) {
      const TextSpan source = part.protected_spans[place.span];
      const auto [begin, end] = place.placeholder;
      if (IsSpaceBefore(read.text, source.begin) && EndsWord(text, begin)) {
        edits.push_back({{begin, begin}, " "});
      }
      if (IsSpaceAt(read.text, source.end) && BeginsWord(text, end)) {
        edits.push_back({{end, end}, " "});
      }
    }
    if (edits.empty()) continue;
    const EditedText edited(std::move(text), std::move(edits));
    if (h < candidate->alignments.size()) {
      for (AlignedWords& words : candidate->alignments[h]) {
        size_t begin = edited.InEdited(words.target.begin);
        // A word begins behind the space that parts it.
        const bool parted = begin < edited.text().size() &&
                            edited.text()[begin] == ' ' &&
                            words.target.begin < edited.original().size() &&
                            edited.original()[words.target.begin] != ' ';
        if (parted) ++begin;
        words.target = {begin, edited.InEdited(words.target.end)};
      }
    }
    text = edited.text();
  }
  return absl::OkStatus();
}

}  // namespace trivium
