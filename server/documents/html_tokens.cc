#include "server/documents/html_tokens.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace trivium {
namespace {

bool IsHtmlSpace(char c) {
  return absl::ascii_isspace(static_cast<unsigned char>(c));
}

}  // namespace

bool HtmlScanner::Next(size_t at, HtmlToken* token) {
  while (tries_ > 0) {
    at = text_.find('<', at);
    if (at == npos) return false;
    if (ReadToken(at, token)) return true;
    ++at;
  }
  return false;
}

size_t HtmlScanner::NextOf(std::string_view wanted, size_t at, size_t* known) {
  // A place is never at `at`: what begins there is a '<' or is passed.
  if (*known <= at) *known = text_.find(wanted, at);
  return *known;
}

bool HtmlScanner::Take(size_t begin, size_t end, HtmlToken* token) const {
  token->begin = begin;
  token->raw = text_.substr(begin, end - begin);
  return true;
}

bool HtmlScanner::ReadToken(size_t at, HtmlToken* token) {
  token->name.clear();
  token->closes = false;
  const std::string_view rest = text_.substr(at);
  if (rest.starts_with("<!--")) {
    const size_t end = rest.find("-->", 4);
    return Take(at, end == npos ? text_.size() : at + end + 3, token);
  }
  if (rest.starts_with("<![CDATA[")) {
    const size_t end = NextOf("]]>", at + 9, &section_end_);
    if (end != npos) return Take(at, end + 3, token);
  }
  const size_t close = NextOf(">", at, &close_);
  if (close == npos) return false;
  if (rest.starts_with("<!") || rest.starts_with("<?")) {
    return Take(at, close + 1, token);
  }
  size_t end = at + 1;
  const bool closes = end < text_.size() && text_[end] == '/';
  if (closes) ++end;
  const size_t name = end;
  if (name == text_.size() || !absl::ascii_isalpha(text_[name])) return false;
  while (end < text_.size() && !IsHtmlSpace(text_[end]) && text_[end] != '/' &&
         text_[end] != '>') {
    ++end;
  }
  const size_t name_end = end;
  while (end < text_.size() && text_[end] != '>') {
    const char c = text_[end];
    if (c == '"' || c == '\'') {
      end = text_.find(c, end + 1);
      if (end == npos) break;
    }
    ++end;
  }
  if (end == npos || end >= text_.size()) {
    // Its quotes are not closed. It is a tag without a name.
    const size_t cost = text_.size() - at;
    tries_ = cost >= tries_ ? 0 : tries_ - cost;
    return Take(at, close + 1, token);
  }
  token->closes = closes;
  token->name =
      absl::AsciiStrToLower(std::string(text_.substr(name, name_end - name)));
  return Take(at, end + 1, token);
}

size_t HtmlScanner::EndOfRaw(const std::string& name, size_t at) const {
  for (; (at = text_.find("</", at)) != npos; at += 2) {
    const std::string_view rest = text_.substr(at + 2);
    if (rest.size() <= name.size() ||
        !absl::EqualsIgnoreCase({rest.data(), name.size()}, name)) {
      continue;
    }
    const char next = rest[name.size()];
    if (IsHtmlSpace(next) || next == '/' || next == '>') return at;
  }
  return text_.size();
}

std::string_view HtmlAttribute::bare() const {
  std::string_view out = value;
  const auto is_quote = [](char c) { return c == '"' || c == '\''; };
  while (!out.empty() && is_quote(out.front())) out.remove_prefix(1);
  while (!out.empty() && is_quote(out.back())) out.remove_suffix(1);
  return out;
}

std::vector<HtmlAttribute> AttributesOf(std::string_view tag) {
  constexpr std::string_view kNoName = "=/<>\"'";
  const auto is_name = [&](char c) {
    return !IsHtmlSpace(c) && kNoName.find(c) == kNoName.npos;
  };
  std::vector<HtmlAttribute> attributes;
  size_t at = 1;
  while (at < tag.size()) {
    const char c = tag[at];
    const char before = tag[at - 1];
    if (!is_name(c) ||
        !(IsHtmlSpace(before) || before == '"' || before == '\'')) {
      if (c == '"' || c == '\'') {  // a value without a name
        const size_t end = tag.find(c, at + 1);
        if (end != tag.npos) at = end;
      }
      ++at;
      continue;
    }
    const size_t name = at;
    while (at < tag.size() && is_name(tag[at])) ++at;
    const size_t name_end = at;
    while (at < tag.size() && IsHtmlSpace(tag[at])) ++at;
    if (at == tag.size() || tag[at] != '=') {
      at = std::max(name_end, name + 1);
      continue;
    }
    ++at;
    while (at < tag.size() && IsHtmlSpace(tag[at])) ++at;
    if (at == tag.size()) break;
    size_t end = at;
    if (tag[at] == '"' || tag[at] == '\'') {
      end = tag.find(tag[at], at + 1);
      if (end == tag.npos) break;
      ++end;
    } else {
      constexpr std::string_view kNoValue = "\"'=<>`";
      while (end < tag.size() && !IsHtmlSpace(tag[end]) &&
             kNoValue.find(tag[end]) == kNoValue.npos) {
        ++end;
      }
    }
    if (end > at) {
      attributes.push_back({absl::AsciiStrToLower(
                                std::string(tag.substr(name, name_end - name))),
                            tag.substr(at, end - at)});
    }
    at = std::max(end, at + 1);
  }
  return attributes;
}

}  // namespace trivium
