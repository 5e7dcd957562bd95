#include "server/adapters/language_name.h"

#include <unicode/locid.h>

namespace trivium {

std::string LanguageName(const std::string& code) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Locale locale = icu::Locale::forLanguageTag(code, error);
  if (U_FAILURE(error)) return code;
  icu::UnicodeString name;
  locale.getDisplayName(icu::Locale::getEnglish(), name);
  std::string text;
  name.toUTF8String(text);
  return text;
}

}  // namespace trivium
