#ifndef TRIVIUM_CLIENT_UTF8_H_
#define TRIVIUM_CLIENT_UTF8_H_

#include <string_view>

namespace trivium {

// Whether the bytes are well-formed UTF-8 (Unicode 15, table 3-7): what a
// proto3 string must be, or the server cannot parse the message.
bool IsUtf8(std::string_view bytes);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_UTF8_H_
