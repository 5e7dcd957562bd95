#ifndef TRIVIUM_SERVER_DOCUMENTS_HTML_ATTRIBUTES_H_
#define TRIVIUM_SERVER_DOCUMENTS_HTML_ATTRIBUTES_H_

#include <string>
#include <string_view>
#include <vector>

namespace trivium {

struct HtmlAttribute {
  std::string name;        // in lower case
  std::string_view value;  // without its quotes
  char quote = 0;          // 0: it has none
};

// The quoted attributes of a tag that people read: alt, title and the like, the
// labels of buttons, and a page's description. `element` is its name in lower
// case.
std::vector<HtmlAttribute> ReadAttributesOf(std::string_view element,
                                            std::string_view tag);

// A value as HTML text, which has no tags, and back.
std::string AttributeAsHtml(std::string_view value);
std::string HtmlAsAttribute(std::string_view text, char quote);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_HTML_ATTRIBUTES_H_
