#include "server/documents/entities.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "base/utf8.h"
#include "server/translation/markup_pieces.h"

namespace trivium {
namespace {

// Longer than any name, and than any number of a character.
constexpr size_t kMostEntityBytes = 34;

char32_t XmlEntity(std::string_view name) {
  if (name == "lt") return '<';
  if (name == "gt") return '>';
  if (name == "amp") return '&';
  if (name == "quot") return '"';
  return name == "apos" ? '\'' : 0;
}

// 0: it is no number of a character.
char32_t Number(std::string_view digits) {
  const bool hex = digits.starts_with('x') || digits.starts_with('X');
  if (hex) digits.remove_prefix(1);
  char32_t value = 0;
  for (const char c : digits) {
    if (hex ? !absl::ascii_isxdigit(c) : !absl::ascii_isdigit(c)) return 0;
    const int digit =
        absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
    value = value * (hex ? 16 : 10) + static_cast<char32_t>(digit);
    if (value > 0x10FFFF) return 0;
  }
  return value >= 0xD800 && value < 0xE000 ? 0 : value;
}

}  // namespace

Entity FirstEntity(std::string_view text, EntityNames names) {
  if (!text.starts_with('&')) return {};
  size_t end = 1;
  while (end < text.size() && end < kMostEntityBytes &&
         (absl::ascii_isalnum(text[end]) || (end == 1 && text[end] == '#'))) {
    ++end;
  }
  const bool ended = end < text.size() && text[end] == ';';
  const std::string_view name = text.substr(1, end - 1);
  if (name.starts_with('#')) {
    const char32_t value = Number(name.substr(1));
    if (value == 0 || (!ended && names == EntityNames::kXml)) return {};
    return {end + (ended ? 1 : 0), value};
  }
  if (name.empty()) return {};
  char32_t value = XmlEntity(name);
  if (value == 0 && names == EntityNames::kHtml) value = NamedEntity(name);
  if (!ended) {
    // HTML lets those of Latin-1 stand without a semicolon.
    const bool old = names == EntityNames::kHtml && value != 0 &&
                     value != '\'' && value <= 0xFF;
    return old ? Entity{end, value} : Entity{};
  }
  return {end + 1, value, value != 0};
}

std::string DecodeEntities(std::string_view raw, EntityNames names) {
  std::string out;
  while (!raw.empty()) {
    const size_t plain = std::min(raw.find('&'), raw.size());
    out += raw.substr(0, plain);
    raw.remove_prefix(plain);
    if (raw.empty()) break;
    const Entity entity = FirstEntity(raw, names);
    if (entity.size > 0 && entity.known) {
      AppendUtf8(entity.value, &out);
      raw.remove_prefix(entity.size);
    } else {
      out += '&';
      raw.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace trivium
