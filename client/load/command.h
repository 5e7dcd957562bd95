#ifndef TRIVIUM_CLIENT_LOAD_COMMAND_H_
#define TRIVIUM_CLIENT_LOAD_COMMAND_H_

#include <atomic>
#include <string>
#include <vector>

#include "client/commands/io.h"

namespace trivium {

// Runs the whole of `trivium-load`. `arguments` do not include its name. `stop`
// ends the run early, with a report of what was measured.
ExitCode RunTriviumLoad(const std::vector<std::string>& arguments, const Io& io,
                        const std::atomic<bool>& stop);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_COMMAND_H_
