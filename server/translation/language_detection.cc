#include "server/translation/language_detection.h"

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#include <unicode/locid.h>

#include "base/utf8.h"

namespace trivium {
namespace {

// Only so many bytes of a text are read: far more than CLD2 needs.
constexpr size_t kMostBytes = 16 << 10;
constexpr int kTop = 3;
constexpr int kSureOnly = 0;

// Returns the BCP 47 tag; empty if CLD2 names only a script.
std::string Tag(CLD2::Language language) {
  if (language == CLD2::UNKNOWN_LANGUAGE) return "";
  const std::string code = CLD2::LanguageCode(language);
  if (code.starts_with("xx") || code == "un") return "";
  UErrorCode error = U_ZERO_ERROR;
  std::string tag = icu::Locale::createCanonical(code.c_str())
                        .toLanguageTag<std::string>(error);
  return U_FAILURE(error) ? "" : tag;
}

std::vector<LanguageGuess> Ask(std::string_view text, int flags) {
  // CLD2 leaves these unchanged if it reads nothing.
  CLD2::Language languages[kTop] = {
      CLD2::UNKNOWN_LANGUAGE, CLD2::UNKNOWN_LANGUAGE, CLD2::UNKNOWN_LANGUAGE};
  int percents[kTop] = {}, bytes = 0, valid = 0;
  double scores[kTop] = {};
  bool reliable = false;
  const CLD2::CLDHints hints = {nullptr, nullptr, CLD2::UNKNOWN_ENCODING,
                                CLD2::UNKNOWN_LANGUAGE};
  CLD2::ExtDetectLanguageSummaryCheckUTF8(
      text.data(), static_cast<int>(text.size()), /*is_plain_text=*/true,
      &hints, flags, languages, percents, scores, nullptr, &bytes, &reliable,
      &valid);
  std::vector<LanguageGuess> guesses;
  for (int i = 0; i < kTop; ++i) {
    std::string tag = Tag(languages[i]);
    if (tag.empty()) continue;
    guesses.push_back(
        {std::move(tag), percents[i], reliable && flags == kSureOnly});
  }
  return guesses;
}

}  // namespace

std::vector<LanguageGuess> DetectLanguages(std::string_view text) {
  if (text.size() > kMostBytes) {
    size_t end = kMostBytes;
    while (end > 0 && IsContinuation(text[end])) --end;
    text = text.substr(0, end);
  }
  std::vector<LanguageGuess> sure = Ask(text, kSureOnly);
  return sure.empty() ? Ask(text, CLD2::kCLDFlagBestEffort) : sure;
}

}  // namespace trivium
