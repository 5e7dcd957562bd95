#ifndef TRIVIUM_SERVER_UNKNOWN_VARIABLES_H_
#define TRIVIUM_SERVER_UNKNOWN_VARIABLES_H_

#include <string>
#include <vector>

namespace trivium {

// Finds the variables TRIVIUM_* in the environment ("NAME=value", like environ)
// that no program reads, such as those of removed options. Returns for each a
// sentence that names the nearest of `known`. Leaves out variables that
// Kubernetes sets for a service named trivium, and those of the clients.
std::vector<std::string> UnknownVariables(const std::vector<std::string>& known,
                                          const char* const* environment);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_UNKNOWN_VARIABLES_H_
