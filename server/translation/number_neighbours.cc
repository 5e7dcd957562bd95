// A number of the source and one of the translation belong together if their
// values are equal; each is used once, from left to right. A sign directly
// before a digit belongs to the number behind it, as in "20 £30". In doubt a
// currency stands beside a number.
#include "server/translation/number_neighbours.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "server/translation/characters.h"

namespace trivium {
namespace {

// A currency by its sign, its code and the beginnings of its names. A part that
// it lacks is empty.
struct Currency {
  std::string_view sign, code;
  std::array<std::string_view, 2> names;
};
constexpr Currency kCurrencies[] = {
    {"$", "USD", {"dollar", ""}},     {"€", "EUR", {"euro", ""}},
    {"£", "GBP", {"pound", "pfund"}}, {"¥", "JPY", {"yen", ""}},
    {"¢", "", {"cent", ""}},          {"", "CHF", {"franken", "franc"}},
};
constexpr std::string_view kSpaces[] = {" ", "\u00A0", "\u202F"};
// Words that may stand between a number and its currency.
constexpr std::string_view kMultipliers[] = {
    "Millionen", "Milliarden", "Million",  "Milliarde", "million",
    "billion",   "trillion",   "thousand", "Tausend",   "tausend",
    "Mio.",      "Mrd.",       "Tsd.",     "bn",        "mn",
    "k",         "m",          "M",        "K",         "B"};

bool HasDigitAt(std::string_view text, size_t at) {
  return at < text.size() &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[at]));
}

bool IsLetterAt(std::string_view text, size_t at) {
  return at < text.size() && u_isalpha(FirstCharacter(text.substr(at)));
}

bool HasLetterBefore(std::string_view text, size_t at) {
  return at > 0 && IsLetterAt(text, at - LastCharacterSize(text.substr(0, at)));
}

size_t SpaceAt(std::string_view text, size_t at) {
  for (const std::string_view space : kSpaces) {
    if (text.substr(std::min(at, text.size())).starts_with(space)) {
      return space.size();
    }
  }
  return 0;
}

size_t SpaceBefore(std::string_view text, size_t at) {
  for (const std::string_view space : kSpaces) {
    if (text.substr(0, at).ends_with(space)) return space.size();
  }
  return 0;
}

// Returns the end of the currency that begins at `at`, or nullopt.
std::optional<size_t> EndOfCurrency(std::string_view text, size_t at,
                                    const Currency& currency) {
  const std::string_view rest = text.substr(std::min(at, text.size()));
  if (!currency.sign.empty() && rest.starts_with(currency.sign)) {
    return at + currency.sign.size();
  }
  if (!currency.code.empty() && rest.starts_with(currency.code) &&
      !HasLetterBefore(text, at) &&
      !IsLetterAt(text, at + currency.code.size())) {
    return at + currency.code.size();
  }
  return std::nullopt;
}

bool HasNameAt(std::string_view text, size_t at, const Currency& currency) {
  std::string_view rest = text.substr(std::min(at, text.size()));
  for (const std::string_view land : {"US-", "US "}) {
    if (rest.starts_with(land)) rest.remove_prefix(land.size());
  }
  return std::any_of(
      currency.names.begin(), currency.names.end(),
      [rest](std::string_view name) {
        return !name.empty() && rest.size() >= name.size() &&
               std::equal(
                   name.begin(), name.end(), rest.begin(), [](char a, char b) {
                     return a ==
                            absl::ascii_tolower(static_cast<unsigned char>(b));
                   });
      });
}

// Returns the place behind a number and a multiplier such as "million".
size_t BehindMultiplier(std::string_view text, size_t end) {
  const size_t begin = end + SpaceAt(text, end);
  for (const std::string_view one : kMultipliers) {
    if (text.substr(begin).starts_with(one) &&
        (one.ends_with('.') || !IsLetterAt(text, begin + one.size()))) {
      return begin + one.size();
    }
  }
  return end;
}

// Returns where the sign or code behind a number ends, or nullopt.
std::optional<size_t> EndOfSignBehind(std::string_view text, size_t end,
                                      const Currency& currency) {
  const auto sign = EndOfCurrency(text, end + SpaceAt(text, end), currency);
  // It is the next number's.
  if (sign && (HasDigitAt(text, *sign) ||
               (SpaceAt(text, *sign) > 0 && currency.sign.empty() &&
                HasDigitAt(text, *sign + SpaceAt(text, *sign))))) {
    return std::nullopt;
  }
  return sign;
}

