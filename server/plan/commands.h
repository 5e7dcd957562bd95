#ifndef TRIVIUM_SERVER_PLAN_COMMANDS_H_
#define TRIVIUM_SERVER_PLAN_COMMANDS_H_

#include "server/options.h"

namespace trivium {

// Commands of trivium-server that answer questions about models and this
// machine instead of serving. Each prints to standard output and returns the
// exit code.

// --check: lists the problems and warnings of Options::check_folder, and the
// memory that its model would need.
int CheckFolder(const Options& options);

// --plan: makes a Plan, and prints it as text or as JSON. Shows the progress on
// standard error if that is a terminal.
int PrintPlan(const Options& options);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_PLAN_COMMANDS_H_
