#include "model/tokenizer/unicode.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utext.h>

#include <memory>

namespace trivium {
namespace {

UChar32 Icu(char32_t c) { return static_cast<UChar32>(c); }

bool HasCategory(char32_t c, uint32_t mask) {
  return (U_MASK(u_charType(Icu(c))) & mask) != 0;
}

const UNormalizer2* IcuNormalizer(DecompositionKind kind) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* normalizer = kind == DecompositionKind::kCanonical
                                       ? unorm2_getNFCInstance(&status)
                                       : unorm2_getNFKCInstance(&status);
  return U_SUCCESS(status) ? normalizer : nullptr;
}

}  // namespace

char32_t NextCharacter(std::string_view text, size_t* at) {
  const CodePoint first = FirstCodePoint(text.substr(*at));
  *at += first.size;
  return first.value;
}

std::vector<int> CharacterOfByte(std::string_view text) {
  std::vector<int> characters(text.size() + 1);
  int count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    const size_t end = at + FirstCodePoint(text.substr(at)).size;
    for (; at < end; ++at) characters[at] = count;
  }
  characters[text.size()] = count;
  return characters;
}

bool IsWhiteSpace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  return u_isUWhiteSpace(Icu(c));
}

// Like Python's definition of str.isspace.
bool IsPythonSpace(char32_t c) {
  const UCharDirection direction = u_charDirection(Icu(c));
  return HasCategory(c, U_GC_ZS_MASK) || direction == U_WHITE_SPACE_NEUTRAL ||
         direction == U_BLOCK_SEPARATOR || direction == U_SEGMENT_SEPARATOR;
}

bool IsPunctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  }
  return HasCategory(c, U_GC_P_MASK);
}

bool IsControl(char32_t c) {
  if (c < 0x80) return c < ' ' || c == 0x7F;
  return HasCategory(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK);
}

bool IsNonspacingMark(char32_t c) {
  return c >= 0x300 && HasCategory(c, U_GC_MN_MASK);
}

bool IsMark(char32_t c) { return c >= 0x300 && HasCategory(c, U_GC_M_MASK); }

bool IsLetter(char32_t c) {
  if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
  return HasCategory(c, U_GC_L_MASK);
}

bool IsNumber(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return HasCategory(c, U_GC_N_MASK);
}

bool IsWordCharacter(char32_t c) {
  return HasCategory(c, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) ||
         u_hasBinaryProperty(Icu(c), UCHAR_ALPHABETIC) ||
         u_hasBinaryProperty(Icu(c), UCHAR_JOIN_CONTROL);
}

bool IsChineseCharacter(char32_t c) {
  // BERT's own list. Like the reference's, its fifth block begins at 2B920, not
  // at 2B820.
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void AppendLowerCase(char32_t c, std::u32string* out) {
  // The only character whose lower case is always two characters.
  if (c == 0x130) {
    out->append({U'i', 0x307});
  } else {
    out->push_back(static_cast<char32_t>(u_tolower(Icu(c))));
  }
}

void AppendDecomposition(char32_t c, DecompositionKind kind,
                         std::u32string* out) {
  if (c < 0xA0) {
    out->push_back(c);
    return;
  }
  UErrorCode status = U_ZERO_ERROR;
  UChar units[32];
  const UNormalizer2* normalizer = IcuNormalizer(kind);
  const int32_t size =
      normalizer == nullptr
          ? -1
          : unorm2_getDecomposition(normalizer, Icu(c), units, 32, &status);
  if (size < 0 || U_FAILURE(status)) {
    out->push_back(c);
    return;
  }
  for (int32_t at = 0; at < size;) {
    UChar32 next;
    U16_NEXT(units, at, size, next);
    out->push_back(static_cast<char32_t>(next));
  }
}

int CombiningClass(char32_t c) {
  return c < 0x300 ? 0 : u_getCombiningClass(Icu(c));
}

char32_t ComposePair(char32_t first, char32_t second) {
  const UNormalizer2* normalizer = IcuNormalizer(DecompositionKind::kCanonical);
  const UChar32 composed =
      normalizer == nullptr
          ? U_SENTINEL
          : unorm2_composePair(normalizer, Icu(first), Icu(second));
  return composed < 0 ? 0 : static_cast<char32_t>(composed);
}

std::vector<size_t> GraphemeEnds(std::string_view text) {
  std::vector<size_t> ends;
  UErrorCode status = U_ZERO_ERROR;
  // Creating an iterator reads rules; cloning one is cheap and leaves it
  // unchanged.
  static const icu::BreakIterator* const kIterator = [] {
    UErrorCode created = U_ZERO_ERROR;
    return icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(),
                                                       created);
  }();
  UText* utext = utext_openUTF8(nullptr, text.data(),
                                static_cast<int64_t>(text.size()), &status);
  if (kIterator != nullptr && U_SUCCESS(status)) {
    const std::unique_ptr<icu::BreakIterator> iterator(kIterator->clone());
    iterator->setText(utext, status);
    if (U_SUCCESS(status)) {
      iterator->first();
      for (int32_t end = iterator->next(); end != icu::BreakIterator::DONE;
           end = iterator->next()) {
        ends.push_back(static_cast<size_t>(end));
      }
    }
  }
  utext_close(utext);
  if (ends.empty() || ends.back() < text.size()) ends.push_back(text.size());
  return ends;
}

}  // namespace trivium