// Returns where the sign or code before a number begins, or nullopt.
std::optional<size_t> BeginOfSignBefore(std::string_view text, size_t begin,
                                        const Currency& currency) {
  const size_t end = begin - SpaceBefore(text, begin);
  for (const std::string_view one : {currency.sign, currency.code}) {
    if (one.empty() || !text.substr(0, end).ends_with(one)) continue;
    const size_t at = end - one.size();
    if (EndOfCurrency(text, at, currency) == end) return at;
  }
  return std::nullopt;
}

bool IsBeside(std::string_view text, TextSpan number,
              const Currency& currency) {
  if (BeginOfSignBefore(text, number.begin, currency)) return true;
  for (size_t end : {number.end, BehindMultiplier(text, number.end)}) {
    if (EndOfSignBehind(text, end, currency)) return true;
    if (const size_t space = SpaceAt(text, end); space > 0) {
      end += space;
    } else if (end < text.size() && text[end] == '-') {
      ++end;
    }
    if (HasNameAt(text, end, currency)) return true;
  }
  return false;
}

// Returns how often a text names a currency.
size_t CountOf(std::string_view text, const Currency& currency) {
  size_t count = 0;
  for (size_t at = 0; at < text.size();) {
    if (const auto end = EndOfCurrency(text, at, currency)) {
      ++count;
      at = *end;
      continue;
    }
    if (!HasLetterBefore(text, at) && HasNameAt(text, at, currency)) ++count;
    at += FirstCodePoint(text.substr(at)).size;
  }
  return count;
}

// Returns the currency whose sign or code is beside the number. Names are words
// of the sentence, and "pounds" may weigh something.
const Currency* SignedCurrency(std::string_view text,
                               const WrittenNumber& number) {
  if (!number.is_value() || number.roman || number.time) return nullptr;
  const TextSpan span = number.span;
  for (const Currency& one : kCurrencies) {
    if (BeginOfSignBefore(text, span.begin, one) ||
        EndOfSignBehind(text, span.end, one) ||
        EndOfSignBehind(text, BehindMultiplier(text, span.end), one)) {
      return &one;
    }
  }
  return nullptr;
}

bool HasAnyCurrency(std::string_view text, TextSpan number) {
  return std::any_of(
      std::begin(kCurrencies), std::end(kCurrencies),
      [&](const Currency& one) { return IsBeside(text, number, one); });
}

// A number of the source and the same one of the translation, as indices.
struct NumberPair {
  size_t source, translation;
};

std::vector<NumberPair> PairsOf(const NumberedText& source,
                                const NumberedText& translation) {
  std::vector<NumberPair> pairs;
  std::vector<bool> used(translation.numbers.size());
  for (size_t i = 0; i < source.numbers.size(); ++i) {
    const WrittenNumber& one = source.numbers[i];
    for (size_t j = 0; j < used.size() && one.is_value(); ++j) {
      const WrittenNumber& other = translation.numbers[j];
      if (used[j] || one.roman != other.roman || one.value != other.value) {
        continue;
      }
      used[j] = true;
      pairs.push_back({i, j});
      break;
    }
  }
  return pairs;
}

// Returns the bytes of an English ordinal's mark at `at`, or 0.
size_t OrdinalMarkAt(std::string_view text, size_t at) {
  for (const std::string_view mark : {"st", "nd", "rd", "th"}) {
    if (text.substr(std::min(at, text.size())).starts_with(mark) &&
        !IsLetterAt(text, at + mark.size())) {
      return mark.size();
    }
  }
  return 0;
}

// "22nd" is "22.", and the model may write "22.d", "22nster" or "22". `only`:
// each text has the number once.
std::optional<TextEdit> GermanOrdinal(std::string_view text, size_t end,
                                      bool only) {
  size_t mark = OrdinalMarkAt(text, end);
  if (mark == 0 && text.substr(end).starts_with(".")) {
    mark = OrdinalMarkAt(text, end + 1);
    if (mark == 0 && text.substr(end).starts_with(".d") &&
        !IsLetterAt(text, end + 2)) {
      mark = 1;
    }
    if (mark > 0) ++mark;
  }
  if (mark == 0 && !only) return std::nullopt;
  if (mark == 0) {
    const auto is_small = [&](size_t at) {
      return at < text.size() && absl::ascii_islower(text[at]);
    };
    size_t letters = end;
    while (is_small(letters)) ++letters;
    const bool well = text.substr(end).starts_with("te");  // "22te"
    if (letters > end && !well && !IsLetterAt(text, letters)) {
      return TextEdit{{end, letters}, "."};
    }
    const bool goes_on =
        end + 1 < text.size() &&
        (text[end] == ',' || (text[end] == ' ' && IsLetterAt(text, end + 1)));
    if (!goes_on) return std::nullopt;
    return TextEdit{{end, end}, "."};
  }
  // The full stop of the sentence suffices.
  const bool stop = text.substr(end + mark).starts_with(".");
  return TextEdit{{end, end + mark}, stop ? "" : "."};
}

