#include "server/documents/entities.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "absl/strings/str_replace.h"
#include "base/utf8.h"

namespace trivium {
namespace {

// The character that `name` stands for, such as "lt" or "#xE9"; 0: none.
char32_t XmlEntity(std::string_view name) {
  if (name == "lt") return '<';
  if (name == "gt") return '>';
  if (name == "amp") return '&';
  if (name == "quot") return '"';
  if (name == "apos") return '\'';
  if (!name.starts_with('#')) return 0;
  name.remove_prefix(1);
  const bool hex = name.starts_with('x');
  if (hex) name.remove_prefix(1);
  const char* const end = name.data() + name.size();
  uint32_t value = 0;
  const auto read = std::from_chars(name.data(), end, value, hex ? 16 : 10);
  const bool good = read.ec == std::errc() && read.ptr == end &&
                    value <= 0x10FFFF && (value < 0xD800 || value >= 0xE000);
  return good ? value : 0;
}

}  // namespace

std::string EscapeMarkup(std::string_view text) {
  return absl::StrReplaceAll({text.data(), text.size()},
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

std::string UnescapeMarkup(std::string_view text) {
  return absl::StrReplaceAll({text.data(), text.size()},
                             {{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}});
}

std::string DecodeXml(std::string_view raw) {
  std::string out;
  while (!raw.empty()) {
    const size_t plain = std::min(raw.find('&'), raw.size());
    out += raw.substr(0, plain);
    raw.remove_prefix(plain);
    if (raw.empty()) break;
    const size_t end = raw.find_first_of(";&", 1);
    const bool ended = end != raw.npos && raw[end] == ';';
    const char32_t value = ended ? XmlEntity(raw.substr(1, end - 1)) : 0;
    if (value == 0) {
      out += '&';
      raw.remove_prefix(1);
    } else {
      AppendUtf8(value, &out);
      raw.remove_prefix(end + 1);
    }
  }
  return out;
}

}  // namespace trivium
