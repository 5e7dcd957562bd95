#ifndef TRIVIUM_SERVER_ADAPTERS_TEXT_DOCUMENTS_H_
#define TRIVIUM_SERVER_ADAPTERS_TEXT_DOCUMENTS_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "server/adapters/json_fields.h"

namespace trivium {

// Documents that clients attach to a message. Models here read texts, so a
// document must be one, and becomes a part of the message's text.

// Reads the member `name`, a file in base64, alone or as a data URL
// ("data:text/plain;base64,SGk="). Fails if the file is no text in UTF-8.
std::string ReadTextFile(const char* name, JsonFields* fields);

// Appends a document to a message's text: each of `parts` that is not empty,
// such as its title and its text, between blank lines.
void AppendDocument(std::initializer_list<std::string_view> parts,
                    std::string* text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_TEXT_DOCUMENTS_H_