const char* EnglishMark(std::string_view value) {
  const char last = value.back();
  const bool teen = value.size() > 1 && value[value.size() - 2] == '1';
  return teen || last > '3' || last == '0' ? "th"
         : last == '1'                     ? "st"
         : last == '2'                     ? "nd"
                                           : "rd";
}

std::optional<TextEdit> EnglishOrdinal(std::string_view text,
                                       const WrittenNumber& number) {
  const size_t mark = OrdinalMarkAt(text, number.span.end);
  if (mark == 0 || number.value.find('.') != number.value.npos) {
    return std::nullopt;
  }
  const char* const right = EnglishMark(number.value);
  const TextSpan span = {number.span.end, number.span.end + mark};
  if (span.Of(text) == right) return std::nullopt;
  return TextEdit{span, right};
}

// True if letters follow on the full stop at `at`: it ends no sentence.
bool IsStopWithin(std::string_view text, size_t at) {
  return at + 1 < text.size() && text[at] == '.' && text[at + 1] == ' ' &&
         IsLetterAt(text, at + 2);
}

// True if the text at `at` joins two ordinals: "18./19.", "1.-3.".
bool JoinsOrdinals(std::string_view text, size_t at) {
  for (const std::string_view joint : {"/", "-", "–"}) {
    if (text.substr(std::min(at, text.size())).starts_with(joint)) return true;
  }
  return false;
}

// "18./19." is "18th/19th", and the model may write "18,/19.". A number at the
// begin, "1. Introduction", is that of a list.
std::optional<TextEdit> OrdinalOfGerman(std::string_view source,
                                        const WrittenNumber& read,
                                        std::string_view text,
                                        const WrittenNumber& written) {
  const size_t there = read.span.end, here = written.span.end;
  if (read.runs.size() != 1 || written.runs.size() != 1 ||
      there >= source.size() || source[there] != '.' || here >= text.size()) {
    return std::nullopt;
  }
  const std::string_view behind = source.substr(there + 1);
  const bool within = IsStopWithin(source, there) && read.span.begin > 0;
  bool ordinal = false;
  if (text[here] == '.' || text[here] == ',') {
    ordinal = JoinsOrdinals(source, there + 1) && JoinsOrdinals(text, here + 1);
  }
  if (text[here] == '.') {
    ordinal = ordinal || (within && IsStopWithin(text, here)) ||
              (behind.starts_with(",") && text.substr(here).starts_with(".,"));
  } else if (text[here] == ',') {
    ordinal = ordinal || (within && (text.substr(here).starts_with(", and ") ||
                                     text.substr(here).starts_with(", or ")));
  }
  if (!ordinal) return std::nullopt;
  return TextEdit{{here, here + 1}, EnglishMark(written.value)};
}

// True if a word's small letters touch the number: "auf999".
bool FollowsLetters(std::string_view text, size_t begin) {
  constexpr size_t kLeast = 2;
  size_t letters = 0;
  while (letters < kLeast && letters < begin &&
         absl::ascii_islower(
             static_cast<unsigned char>(text[begin - letters - 1]))) {
    ++letters;
  }
  return letters == kLeast;
}

// An edit that gives a number its currency.
TextEdit CurrencyEdit(std::string_view text, TextSpan number,
                      const Currency& currency, bool english) {
  const std::string sign(currency.sign.empty() ? currency.code : currency.sign);
  const bool behind = !english || currency.code.empty();
  if (!behind) {
    return {{number.begin, number.begin},
            currency.sign.empty() ? sign + " " : sign};
  }
  const size_t end = BehindMultiplier(text, number.end);
  return {{end, end}, english ? sign : " " + sign};
}

// True if the sign, which ends with a space before a number, is that of the
// number before it: "5 $ 10".
bool IsOfNumberBefore(std::string_view text, TextSpan sign) {
  const size_t end = sign.begin - SpaceBefore(text, sign.begin);
  return SpaceBefore(text, sign.end) > 0 && end > 0 &&
         HasDigitAt(text, end - 1);
}

