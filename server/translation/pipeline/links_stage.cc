#include "server/translation/pipeline/links_stage.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/status.h"
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

}  // namespace

absl::Status LinksStage::Open(TranslationJob* job) const {
  if (!job->prefix.empty()) return absl::OkStatus();
  const std::string_view text = job->text.text;
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<TextSpan> found,
                           Links().Find(text, check_alive_));
  std::erase_if(found, [text](TextSpan span) {
    return IsAbbreviation(span.Of(text)) || IsOfPercentage(text, span);
  });
  if (found.empty()) return absl::OkStatus();
  AddProtectedSpans(found, job);
  job->text_stages.insert(TextStage::kLinks);
  return absl::OkStatus();
}

}  // namespace trivium
