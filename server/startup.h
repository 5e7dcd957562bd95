#ifndef TRIVIUM_SERVER_STARTUP_H_
#define TRIVIUM_SERVER_STARTUP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/options.h"
#include "server/server.h"

namespace trivium {

// From options to a running server: caps the instruction set, loads the
// models, makes the engines, the batcher and its metrics. The error names the
// flag, model or file and what to do about it.
absl::StatusOr<std::unique_ptr<Server>> StartServer(const Options& options);

// The folder of the model that is served where no --model is given:
// TRIVIUM_EMBEDDED_MODEL, share/trivium/embedded beside the program's bin/, or
// model/embedded of the source tree it was built from.
absl::StatusOr<std::string> EmbeddedModelFolder();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_STARTUP_H_
