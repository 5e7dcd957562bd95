// Letter case like Python's: Unicode's full mappings, character by character.
// One rule depends on the context: a capital sigma at the end of a word becomes
// the final sigma (Unicode 3.13, Final_Sigma).
#include <unicode/uchar.h>
#include <unicode/ustring.h>

#include <string_view>

#include "model/jinja/text.h"

namespace trivium::jinja {

namespace {

constexpr char32_t kCapitalSigma = 0x03A3;
constexpr char32_t kSigma = 0x03C3;
constexpr char32_t kFinalSigma = 0x03C2;

enum class Case { kUpper, kLower, kTitle };

void AppendMapped(char32_t character, Case to, Text* result) {
  const char32_t mark = character & kFromData;
  const char32_t code = CodeOf(character);
  if (code < 0x80) {
    const char32_t mapped = to == Case::kLower
                                ? u_tolower(static_cast<UChar32>(code))
                                : u_toupper(static_cast<UChar32>(code));
    result->push_back(mapped | mark);
    return;
  }
  UChar source[2];
  int32_t source_size = 0;
  UErrorCode error = U_ZERO_ERROR;
  const auto one = static_cast<UChar32>(code);
  u_strFromUTF32(source, 2, &source_size, &one, 1, &error);
  if (to == Case::kTitle && u_totitle(one) != one) {
    result->push_back(static_cast<char32_t>(u_totitle(one)) | mark);
    return;
  }
  UChar mapped[16];
  const int32_t size =
      to == Case::kLower
          ? u_strToLower(mapped, 16, source, source_size, "", &error)
          : u_strToUpper(mapped, 16, source, source_size, "", &error);
  UChar32 codes[16];
  int32_t count = 0;
  u_strToUTF32(codes, 16, &count, mapped, size, &error);
  if (U_FAILURE(error)) {  // impossible: no code point maps to so many
    result->push_back(character);
    return;
  }
  for (int32_t i = 0; i < count; ++i) {
    // In a ligature only the first letter is upper case: "Ss", "Fi".
    const UChar32 mapped_code =
        to == Case::kTitle && i > 0 ? u_tolower(codes[i]) : codes[i];
    result->push_back(static_cast<char32_t>(mapped_code) | mark);
  }
}

bool HasCase(char32_t code) {
  return u_hasBinaryProperty(static_cast<UChar32>(code), UCHAR_CASED);
}
bool IgnoresCase(char32_t code) {
  return u_hasBinaryProperty(static_cast<UChar32>(code), UCHAR_CASE_IGNORABLE);
}

bool IsFinalSigma(TextView text, size_t at) {
  size_t before = at;
  while (before > 0 && IgnoresCase(CodeOf(text[before - 1]))) --before;
  if (before == 0 || !HasCase(CodeOf(text[before - 1]))) return false;
  size_t after = at + 1;
  while (after < text.size() && IgnoresCase(CodeOf(text[after]))) ++after;
  return after == text.size() || !HasCase(CodeOf(text[after]));
}

void AppendLower(TextView text, size_t at, Text* result) {
  if (CodeOf(text[at]) == kCapitalSigma) {
    result->push_back((IsFinalSigma(text, at) ? kFinalSigma : kSigma) |
                      (text[at] & kFromData));
  } else {
    AppendMapped(text[at], Case::kLower, result);
  }
}

bool BeginsWord(char32_t before) {
  constexpr std::u32string_view kMarks = U"-({[<";
  return IsSpace(before) || kMarks.find(CodeOf(before)) != kMarks.npos;
}

}  // namespace

Text Upper(TextView text) {
  Text result;
  result.reserve(text.size());
  for (const char32_t c : text) AppendMapped(c, Case::kUpper, &result);
  return result;
}

Text Lower(TextView text) {
  Text result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) AppendLower(text, i, &result);
  return result;
}

Text Capitalize(TextView text) {
  Text result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == 0) {
      AppendMapped(text[i], Case::kTitle, &result);
    } else {
      AppendLower(text, i, &result);
    }
  }
  return result;
}

Text Title(TextView text) {
  Text result;
  bool inside = false;  // after a letter
  for (size_t i = 0; i < text.size(); ++i) {
    if (inside) {
      AppendLower(text, i, &result);
    } else {
      AppendMapped(text[i], Case::kTitle, &result);
    }
    inside = HasCase(CodeOf(text[i]));
  }
  return result;
}

Text TitleWords(TextView text) {
  Text result;
  size_t word = 0;  // beginning of the word
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == 0 || BeginsWord(text[i]) || BeginsWord(text[i - 1])) word = i;
    if (i == word) {
      AppendMapped(text[i], Case::kUpper, &result);
    } else {
      size_t end = i;
      while (end < text.size() && !BeginsWord(text[end])) ++end;
      const TextView rest = text.substr(word, end - word);
      for (; i < end; ++i) AppendLower(rest, i - word, &result);
      --i;
    }
  }
  return result;
}

}  // namespace trivium::jinja
