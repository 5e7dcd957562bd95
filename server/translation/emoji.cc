#include "server/translation/emoji.h"

#include <unicode/uchar.h>

#include "base/utf8.h"
#include "server/translation/characters.h"

namespace trivium {
namespace {

constexpr UChar32 kTextSelector = 0xFE0E;
constexpr UChar32 kEmojiSelector = 0xFE0F;
constexpr UChar32 kKeycap = 0x20E3;
constexpr UChar32 kJoiner = 0x200D;
constexpr UChar32 kCancelTag = 0xE007F;

bool Is(UChar32 c, UProperty property) {
  return u_hasBinaryProperty(c, property) != 0;
}

bool IsTag(UChar32 c) { return c >= 0xE0020 && c < kCancelTag; }

// Reads code points from the beginning of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  // Returns the next code point, or 0 at the end.
  UChar32 Next() const {
    return at_ < text_.size() ? FirstCharacter(text_.substr(at_)) : 0;
  }
  void Skip() { at_ += FirstCodePoint(text_.substr(at_)).size; }
  bool SkipIf(UChar32 c) {
    if (Next() != c) return false;
    Skip();
    return true;
  }

 private:
  const std::string_view text_;
  size_t at_ = 0;
};

// Reads an emoji without joiners. Returns false if there is none; what was read
// does not matter then. `joined`: it follows a joiner, so it needs no selector.
bool ReadOne(Reader* reader, bool joined) {
  const UChar32 c = reader->Next();
  if (c == 0) return false;
  reader->Skip();
  if (Is(c, UCHAR_REGIONAL_INDICATOR)) {
    if (!Is(reader->Next(), UCHAR_REGIONAL_INDICATOR)) return false;
    reader->Skip();
    return true;
  }
  if ((c >= '0' && c <= '9') || c == '#' || c == '*') {
    reader->SkipIf(kEmojiSelector);
    return reader->SkipIf(kKeycap);
  }
  if (!Is(c, UCHAR_EMOJI)) return false;
  bool shown = joined || Is(c, UCHAR_EMOJI_PRESENTATION);
  if (reader->SkipIf(kEmojiSelector)) {
    shown = true;
    reader->SkipIf(kKeycap);
  } else if (Is(reader->Next(), UCHAR_EMOJI_MODIFIER)) {
    shown = true;
    reader->Skip();
    reader->SkipIf(kEmojiSelector);
  } else if (reader->Next() == kTextSelector) {
    return false;
  }
  // The tags of a flag such as Scotland's.
  if (shown && IsTag(reader->Next())) {
    while (IsTag(reader->Next())) reader->Skip();
    reader->SkipIf(kCancelTag);
  }
  return shown;
}

}  // namespace

size_t EmojiSize(std::string_view text) {
  if (text.empty()) return 0;
  // A character in ASCII begins no emoji but a keycap.
  const UChar32 first = FirstCharacter(text);
  if (first < 0xA9 && !(first >= '0' && first <= '9') && first != '#' &&
      first != '*') {
    return 0;
  }
  // The icons of a font.
  if (u_charType(first) == U_PRIVATE_USE_CHAR) return FirstCodePoint(text).size;
  Reader reader(text);
  // A pictograph that needs a selector needs none if another is joined to it.
  const bool joins = [&] {
    Reader ahead(text);
    ahead.Skip();
    return ahead.Next() == kJoiner && Is(first, UCHAR_EXTENDED_PICTOGRAPHIC);
  }();
  if (!ReadOne(&reader, joins)) return 0;
  size_t end = reader.at();
  while (reader.SkipIf(kJoiner) && ReadOne(&reader, /*joined=*/true)) {
    end = reader.at();
  }
  return end;
}

size_t EmojiRowSize(std::string_view text) {
  size_t size = 0;
  while (size < text.size()) {
    const size_t next = EmojiSize(text.substr(size));
    if (next == 0) break;
    size += next;
  }
  return size;
}

}  // namespace trivium
