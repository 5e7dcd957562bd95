#ifndef TRIVIUM_SERVER_TRANSLATION_LANGUAGE_CODE_H_
#define TRIVIUM_SERVER_TRANSLATION_LANGUAGE_CODE_H_

#include <unicode/locid.h>

#include <string>
#include <string_view>

namespace trivium {

// Returns ICU's code of a language without script and region: "en" for "en-US"
// and "eng_Latn". Empty if `language` is.
inline std::string LanguageCode(std::string_view language) {
  return icu::Locale(std::string(language).c_str()).getLanguage();
}

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_LANGUAGE_CODE_H_
