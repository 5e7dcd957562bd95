#include "server/translation/pipeline/emoji_stage.h"

#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/utf8.h"
#include "server/translation/emoji.h"
#include "server/translation/pipeline/span_protection.h"
#include "server/translation/protected_spans.h"

namespace trivium {
namespace {

const ProtectedSpans& Emoticons() {
  static const ProtectedSpans* const emoticons = new ProtectedSpans(
      *ProtectedSpans::Create({ProtectedKind::kEmoticon}, {}));
  return *emoticons;
}

}  // namespace

absl::Status EmojiStage::Open(TranslationJob* job) const {
  if (!job->prefix.empty()) return absl::OkStatus();
  const std::string_view text = job->text.text;
  const auto is_ascii = [text](size_t at) {
    return static_cast<unsigned char>(text[at]) < 0x80;
  };
  std::vector<TextSpan> found;
  for (size_t at = 0; at < text.size();) {
    // Only the sign of a keycap is in ASCII, and what follows it is not.
    const bool may_begin =
        !is_ascii(at) || (at + 1 < text.size() && !is_ascii(at + 1));
    const size_t size = may_begin ? EmojiRowSize(text.substr(at)) : 0;
    if (size > 0) found.push_back({at, at + size});
    at += size > 0 ? size : FirstCodePoint(text.substr(at)).size;
  }
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<TextSpan> emoticons,
                           Emoticons().Find(text, check_alive_));
  if (found.empty() && emoticons.empty()) return absl::OkStatus();
  AddProtectedSpans(found, job);
  AddProtectedSpans(emoticons, job);
  job->text_stages.insert(TextStage::kEmoji);
  return absl::OkStatus();
}

}  // namespace trivium
