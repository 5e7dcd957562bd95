#include "server/translation/markup_words.h"

#include <unicode/brkiter.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

#include <algorithm>
#include <memory>

#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/markup.h"

namespace trivium {
namespace {

WordKind KindOf(std::string_view text) {
  if (text == Markup::kObject) return WordKind::kObject;
  while (!text.empty()) {
    if (u_isalnum(FirstCharacter(text))) return WordKind::kWord;
    text.remove_prefix(FirstCodePoint(text).size);
  }
  return WordKind::kPunctuation;
}

}  // namespace

std::vector<Word> WordsOf(std::string_view text,
                          const std::vector<size_t>& cuts,
                          const std::vector<TextSpan>& whole) {
  static const icu::BreakIterator* const prototype = [] {
    UErrorCode error = U_ZERO_ERROR;
    return icu::BreakIterator::createWordInstance(icu::Locale::getRoot(),
                                                  error);
  }();
  std::vector<size_t> borders;
  UErrorCode error = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> iterator(
      prototype == nullptr ? nullptr : prototype->clone());
  UText* const utext = utext_openUTF8(
      nullptr, text.data(), static_cast<int64_t>(text.size()), &error);
  if (iterator != nullptr) iterator->setText(utext, error);
  if (iterator != nullptr && U_SUCCESS(error)) {
    for (int32_t at = iterator->next(); at != icu::BreakIterator::DONE;
         at = iterator->next()) {
      borders.push_back(static_cast<size_t>(at));
    }
  }
  utext_close(utext);
  borders.push_back(text.size());
  const auto is_within = [&whole](size_t at) {
    const auto next =
        std::partition_point(whole.begin(), whole.end(),
                             [at](TextSpan span) { return span.end <= at; });
    return next != whole.end() && next->begin < at;
  };
  borders.erase(std::remove_if(borders.begin(), borders.end(), is_within),
                borders.end());
  for (const TextSpan& span : whole) {
    borders.push_back(span.begin);
    borders.push_back(span.end);
  }
  borders.insert(borders.end(), cuts.begin(), cuts.end());
  std::sort(borders.begin(), borders.end());
  std::vector<Word> words;
  size_t begin = 0;
  for (const size_t border : borders) {
    const TextSpan span = WithoutWhiteSpace(text, {begin, border});
    if (span.begin < span.end) words.push_back({span, KindOf(span.Of(text))});
    begin = std::max(begin, border);
  }
  return words;
}

}  // namespace trivium
