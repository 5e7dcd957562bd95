#ifndef TRIVIUM_MODEL_HUB_PULL_H_
#define TRIVIUM_MODEL_HUB_PULL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/hub/hub_name.h"
#include "model/hub/hub_settings.h"
#include "model/hub/pull_observer.h"
#include "model/model.h"

namespace trivium {

// A pull makes a folder of a model's name:
//
//   list the files ── fetch configuration and tokenizer ── check them as
//   --check does ── fetch the weights ── note the revision's commit
//
// Everything is kept in huggingface_hub's cache, and what is there already is
// not fetched again. Without a network, or with HF_HUB_OFFLINE, the files that
// the cache has of the revision are the model.

struct PullOptions {
  // Fetches weights, too. A GGUF file is fetched always.
  bool weights = true;
  // Refuses a model whose files have more bytes than this, those in the cache
  // included. 0: no bound.
  int64_t most_bytes = 0;
  // Refuses a model for what the files of `folder` say, which has no weights
  // yet. Null: nothing is checked.
  std::function<absl::Status(const std::string& folder)> check = nullptr;
  // The same for what a hub tells of a GGUF file.
  std::function<absl::Status(std::string_view architecture)> check_gguf =
      nullptr;
};

// Returns the path of the folder or the GGUF file. Errors are HubClient's,
// FetchBlob's, ChooseFiles' and those of the checks.
absl::StatusOr<std::string> Pull(const HubName& name,
                                 const HubSettings& settings,
                                 const PullOptions& options,
                                 PullObserver* observer);

// The checks of this build: ReportFolder with `load`, and the architectures
// that are known in GGUF files.
PullOptions CheckedPull(const LoadOptions& load);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_PULL_H_
