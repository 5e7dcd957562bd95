#ifndef TRIVIUM_SERVER_DOCUMENTS_ENTITIES_H_
#define TRIVIUM_SERVER_DOCUMENTS_ENTITIES_H_

#include <string>
#include <string_view>

namespace trivium {

// Writes &, < and > as entities.
std::string EscapeMarkup(std::string_view text);
// The reverse. Other entities stay.
std::string UnescapeMarkup(std::string_view text);

// Replaces XML's five entities and the numbers of characters. Entities that a
// DTD declares stay.
std::string DecodeXml(std::string_view raw);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_ENTITIES_H_