// Returns the edit that writes "bn" behind a number, which German does not
// have, as "Mrd.".
std::optional<TextEdit> MultiplierEdit(std::string_view text, size_t end,
                                       bool amount) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"bn", "Mrd."}, {"tn", "Bio."}, {"mn", "Mio."}, {"m", "Mio."}};
  const size_t begin = end + SpaceAt(text, end);
  for (const auto& [english, german] : kWords) {
    if (!text.substr(begin).starts_with(english) ||
        IsLetterAt(text, begin + english.size())) {
      continue;
    }
    // Without a currency it may be metres.
    if (english == "m" && !amount) return std::nullopt;
    const size_t behind = begin + english.size();
    std::string word = " " + std::string(german);
    if (text.substr(behind).starts_with(".")) word.pop_back();
    return TextEdit{{end, behind}, std::move(word)};
  }
  return std::nullopt;
}

// Returns edits that move the sign of an amount to where the language has it:
// "$5 million", "5 Millionen $". No sign stands beside the currency's name.
std::vector<TextEdit> SignEdits(std::string_view text, TextSpan number,
                                bool english) {
  for (const Currency& one : kCurrencies) {
    if (one.sign.empty() || one.code.empty()) continue;
    const std::string sign(one.sign);
    const auto begin = BeginOfSignBefore(text, number.begin, one);
    const auto end = EndOfSignBehind(text, number.end, one);
    const bool behind = end && text.substr(0, *end).ends_with(sign);
    if (english) {
      if (!behind) continue;
      return {{{number.begin, number.begin}, sign}, {{number.end, *end}}};
    }
    const size_t amount = behind ? *end : number.end;
    const size_t multiplier = BehindMultiplier(text, amount);
    TextSpan old = {number.end, amount};  // the sign, where it is wrong
    if (begin && text.substr(*begin).starts_with(sign) &&
        !HasLetterBefore(text, *begin) &&
        !IsOfNumberBefore(text, {*begin, number.begin})) {
      old = {*begin, number.begin};
    } else if (!behind || multiplier == amount) {
      continue;
    }
    if (HasNameAt(text, multiplier + SpaceAt(text, multiplier), one)) {
      return {{old}};
    }
    return {{old}, {{multiplier, multiplier}, " " + sign}};
  }
  return {};
}

// True if this number and the next are a range or list with one currency.
bool SharesCurrency(const NumberedText& text, size_t index,
                    const Currency& currency) {
  if (index + 1 >= text.numbers.size()) return false;
  const TextSpan next = text.numbers[index + 1].span;
  const TextSpan gap = {text.numbers[index].span.end, next.begin};
  constexpr std::string_view kJoints[] = {"-",     "–",      " - ",  " – ",
                                          "/",     " bis ",  " to ", " und ",
                                          " and ", " oder ", " or "};
  return std::find(std::begin(kJoints), std::end(kJoints), gap.Of(text.text)) !=
             std::end(kJoints) &&
         IsBeside(text.text, next, currency);
}

bool HasCurrency(const NumberedText& text, size_t index,
                 const Currency& currency) {
  const TextSpan number = text.numbers[index].span;
  return IsBeside(text.text, number, currency) ||
         (!HasAnyCurrency(text.text, number) &&
          SharesCurrency(text, index, currency));
}

}  // namespace

