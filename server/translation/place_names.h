#ifndef TRIVIUM_SERVER_TRANSLATION_PLACE_NAMES_H_
#define TRIVIUM_SERVER_TRANSLATION_PLACE_NAMES_H_

#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"

namespace trivium {

// Names of countries and large cities in a language, as far as ICU has them.
// Only those of one word. Immutable.
class PlaceNames {
 public:
  // `code`: ICU's code of a language, "en". Kept until the program ends.
  static const PlaceNames& Of(const std::string& code);

  // `word`: in small letters.
  bool Has(std::string_view word) const {
    return names_.contains(std::string(word));
  }

 private:
  explicit PlaceNames(const std::string& code);

  absl::flat_hash_set<std::string> names_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PLACE_NAMES_H_
