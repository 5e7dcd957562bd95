#include "server/translation/mnemonics.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "server/translation/characters.h"

namespace trivium {
namespace {

constexpr size_t kLongestLabel = 64;  // bytes
constexpr std::string_view kMarks = "&_";

UChar32 Before(std::string_view text, size_t at) {
  if (at == 0) return ' ';
  return FirstCharacter(
      text.substr(at - LastCharacterSize(text.substr(0, at))));
}

// Returns the end of the letters from `at` on.
size_t EndOfLetters(std::string_view text, size_t at) {
  while (at < text.size() && u_isalpha(FirstCharacter(text.substr(at)))) {
    at += FirstCodePoint(text.substr(at)).size;
  }
  return at;
}

size_t BeginOfLetters(std::string_view text, size_t at) {
  while (at > 0 && u_isalpha(Before(text, at))) {
    at -= LastCharacterSize(text.substr(0, at));
  }
  return at;
}

// True for a sentence, which is no label.
bool IsSentence(std::string_view text) {
  return text.find_first_of("\r\n") != text.npos ||
         (text.find_last_of(".!") == text.size() - 1 &&
          !text.ends_with("...") && !text.ends_with("…"));
}

}  // namespace

std::optional<size_t> FindMnemonic(std::string_view label,
                                   const IsCommonWord& is_common) {
  if (label.size() < 2 || label.size() > kLongestLabel) return std::nullopt;
  const size_t at = label.find_first_of(kMarks);
  if (at == label.npos || at != label.find_last_of(kMarks) ||
      IsSentence(label)) {
    return std::nullopt;
  }
  const size_t end = EndOfLetters(label, at + 1);
  // An entity ends with ';'.
  if (end == at + 1 || label.substr(end).starts_with(';')) return std::nullopt;
  const size_t begin = BeginOfLetters(label, at);
  if (begin == at) {
    return u_isUWhiteSpace(Before(label, at)) ? std::optional(at)
                                              : std::nullopt;
  }
  // "E&xit" may have several pieces.
  constexpr size_t kLeastRest = 3;
  const std::string_view rest = label.substr(at + 1, end - at - 1);
  if (at == begin + 1 && u_isupper(FirstCharacter(label.substr(begin))) &&
      rest.size() >= kLeastRest &&
      std::all_of(rest.begin(), rest.end(), absl::ascii_islower)) {
    return at;
  }
  std::string word(label.substr(begin, at - begin));
  word += rest;
  return is_common(word) ? std::optional(at) : std::nullopt;
}

TextEdit MnemonicEdit(std::string_view mnemonic, std::string_view translation) {
  const std::string mark(mnemonic.substr(0, 1));
  const UChar32 letter = u_tolower(FirstCharacter(mnemonic.substr(1)));
  std::optional<size_t> first;
  for (size_t at = 0; at < translation.size();) {
    const UChar32 c = FirstCharacter(translation.substr(at));
    const bool cased = u_isupper(c) || u_islower(c);
    if (cased && u_tolower(c) == letter &&
        !u_isalnum(Before(translation, at))) {
      return {{at, at}, mark};
    }
    if (cased && !first) first = at;
    at += FirstCodePoint(translation.substr(at)).size;
  }
  if (first) return {{*first, *first}, mark};
  return {{translation.size(), translation.size()},
          "(" + mark + WithCapital(mnemonic.substr(1)) + ")"};
}

}  // namespace trivium
