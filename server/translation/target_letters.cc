#include "server/translation/target_letters.h"

#include <unicode/ulocdata.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "server/translation/language_code.h"

namespace trivium {
namespace {

// Latin-script languages that write foreign names without endings of their own.
constexpr std::string_view kKeepNames[] = {"af", "ca", "da", "de", "en",
                                           "es", "fr", "gl", "it", "nb",
                                           "nl", "nn", "no", "pt", "sv"};

std::optional<icu::UnicodeSet> LettersOf(const std::string& code) {
  UErrorCode error = U_ZERO_ERROR;
  ULocaleData* const data = ulocdata_open(code.c_str(), &error);
  if (U_FAILURE(error)) return std::nullopt;
  icu::UnicodeSet letters;
  ulocdata_getExemplarSet(data, letters.toUSet(), USET_ADD_CASE_MAPPINGS,
                          ULOCDATA_ES_STANDARD, &error);
  ulocdata_close(data);
  if (U_FAILURE(error) || letters.isEmpty()) return std::nullopt;
  letters.removeAllStrings();
  return letters;
}

bool KeepsNames(std::string_view code) {
  return std::find(std::begin(kKeepNames), std::end(kKeepNames), code) !=
         std::end(kKeepNames);
}

}  // namespace

std::shared_ptr<const TargetLetters> TargetLetters::Of(
    std::string_view source, std::string_view target) {
  const std::string from = LanguageCode(source), to = LanguageCode(target);
  if (from.empty() || !KeepsNames(to)) return nullptr;
  const std::optional<icu::UnicodeSet> read = LettersOf(from);
  std::optional<icu::UnicodeSet> written = LettersOf(to);
  if (!read || !written) return nullptr;
  // A text in another script writes foreign names in its own letters.
  if (!read->contains('a')) return nullptr;
  written->removeAll(*read);
  if (written->isEmpty()) return nullptr;
  return std::shared_ptr<const TargetLetters>(
      new TargetLetters(*std::move(written)));
}

}  // namespace trivium
