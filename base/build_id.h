#ifndef TRIVIUM_BASE_BUILD_ID_H_
#define TRIVIUM_BASE_BUILD_ID_H_

#include <string>

namespace trivium {

// Returns the build ID that the linker gave this program or library, in
// hexadecimal digits. It differs for every program whose code differs. If the
// linker gave none, returns the size and time of the program's or library's
// file.
std::string BuildId();

}  // namespace trivium

#endif  // TRIVIUM_BASE_BUILD_ID_H_
