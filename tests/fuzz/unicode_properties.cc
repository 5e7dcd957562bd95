// Prints, for compare_tokenizers, what this build's Unicode says of every code
// point that the tokenizers look at: one JSON object a line.

#include <iostream>
#include <string>

#include "model/tokenizer/normalized_text.h"
#include "model/tokenizer/unicode.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

std::string Normalized(const std::string& text, DecompositionKind kind,
                       bool compose) {
  NormalizedText normalized(text, 0);
  normalized.Normalize(kind, compose);
  return normalized.text();
}

void Print(char32_t c) {
  std::string text;
  AppendUtf8(c, &text);
  NormalizedText lower(text, 0);
  lower.LowerCase();
  const nlohmann::json properties = {
      {"code", static_cast<uint32_t>(c)},
      {"control", IsControl(c)},
      {"punctuation", IsPunctuation(c)},
      {"nonspacing", IsNonspacingMark(c)},
      {"mark", IsMark(c)},
      {"space", IsWhiteSpace(c)},
      {"letter", IsLetter(c)},
      {"number", IsNumber(c)},
      {"word", IsWordCharacter(c)},
      {"lower", lower.text()},
      {"nfd", Normalized(text, DecompositionKind::kCanonical, false)},
      {"nfkd", Normalized(text, DecompositionKind::kCompatible, false)},
      {"nfc", Normalized(text, DecompositionKind::kCanonical, true)},
      {"nfkc", Normalized(text, DecompositionKind::kCompatible, true)}};
  std::cout << properties.dump() << "\n";
}

}  // namespace
}  // namespace trivium

int main() {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c < 0xD800 || c > 0xDFFF) trivium::Print(c);
  }
}
