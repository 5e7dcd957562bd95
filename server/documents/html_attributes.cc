#include "server/documents/html_attributes.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"

namespace trivium {
namespace {

constexpr std::array<std::string_view, 5> kRead = {
    "alt", "aria-description", "aria-label", "placeholder", "title"};
constexpr std::array<std::string_view, 4> kReadMeta = {
    "description", "keywords", "og:description", "og:title"};
constexpr std::array<std::string_view, 3> kButtons = {"button", "reset",
                                                      "submit"};

template <size_t n>
bool Has(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsHtmlSpace(char c) {
  return absl::ascii_isspace(static_cast<unsigned char>(c));
}
bool EndsName(char c) {
  return IsHtmlSpace(c) || c == '=' || c == '/' || c == '>';
}

// The attributes of a tag that have a value, as HTML's tokenizer reads them.
std::vector<HtmlAttribute> AttributesOf(std::string_view tag) {
  std::vector<HtmlAttribute> attributes;
  size_t at = 1;
  const auto skip_space = [&] {
    while (at < tag.size() && IsHtmlSpace(tag[at])) ++at;
  };
  while (at < tag.size() && !EndsName(tag[at])) ++at;  // the element's name
  while (at < tag.size() && tag[at] != '>') {
    if (IsHtmlSpace(tag[at]) || tag[at] == '/') {
      ++at;
      continue;
    }
    const size_t name = at++;  // may be a '='
    while (at < tag.size() && !EndsName(tag[at])) ++at;
    HtmlAttribute one;
    one.name = absl::AsciiStrToLower(std::string(tag.substr(name, at - name)));
    skip_space();
    if (at == tag.size() || tag[at] != '=') continue;
    ++at;
    skip_space();
    if (at == tag.size()) break;
    if (tag[at] == '"' || tag[at] == '\'') {
      one.quote = tag[at++];
      const size_t end = tag.find(one.quote, at);
      if (end == tag.npos) break;
      one.value = tag.substr(at, end - at);
      at = end + 1;
    } else {
      const size_t begin = at;
      while (at < tag.size() && !IsHtmlSpace(tag[at]) && tag[at] != '>') ++at;
      one.value = tag.substr(begin, at - begin);
    }
    attributes.push_back(std::move(one));
  }
  return attributes;
}

}  // namespace

std::vector<HtmlAttribute> ReadAttributesOf(std::string_view element,
                                            std::string_view tag) {
  const std::vector<HtmlAttribute> all = AttributesOf(tag);
  std::map<std::string, std::string> values;
  for (const HtmlAttribute& one : all) {
    values.emplace(one.name, absl::AsciiStrToLower(std::string(one.value)));
  }
  const bool meta = element == "meta" && (Has(kReadMeta, values["name"]) ||
                                          Has(kReadMeta, values["property"]));
  const bool button = element == "input" && Has(kButtons, values["type"]);
  std::vector<HtmlAttribute> read;
  for (const HtmlAttribute& one : all) {
    if (one.quote != 0 &&
        (Has(kRead, one.name) || (meta && one.name == "content") ||
         (button && one.name == "value"))) {
      read.push_back(one);
    }
  }
  return read;
}

std::string AttributeAsHtml(std::string_view value) {
  return absl::StrReplaceAll({value.data(), value.size()},
                             {{"<", "&lt;"}, {">", "&gt;"}});
}

std::string HtmlAsAttribute(std::string_view text, char quote) {
  return absl::StrReplaceAll(
      {text.data(), text.size()},
      {{quote == '"' ? "\"" : "'", quote == '"' ? "&quot;" : "&#39;"}});
}

}  // namespace trivium
