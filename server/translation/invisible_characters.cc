#include "server/translation/invisible_characters.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include "base/utf8.h"
#include "server/translation/characters.h"
#include "server/translation/emoji.h"

namespace trivium {
namespace {

enum class Need {
  kVisible,
  kNever,
  kJoining,
  kSpaceless,
  kRightToLeft,
  kEmoji
};

// Returns what an invisible character may be needed for.
Need NeedOf(UChar32 c) {
  switch (c) {
    case 0x00AD:  // soft hyphen
    case 0x034F:  // combining grapheme joiner
    case 0x180E:  // Mongolian vowel separator, once a space
    case 0x2060:  // word joiner
    case 0xFEFF:  // byte order mark
      return Need::kNever;
    case 0x200B:  // zero-width space
      return Need::kSpaceless;
    case 0x200C:  // zero-width non-joiner
    case 0x200D:  // zero-width joiner
      return Need::kJoining;
    case 0x061C:  // Arabic letter mark
    case 0x200E:  // left-to-right mark
    case 0x200F:  // right-to-left mark
      return Need::kRightToLeft;
  }
  if ((c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069)) {
    return Need::kRightToLeft;  // embeddings, overrides and isolates
  }
  if (c >= 0x2061 && c <= 0x2064) return Need::kNever;  // of mathematics
  if (c >= 0xFFF9 && c <= 0xFFFB) return Need::kNever;  // of annotations
  if ((c >= 0xFE00 && c <= 0xFE0F) || (c >= 0xE0000 && c <= 0xE007F)) {
    return Need::kEmoji;  // variation selectors and tags
  }
  return Need::kVisible;
}

UScriptCode ScriptOf(UChar32 c) {
  UErrorCode error = U_ZERO_ERROR;
  return uscript_getScript(c, &error);
}

bool IsOfJoiningScript(UChar32 c) {
  if (!u_isalpha(c) && (U_GET_GC_MASK(c) & U_GC_M_MASK) == 0) return false;
  switch (ScriptOf(c)) {
    case USCRIPT_LATIN:
    case USCRIPT_GREEK:
    case USCRIPT_CYRILLIC:
    case USCRIPT_ARMENIAN:
    case USCRIPT_GEORGIAN:
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_HANGUL:
    case USCRIPT_COMMON:
    case USCRIPT_INHERITED:
      return false;
    default:
      return true;
  }
}

bool IsOfSpacelessScript(UChar32 c) {
  switch (ScriptOf(c)) {
    case USCRIPT_THAI:
    case USCRIPT_LAO:
    case USCRIPT_KHMER:
    case USCRIPT_MYANMAR:
    case USCRIPT_TIBETAN:
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
      return true;
    default:
      return false;
  }
}

bool IsRightToLeft(UChar32 c) {
  const UCharDirection direction = u_charDirection(c);
  return direction == U_RIGHT_TO_LEFT || direction == U_RIGHT_TO_LEFT_ARABIC;
}

// True if a character beside an invisible one needs it.
bool Needs(UChar32 beside, Need need) {
  switch (need) {
    case Need::kJoining:
      return IsOfJoiningScript(beside);
    case Need::kSpaceless:
      return IsOfSpacelessScript(beside);
    case Need::kRightToLeft:
      return IsRightToLeft(beside);
    case Need::kVisible:
    case Need::kNever:
    case Need::kEmoji:
      break;
  }
  return false;
}

// Returns the visible character before `at`, or 0. Looks back a few characters.
UChar32 VisibleBefore(std::string_view text, size_t at) {
  constexpr int kMostInvisible = 8;
  for (int i = 0; i < kMostInvisible && at > 0; ++i) {
    at -= LastCharacterSize(text.substr(0, at));
    const UChar32 c = FirstCharacter(text.substr(at));
    if (NeedOf(c) == Need::kVisible) return c;
  }
  return 0;
}

UChar32 VisibleAfter(std::string_view text, size_t at) {
  constexpr int kMostInvisible = 8;
  for (int i = 0; i < kMostInvisible && at < text.size(); ++i) {
    const UChar32 c = FirstCharacter(text.substr(at));
    if (NeedOf(c) == Need::kVisible) return c;
    at += FirstCodePoint(text.substr(at)).size;
  }
  return 0;
}

// Appends a span, joined with the last one if they touch.
void Append(TextSpan span, std::vector<TextSpan>* spans) {
  if (!spans->empty() && spans->back().end == span.begin) {
    spans->back().end = span.end;
  } else {
    spans->push_back(span);
  }
}

}  // namespace

std::vector<TextSpan> NeedlessInvisibleCharacters(std::string_view text) {
  std::vector<TextSpan> found;
  for (size_t at = 0; at < text.size();) {
    // Invisible characters have lead bytes from 0xC2 on.
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      // A keycap begins with an ASCII character.
      const size_t emoji = at + 1 < text.size() && static_cast<unsigned char>(
                                                       text[at + 1]) >= 0x80
                               ? EmojiSize(text.substr(at))
                               : 0;
      at += emoji > 0 ? emoji : 1;
      continue;
    }
    if (const size_t emoji = EmojiSize(text.substr(at)); emoji > 0) {
      at += emoji;
      continue;
    }
    const CodePoint c = FirstCodePoint(text.substr(at));
    const size_t end = at + c.size;
    const Need need = NeedOf(static_cast<UChar32>(c.value));
    if (need != Need::kVisible && !Needs(VisibleBefore(text, at), need) &&
        !Needs(VisibleAfter(text, end), need)) {
      Append({at, end}, &found);
    }
    at = end;
  }
  return found;
}

std::vector<TextSpan> UnusualSpaces(std::string_view text) {
  std::vector<TextSpan> found;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = FirstCodePoint(text.substr(at));
    const auto value = static_cast<UChar32>(c.value);
    if (value >= ' ' && value < 0x7F) {
      ++at;
      continue;
    }
    const bool space =
        c.value >= 0x80 && u_charType(value) == U_SPACE_SEPARATOR;
    const bool control =
        u_charType(value) == U_CONTROL_CHAR && !u_isUWhiteSpace(value);
    if (space || control) found.push_back({at, at + c.size});
    at += c.size;
  }
  return found;
}

std::vector<TextSpan> UnusualHyphens(std::string_view text) {
  std::vector<TextSpan> found;
  constexpr std::string_view kHyphen = "\u2010", kNonBreaking = "\u2011";
  constexpr std::string_view kFirstBytes = "\xE2\x80";  // of both
  for (size_t at = text.find(kFirstBytes); at != text.npos;
       at = text.find(kFirstBytes, at + kFirstBytes.size())) {
    const std::string_view there = text.substr(at, kHyphen.size());
    if (there == kHyphen || there == kNonBreaking) {
      found.push_back({at, at + there.size()});
    }
  }
  return found;
}

std::vector<TextSpan> CapitalSharpS(std::string_view text) {
  constexpr std::string_view kLetter = "\u1E9E";
  std::vector<TextSpan> found;
  for (size_t at = text.find(kLetter); at != text.npos;
       at = text.find(kLetter, at + kLetter.size())) {
    found.push_back({at, at + kLetter.size()});
  }
  return found;
}

}  // namespace trivium
