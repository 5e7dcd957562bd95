#ifndef TRIVIUM_SERVER_ADAPTERS_LANGUAGE_NAME_H_
#define TRIVIUM_SERVER_ADAPTERS_LANGUAGE_NAME_H_

#include <string>

namespace trivium {

// Returns the English name of a BCP 47 code, which ICU knows; the code itself
// if ICU cannot read it.
std::string LanguageName(const std::string& code);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_LANGUAGE_NAME_H_
