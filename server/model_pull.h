#ifndef TRIVIUM_SERVER_MODEL_PULL_H_
#define TRIVIUM_SERVER_MODEL_PULL_H_

#include <functional>

#include "absl/status/status.h"
#include "server/options.h"

namespace trivium {

// Fetches the models of the options that are hf:OWNER/NAME..., also that of
// --check, and puts their paths in place of their names. Shows the progress on
// a terminal, or else logs it, and calls `alive` every few seconds. Does
// nothing if there are none.
absl::Status PullModels(const std::function<void()>& alive, Options* options);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_MODEL_PULL_H_
