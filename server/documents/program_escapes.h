#ifndef TRIVIUM_SERVER_DOCUMENTS_PROGRAM_ESCAPES_H_
#define TRIVIUM_SERVER_DOCUMENTS_PROGRAM_ESCAPES_H_

#include <string>
#include <string_view>

namespace trivium {

// The backslash escapes of Java: \n, \t, \u00e4 (a UTF-16 unit) and the like. A
// backslash in front of anything else is left out. Half surrogates become
// U+FFFD.

// Replaces the escapes. `dropped`, if it is not 0, is left out unless it has a
// backslash.
std::string UnescapeProgram(std::string_view raw, char dropped = 0);

// Writes characters that are not ASCII as \u00E4.
std::string EscapeToAscii(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_PROGRAM_ESCAPES_H_
