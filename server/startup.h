#ifndef TRIVIUM_SERVER_STARTUP_H_
#define TRIVIUM_SERVER_STARTUP_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/batching/workers.h"
#include "server/options.h"
#include "server/server.h"

namespace trivium {

// Makes a running server from options: caps the instruction set, loads the
// models, and makes the engines, the batcher and its metrics. The error names
// the flag, model or file, and what to do.
absl::StatusOr<std::unique_ptr<Server>> StartServer(const Options& options);

// Finds a port that another program has, or that two flags name, before models
// are fetched and read. UNAVAILABLE names the flag. Unix sockets are left to
// StartServer.
absl::Status CheckPorts(const Options& options);

// The steps of StartServer that a Plan of the same options needs, too:

// Returns an error if options contradict each other.
absl::Status CheckOptions(const Options& options);
// Chooses the workers for models of these sizes.
absl::StatusOr<Workers> WorkersFor(const Options& options,
                                   const ModelSizes& sizes);
// The models to serve at the start. Their names differ.
absl::StatusOr<std::vector<ModelSpec>> ModelsToServe(const Options& options);

// The folder of the model that is served without --model:
// TRIVIUM_EMBEDDED_MODEL, or share/trivium/embedded beside the program's bin/,
// or model/embedded in the source tree.
absl::StatusOr<std::string> EmbeddedModelFolder();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_STARTUP_H_
