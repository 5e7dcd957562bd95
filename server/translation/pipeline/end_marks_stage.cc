#include "server/translation/pipeline/end_marks_stage.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/translation/characters.h"
#include "server/translation/text_edits.h"

namespace trivium {
namespace {

constexpr UChar32 kEllipsis = 0x2026;

bool IsEndMark(UChar32 c) {
  return c == '.' || c == '!' || c == '?' || c == kEllipsis;
}

// True for a character that may stand behind the marks.
bool IsClosing(UChar32 c) {
  switch (u_charType(c)) {
    case U_END_PUNCTUATION:
    case U_INITIAL_PUNCTUATION:  // “ ends German quotes
    case U_FINAL_PUNCTUATION:
      return true;
    default:
      return c == '"' || c == '\'' || u_isUWhiteSpace(c);
  }
}

// Returns where the characters before `end` of some kind begin.
template <typename Is>
size_t BeginOf(std::string_view text, size_t end, Is is) {
  while (end > 0) {
    const size_t size = LastCharacterSize(text.substr(0, end));
    if (!is(FirstCharacter(text.substr(end - size)))) break;
    end -= size;
  }
  return end;
}

// Returns the marks that a text ends with.
TextSpan EndMarks(std::string_view text) {
  const size_t end = BeginOf(text, text.size(), IsClosing);
  return {BeginOf(text, end, IsEndMark), end};
}

bool AreDots(std::string_view marks) {
  return marks.find_first_of("!?") == marks.npos;
}

}  // namespace

absl::Status EndMarksStage::After(const TranslationJob& job,
                                  const Attempt& attempt,
                                  TranslationCandidate* candidate) const {
  if (!job.prefix.empty()) return absl::OkStatus();
  const TextParts::Part& part = job.read_part(attempt);
  const std::string_view source = part.span.Of(job.read().text);
  const TextSpan marks = EndMarks(source);
  const std::string_view written = marks.Of(source);
  // Marks alone end nothing.
  if (written.size() < 2 || marks.begin == 0) return absl::OkStatus();
  const std::vector<TextSpan>& spans = part.protected_spans;
  if (!spans.empty() && spans.back().end > part.span.begin + marks.begin) {
    return absl::OkStatus();  // a protected span has them
  }
  for (size_t h = 0; h < candidate->translation.hypotheses.size(); ++h) {
    const std::string& text = candidate->translation.hypotheses[h].text;
    const TextSpan here = EndMarks(text);
    if (here.begin == here.end || here.Of(text) == written ||
        AreDots(here.Of(text)) != AreDots(written)) {
      continue;
    }
    candidate->Edit(h, {{here, std::string(written)}});
  }
  return absl::OkStatus();
}

}  // namespace trivium
