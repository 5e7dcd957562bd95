#include "server/translation/pipeline/links_stage.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "base/utf8.h"
#include "server/translation/mark_borders.h"
#include "server/translation/pipeline/span_protection.h"
#include "server/translation/protected_spans.h"

namespace trivium {
namespace {

const ProtectedSpans& Links() {
  static const ProtectedSpans* const links =
      new ProtectedSpans(*ProtectedSpans::Create(
          {ProtectedKind::kUrl, ProtectedKind::kEmail, ProtectedKind::kFileName,
           ProtectedKind::kDomain, ProtectedKind::kIdentifier,
           ProtectedKind::kField, ProtectedKind::kIcuChoice,
           ProtectedKind::kPhone, ProtectedKind::kMeasure, ProtectedKind::kCode,
           ProtectedKind::kPrintf, ProtectedKind::kMustache},
          {}));
  return *links;
}

// True for spans such as the German "d.h", which are an abbreviation more often
// than the name of a file.
bool IsAbbreviation(std::string_view span) {
  return span.size() == 3 && span[1] == '.';
}

// True for the "%-i" of "a 50%-increase".
bool IsOfPercentage(std::string_view text, TextSpan span) {
  return text[span.begin] == '%' && span.begin > 0 &&
         absl::ascii_isdigit(text[span.begin - 1]);
}

// Returns the words with bars that are no borders, such as "P(A|B)" and "||".
// No language has them, and models write something else for them.
std::vector<TextSpan> WordsWithBars(std::string_view text) {
  constexpr std::string_view kStops = ".,;:!?";
  constexpr size_t kMostBytes = 64;  // a script without spaces has no words
  std::vector<TextSpan> found;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    bool bar = false, border = false;
    while (end < text.size()) {
      const CodePoint c = FirstCodePoint(text.substr(end));
      if (u_isUWhiteSpace(static_cast<UChar32>(c.value))) break;
      if (IsBar(c.value)) {
        bar = true;
        border = border || IsBarBetweenWords(text, end);
      }
      end += c.size;
    }
    const size_t next =
        end == at ? at + FirstCodePoint(text.substr(at)).size : end;
    TextSpan word = {at, end};
    while (bar && kStops.find(text[word.end - 1]) != kStops.npos) --word.end;
    const bool lone =
        bar && word.end == at + FirstCodePoint(word.Of(text)).size;
    if (bar && !border && !lone && end - at <= kMostBytes) {
      found.push_back(word);
    }
    at = next;
  }
  return found;
}

}  // namespace

absl::Status LinksStage::Open(TranslationJob* job) const {
  if (!job->prefix.empty()) return absl::OkStatus();
  const std::string_view text = job->text.text;
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<TextSpan> found,
                           Links().Find(text, check_alive_));
  std::erase_if(found, [text](TextSpan span) {
    return IsAbbreviation(span.Of(text)) || IsOfPercentage(text, span);
  });
  const std::vector<TextSpan> bars = WordsWithBars(text);
  if (found.empty() && bars.empty()) return absl::OkStatus();
  AddProtectedSpans(found, job);
  AddProtectedSpans(bars, job);
  job->text_stages.insert(TextStage::kLinks);
  return absl::OkStatus();
}

}  // namespace trivium
