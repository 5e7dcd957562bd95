#ifndef TRIVIUM_SERVER_MODEL_PULL_H_
#define TRIVIUM_SERVER_MODEL_PULL_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "server/model_spec.h"
#include "server/options.h"

namespace trivium {

// Fetches the models of the options that are hf:OWNER/NAME..., also that of
// --check, and puts their paths in place of their names. Shows the progress on
// a terminal, or else logs it, and calls `alive` every few seconds. Does
// nothing if there are none.
absl::Status PullModels(const std::function<void()>& alive, Options* options);

// PERMISSION_DENIED unless --allow-pull allows to fetch `name`, and the error
// of a name that is none.
absl::Status CheckMayPull(const std::string& name, const Options& options);

// Fetches the model of an order, whose folder is hf:OWNER/NAME..., within the
// bounds of --allow-pull, and returns its path. Logs the progress. Asks
// `wanted` as bytes come, and ends with its error.
absl::StatusOr<std::string> PullOrdered(const ModelSpec& spec,
                                        const Options& options,
                                        const AliveCheck& wanted);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_MODEL_PULL_H_
