#include "server/translation/cut_words.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "server/translation/characters.h"

namespace trivium {

namespace {

// Returns the number of digits at a place.
size_t DigitsAt(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
  return end - at;
}

}  // namespace

TextSpan WordAround(std::string_view text, size_t at) {
  constexpr size_t kMostBytes = 100;  // on each side
  TextSpan word = {at, at};
  while (word.begin > 0 && at - word.begin < kMostBytes) {
    const size_t size = LastCharacterSize(text.substr(0, word.begin));
    if (!u_isalnum(FirstCharacter(text.substr(word.begin - size)))) break;
    word.begin -= size;
  }
  while (word.end < text.size() && word.end - at < kMostBytes &&
         u_isalnum(FirstCharacter(text.substr(word.end)))) {
    word.end += FirstCodePoint(text.substr(word.end)).size;
  }
  return word.begin < at && at < word.end ? word : TextSpan{at, at};
}

size_t OnlyWord(std::string_view text, std::string_view word) {
  size_t only = text.npos;
  for (size_t at = text.find(word); at != text.npos;
       at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (at > 0 && u_isalnum(FirstCharacter(text.substr(
                      at - LastCharacterSize(text.substr(0, at)))))) {
      continue;
    }
    if (end < text.size() && u_isalnum(FirstCharacter(text.substr(end)))) {
      continue;
    }
    if (only != text.npos) return text.npos;
    only = at;
  }
  return only;
}

TextSpan OrdinalOf(std::string_view translation, std::string_view word) {
  constexpr size_t kMostEnding = 3;  // letters
  const size_t digits = DigitsAt(word, 0);
  const std::string_view ending = word.substr(digits);
  if (digits == 0 || ending.empty() || ending.size() > kMostEnding ||
      !std::all_of(ending.begin(), ending.end(), absl::ascii_isalpha)) {
    return {0, 0};
  }
  const std::string_view number = word.substr(0, digits);
  TextSpan found = {0, 0};
  for (size_t at = translation.find(number); at != translation.npos;
       at = translation.find(number, at + 1)) {
    if (at > 0 && (u_isalnum(FirstCharacter(translation.substr(
                       at - LastCharacterSize(translation.substr(0, at))))) ||
                   std::string_view(".,").find(translation[at - 1]) !=
                       std::string_view::npos)) {
      continue;
    }
    const size_t begin = at + digits;
    size_t end = begin;
    while (end < translation.size() && absl::ascii_isalpha(translation[end])) {
      ++end;
    }
    if (end == begin && translation.substr(begin).starts_with('.')) ++end;
    if (end == begin || end - begin > kMostEnding ||
        DigitsAt(translation, end) > 0) {
      continue;
    }
    if (found.begin < found.end) return {0, 0};
    found = {at, end};
  }
  return found;
}

std::vector<size_t> AlignPartsOfWords(std::string_view text, TextSpan sentence,
                                      const std::vector<size_t>& places,
                                      std::string_view translation,
                                      std::vector<AlignedWords>* words) {
  constexpr float kCertain = AlignedWords::kCertain;
  std::vector<size_t> cuts;
  std::vector<AlignedWords> parts;
  for (size_t i = 0; i < places.size(); ++i) {
    const TextSpan word = WordAround(text, places[i]);
    if (word.begin < sentence.begin || word.end > sentence.end ||
        word.begin == word.end) {
      continue;
    }
    const size_t found = OnlyWord(translation, word.Of(text));
    const size_t ending = word.begin + DigitsAt(word.Of(text), 0);
    const TextSpan ordinal = found == translation.npos && places[i] == ending
                                 ? OrdinalOf(translation, word.Of(text))
                                 : TextSpan();
    if (ordinal.begin < ordinal.end) {
      const size_t cut = ordinal.begin + (ending - word.begin);
      parts.push_back(
          {{ordinal.begin, cut}, {word.begin, ending}, kCertain, false});
      parts.push_back(
          {{cut, ordinal.end}, {ending, word.end}, kCertain, false});
      cuts.push_back(cut);
    }
    size_t begin = word.begin;
    for (; i < places.size() && places[i] <= word.end; ++i) {
      const size_t at = places[i];
      if (found == translation.npos || at == begin) continue;
      const size_t move = found - word.begin;
      parts.push_back(
          {{begin + move, at + move}, {begin, at}, kCertain, false});
      if (at < word.end) cuts.push_back(at + move);
      begin = at;
    }
    --i;
    if (found == translation.npos || begin == word.end) continue;
    const size_t move = found - word.begin;
    parts.push_back(
        {{begin + move, word.end + move}, {begin, word.end}, kCertain, false});
  }
  if (parts.empty()) return cuts;
  words->insert(words->end(), parts.begin(), parts.end());
  std::stable_sort(words->begin(), words->end(),
                   [](const AlignedWords& a, const AlignedWords& b) {
                     return a.target.begin < b.target.begin;
                   });
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

}  // namespace trivium
