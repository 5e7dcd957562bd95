#ifndef TRIVIUM_SERVER_UNKNOWN_VARIABLES_H_
#define TRIVIUM_SERVER_UNKNOWN_VARIABLES_H_

#include <string>
#include <vector>

namespace trivium {

// Of the environment ("NAME=value", as environ has it), the variables TRIVIUM_*
// that nobody reads, such as that of an option that there was once: for each a
// sentence that names the nearest of `known`. Variables that Kubernetes sets
// for a service of the name trivium, and those of the clients, are left out.
std::vector<std::string> UnknownVariables(const std::vector<std::string>& known,
                                          const char* const* environment);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_UNKNOWN_VARIABLES_H_
