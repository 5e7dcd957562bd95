#ifndef TRIVIUM_SERVER_ADAPTERS_FILE_ANSWER_H_
#define TRIVIUM_SERVER_ADAPTERS_FILE_ANSWER_H_

#include <string>

#include "server/adapters/codec.h"

namespace trivium {

// Makes a name that is the same in a path, in a header, and on any disk.
std::string PlainFileName(const std::string& name);

// The answer that is a file, with its name. It may be HTML that anybody has
// sent, so the headers make browsers save it instead of showing it as a page of
// this server.
HttpAnswer FileAnswer(const std::string& name, std::string data);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_FILE_ANSWER_H_
