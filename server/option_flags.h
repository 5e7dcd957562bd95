#ifndef TRIVIUM_SERVER_OPTION_FLAGS_H_
#define TRIVIUM_SERVER_OPTION_FLAGS_H_

#include <CLI/CLI.hpp>

#include "server/flag_set.h"
#include "server/options.h"

namespace trivium {

// The flags of two subjects whose values need reading. options.cc, which has
// the others, calls these.

// Ports and hosts, what browsers may do, connections, load reports, and by what
// clients are told apart.
void AddNetworkFlags(FlagSet* flags, CLI::App* app, Options* options);

// The models that are served, their names and their precision.
void AddModelFlags(FlagSet* flags, CLI::App* app, Options* options);

// --plan. Its values are models like those of --model.
CLI::Option* AddPlanFlag(FlagSet* flags, CLI::App* app, Options* options);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OPTION_FLAGS_H_
