#ifndef TRIVIUM_SERVER_TRANSLATION_NEGATION_CHECK_H_
#define TRIVIUM_SERVER_TRANSLATION_NEGATION_CHECK_H_

#include <optional>
#include <string_view>

namespace trivium {

// Finds translations that lost a negation of the source, or have one more. Of
// English and German only, by lists of words. Languages negate in many ways
// ("without", "unmöglich", "verhindern", "hardly"), so a text that may negate
// in any of these is no finding. docs/text-to-text.md says how often the check
// objects to people's translations. Time is linear in the texts.
//
//   const auto check = NegationCheck::For("en", "de");
//   check->Differs("I do not like him.", "Ich mag ihn.")   // true
class NegationCheck {
 public:
  // The languages are BCP 47, or such as "deu_Latn". Returns nullopt unless one
  // is English and the other German.
  static std::optional<NegationCheck> For(std::string_view source_language,
                                          std::string_view target_language);

  // True if one text surely negates, and the other surely does not.
  bool Differs(std::string_view source, std::string_view translation) const;

 private:
  explicit NegationCheck(bool from_english) : from_english_(from_english) {}

  bool from_english_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_NEGATION_CHECK_H_