std::vector<TextEdit> NeighbourEdits(const NumberedText& source,
                                     std::string_view source_language,
                                     const NumberedText& translation,
                                     std::string_view target_language) {
  std::vector<TextEdit> edits;
  const bool german = target_language == "de",
             english = target_language == "en";
  if (!german && !english) return edits;
  for (const NumberPair& pair : PairsOf(source, translation)) {
    const WrittenNumber& read = source.numbers[pair.source];
    const WrittenNumber& written = translation.numbers[pair.translation];
    const std::string_view text = translation.text;
    if (read.roman) {
      if (english && source_language == "de" &&
          IsStopWithin(source.text, read.span.end) &&
          IsStopWithin(text, written.span.end)) {
        edits.push_back({{written.span.end, written.span.end + 1}});
      }
      continue;
    }
    if (FollowsLetters(text, written.span.begin) &&
        !HasLetterBefore(source.text, read.span.begin)) {
      edits.push_back({{written.span.begin, written.span.begin}, " "});
    }
    const auto count = [&read](const NumberedText& one) {
      return std::count_if(
          one.numbers.begin(), one.numbers.end(),
          [&read](const auto& number) { return number.value == read.value; });
    };
    const auto only = [&] {
      return count(source) == 1 && count(translation) == 1;
    };
    std::optional<TextEdit> ordinal;
    if (english) {
      ordinal = EnglishOrdinal(text, written);
      if (!ordinal && source_language == "de") {
        ordinal = OrdinalOfGerman(source.text, read, text, written);
        if (ordinal && !only()) ordinal.reset();
      }
    } else if (OrdinalMarkAt(source.text, read.span.end) > 0) {
      ordinal = GermanOrdinal(text, written.span.end, only());
    }
    if (ordinal) {
      edits.push_back(*std::move(ordinal));
      continue;
    }
    const Currency* const currency = SignedCurrency(source.text, read);
    if (german && source_language == "en" &&
        MultiplierEdit(source.text, read.span.end, currency != nullptr)) {
      if (auto word =
              MultiplierEdit(text, written.span.end, currency != nullptr)) {
        edits.push_back(*std::move(word));
      }
    }
    if (currency == nullptr) continue;
    if (std::vector<TextEdit> moved = SignEdits(text, written.span, english);
        !moved.empty()) {
      edits.insert(edits.end(), moved.begin(), moved.end());
      continue;
    }
    if (HasAnyCurrency(text, written.span) ||
        HasCurrency(translation, pair.translation, *currency) ||
        CountOf(text, *currency) >= CountOf(source.text, *currency)) {
      continue;
    }
    edits.push_back(CurrencyEdit(text, written.span, *currency, english));
  }
  std::stable_sort(edits.begin(), edits.end(),
                   [](const TextEdit& a, const TextEdit& b) {
                     return std::pair(a.span.begin, a.span.end) <
                            std::pair(b.span.begin, b.span.end);
                   });
  return edits;
}

std::vector<size_t> WithoutCurrency(const NumberedText& source,
                                    const NumberedText& translation) {
  std::vector<size_t> found;
  for (const NumberPair& pair : PairsOf(source, translation)) {
    const Currency* const currency =
        SignedCurrency(source.text, source.numbers[pair.source]);
    if (currency == nullptr) continue;
    const auto multiplied = [](const NumberedText& text, size_t index) {
      size_t end = text.numbers[index].span.end;
      if (text.text.substr(end).starts_with("-")) ++end;
      return BehindMultiplier(text.text, end) > end;
    };
    if (!HasCurrency(translation, pair.translation, *currency) ||
        (multiplied(source, pair.source) &&
         !multiplied(translation, pair.translation))) {
      found.push_back(pair.source);
    }
  }
  return found;
}

TextSpan WithSigns(std::string_view text, TextSpan number) {
  const auto is_sign = [&](size_t at) {
    const UChar32 c = FirstCharacter(text.substr(at));
    return u_charType(c) == U_CURRENCY_SYMBOL || c == '%' || c == 0x2030;
  };
  TextSpan span = number;
  while (span.begin > 0) {
    const size_t size = LastCharacterSize(text.substr(0, span.begin));
    if (!is_sign(span.begin - size)) break;
    span.begin -= size;
  }
  while (span.end < text.size() && is_sign(span.end)) {
    span.end += FirstCodePoint(text.substr(span.end)).size;
  }
  if (span.begin != number.begin) {
    // "$5k" is an amount as a whole.
    const size_t end = BehindMultiplier(text, number.end);
    if (span.end == number.end && SpaceAt(text, number.end) == 0)
      span.end = end;
    return span;
  }
  if (span.end != number.end) return span;
  for (const Currency& one : kCurrencies) {
    if (const auto begin = BeginOfSignBefore(text, span.begin, one)) {
      return {*begin, span.end};
    }
    if (const auto end = EndOfSignBehind(text, span.end, one)) {
      return {span.begin, *end};
    }
  }
  return span;
}

std::string WithSignInPlace(std::string amount, std::string_view language) {
  for (const Currency& one : kCurrencies) {
    if (one.sign.empty() || one.code.empty()) continue;
    if (language == "de" && amount.starts_with(one.sign)) {
      std::string number = amount.substr(one.sign.size());
      number.erase(0, SpaceAt(number, 0));
      return number + " " + std::string(one.sign);
    }
    if (language == "en" && amount.ends_with(one.sign)) {
      amount.resize(amount.size() - one.sign.size());
      amount.resize(amount.size() - SpaceBefore(amount, amount.size()));
      return std::string(one.sign) + amount;
    }
  }
  return amount;
}

}  // namespace trivium
