#include "base/html_page.h"

#include <string_view>
#include <utility>

namespace trivium {
namespace {

// Returns JSON that is safe in a script element: only ASCII, and no "<".
std::string ForScript(const nlohmann::json& data) {
  const std::string json = data.dump(-1, ' ', /*ensure_ascii=*/true,
                                     nlohmann::json::error_handler_t::replace);
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string MakePage(const PageFiles& files, const nlohmann::json& data) {
  const std::pair<std::string_view, std::string> parts[] = {
      {"{{style}}", files.style},
      {"{{data}}", ForScript(data)},
      {"{{script}}", files.script}};
  // In the order of the page, so that inserted text is not searched again.
  std::string_view rest = files.html;
  std::string page;
  for (const auto& [mark, part] : parts) {
    const size_t place = rest.find(mark);
    page += rest.substr(0, place);
    page += part;
    rest.remove_prefix(place + mark.size());
  }
  page += rest;
  return page;
}

}  // namespace trivium
