#include "model/chat_format/text_units.h"

#include <algorithm>

namespace trivium {

namespace {

bool IsWordByte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool IsUpperCase(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || c == '_' || c == '/' || c == ' ';
  });
}

size_t UnitSize(std::string_view text) {
  if (text[0] == '<') {
    const size_t end = text.find_first_of("<>\n", 1);
    if (end != std::string_view::npos && text[end] == '>') return end + 1;
  }
  if (text[0] == '[') {
    const size_t end = text.find(']');
    if (end != std::string_view::npos && end > 1 &&
        IsUpperCase(text.substr(1, end - 1))) {
      return end + 1;
    }
  }
  size_t size = 0;
  while (size < text.size() && IsWordByte(text[size])) ++size;
  return std::max<size_t>(size, 1);
}

}  // namespace

std::vector<std::string_view> TextUnits(std::string_view text) {
  std::vector<std::string_view> units;
  while (!text.empty()) {
    units.push_back(text.substr(0, UnitSize(text)));
    text.remove_prefix(units.back().size());
  }
  return units;
}

std::string_view CommonStart(std::string_view a, std::string_view b) {
  const auto left = TextUnits(a), right = TextUnits(b);
  size_t size = 0;
  for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
    if (left[i] != right[i]) break;
    size += left[i].size();
  }
  return a.substr(0, size);
}

std::string_view CommonEnd(std::string_view a, std::string_view b) {
  const auto left = TextUnits(a), right = TextUnits(b);
  size_t size = 0;
  for (size_t i = 1; i <= left.size() && i <= right.size(); ++i) {
    const std::string_view unit = left[left.size() - i];
    if (unit != right[right.size() - i]) break;
    size += unit.size();
  }
  return a.substr(a.size() - size);
}

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

std::string_view TrimStart(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view TrimEnd(std::string_view text) {
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view Trim(std::string_view text) {
  return TrimStart(TrimEnd(text));
}

size_t PartialMark(std::string_view text, std::string_view mark) {
  for (size_t size = std::min(text.size(), mark.size()); size > 0; --size) {
    if (mark.starts_with(text.substr(text.size() - size))) return size;
  }
  return 0;
}

std::string ClosingTag(std::string_view tag) {
  if (tag.size() < 3) return "";
  const char open = tag.front(), close = tag.back();
  if (!(open == '<' && close == '>') && !(open == '[' && close == ']')) {
    return "";
  }
  for (const char c : tag.substr(1, tag.size() - 2)) {
    if (!IsWordByte(c) && c != ':' && c != '-') return "";
  }
  std::string closing(tag);
  closing.insert(1, "/");
  return closing;
}

}  // namespace trivium
