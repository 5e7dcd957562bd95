#ifndef TRIVIUM_SERVER_RPC_UTF8_H_
#define TRIVIUM_SERVER_RPC_UTF8_H_

#include <string_view>

namespace trivium {

// Whether `text` is well-formed UTF-8: no overlong forms, no surrogates, no
// code point over U+10FFFF (RFC 3629).
bool IsUtf8(std::string_view text);

// Whether `text` is empty or made of white space alone (Unicode's White_Space
// property), so that there is nothing to translate.
bool IsBlank(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_UTF8_H_
