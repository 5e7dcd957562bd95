#ifndef TRIVIUM_BASE_HTML_PAGE_H_
#define TRIVIUM_BASE_HTML_PAGE_H_

#include <string>

#include "nlohmann/json.hpp"

namespace trivium {

// The parts of a self-contained page, which loads nothing.
struct PageFiles {
  const char* html;  // with {{style}}, {{data}} and {{script}}
  const char* style;
  const char* script;
};

// Returns the page with its script's data. Strings of `data` may hold any
// bytes: those that are not UTF-8 become U+FFFD, and none can end the script
// element.
std::string MakePage(const PageFiles& files, const nlohmann::json& data);

}  // namespace trivium

#endif  // TRIVIUM_BASE_HTML_PAGE_H_
