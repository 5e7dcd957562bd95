#ifndef TRIVIUM_CLIENT_PAGES_PAGES_H_
#define TRIVIUM_CLIENT_PAGES_PAGES_H_

#include <string>

#include "nlohmann/json.hpp"

namespace trivium {

// The parts of a page that is one file: it loads nothing.
struct PageFiles {
  const char* html;  // with {{style}}, {{data}} and {{script}}
  const char* style;
  const char* script;
};
extern const PageFiles kAttentionPage;
extern const PageFiles kBeamsPage;
extern const PageFiles kLoadPage;

// The page with its script's data. Strings of `data` may hold anything: bytes
// that are not UTF-8 become U+FFFD, and none ends the element they are in.
std::string MakePage(const PageFiles& files, const nlohmann::json& data);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_PAGES_PAGES_H_
