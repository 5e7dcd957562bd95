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

// From options to a running server: caps the instruction set, loads the
// models, makes the engines, the batcher and its metrics. The error names the
// flag, model or file and what to do about it.
absl::StatusOr<std::unique_ptr<Server>> StartServer(const Options& options);

// Those parts of it that a plan of the same options needs. What options say
// that does not fit together:
absl::Status CheckOptions(const Options& options);
// What serves models of these sizes.
absl::StatusOr<Workers> WorkersFor(const Options& options,
                                   const ModelSizes& sizes);
// The models to begin with, each under a name of its own.
absl::StatusOr<std::vector<ModelSpec>> ModelsToServe(const Options& options);

// The folder of the model that is served where no --model is given:
// TRIVIUM_EMBEDDED_MODEL, share/trivium/embedded beside the program's bin/, or
// model/embedded of the source tree it was built from.
absl::StatusOr<std::string> EmbeddedModelFolder();

}  // namespace trivium

#endif  // TRIVIUM_SERVER_STARTUP_H_
