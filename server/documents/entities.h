#ifndef TRIVIUM_SERVER_DOCUMENTS_ENTITIES_H_
#define TRIVIUM_SERVER_DOCUMENTS_ENTITIES_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace trivium {

// An entity or character number that a text begins with.
struct Entity {
  size_t size = 0;  // in bytes, with & and ;. 0: the text begins with none
  char32_t value = 0;
  bool known = true;  // false: a name of a DTD or of HTML 5, which stays
};
enum class EntityNames { kXml, kHtml };
Entity FirstEntity(std::string_view text, EntityNames names);

// Replaces entities and character numbers; unknown ones stay.
std::string DecodeEntities(std::string_view raw, EntityNames names);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_ENTITIES_H_
