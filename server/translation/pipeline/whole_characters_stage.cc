#include "server/translation/pipeline/whole_characters_stage.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/translation/text_edits.h"

namespace trivium {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";

// Returns the runs of U+FFFD, each with a space beside it that would be left
// over.
std::vector<TextEdit> RemovalsFrom(std::string_view text) {
  std::vector<TextEdit> edits;
  for (size_t begin = text.find(kReplacement); begin != text.npos;) {
    size_t end = begin;
    while (text.substr(end).starts_with(kReplacement)) {
      end += kReplacement.size();
    }
    const bool space_before = begin == 0 || text[begin - 1] == ' ';
    if (space_before && end < text.size() && text[end] == ' ') {
      ++end;
    } else if (space_before && end == text.size() && begin > 0 &&
               (edits.empty() || edits.back().span.end < begin)) {
      --begin;
    }
    edits.push_back({{begin, end}});
    begin = text.find(kReplacement, end);
  }
  return edits;
}

}  // namespace

absl::Status WholeCharactersStage::After(
    const TranslationJob& job, const Attempt& attempt,
    TranslationCandidate* candidate) const {
  const std::string_view source = job.part(attempt).span.Of(job.text.text);
  // Ids have no source text, and a prefix is a part of the translation.
  if (source.empty() || !job.prefix.empty() ||
      source.find(kReplacement) != source.npos) {
    return absl::OkStatus();
  }
  for (size_t h = 0; h < candidate->translation.hypotheses.size(); ++h) {
    std::vector<TextEdit> removals =
        RemovalsFrom(candidate->translation.hypotheses[h].text);
    if (!removals.empty()) candidate->Edit(h, std::move(removals));
  }
  return absl::OkStatus();
}

}  // namespace trivium
