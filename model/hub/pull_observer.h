#ifndef TRIVIUM_MODEL_HUB_PULL_OBSERVER_H_
#define TRIVIUM_MODEL_HUB_PULL_OBSERVER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "model/hub/listing.h"

namespace trivium {

// Sees a pull. Calls come on the pulling thread:
//
//   OnFile OnBytes ... OnFileEnd   for each file that is not in the cache
//   OnNote, CheckWanted            at any time
class PullObserver {
 public:
  virtual ~PullObserver() = default;
  // A file is fetched now; `have` of its bytes came in an earlier run.
  virtual void OnFile(const HubFile& file, int64_t have) {}
  // The file has so many bytes now: fewer than before if it begins again.
  virtual void OnBytes(int64_t have) {}
  virtual void OnFileEnd() {}
  // Tells of a wait, a retry or a choice, in a sentence without a full stop.
  virtual void OnNote(const std::string& text) {}
  // Asked as bytes come, and after each file. Its error ends the pull.
  virtual absl::Status CheckWanted() { return absl::OkStatus(); }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_PULL_OBSERVER_H_
