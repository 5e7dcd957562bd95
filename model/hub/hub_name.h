#ifndef TRIVIUM_MODEL_HUB_HUB_NAME_H_
#define TRIVIUM_MODEL_HUB_HUB_NAME_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace trivium {

// A model on a hub: hf:OWNER/NAME[@REVISION][:QUANT].
struct HubName {
  // OWNER/NAME, or NAME alone for a model that is older than owners. It has
  // neither ".." nor "--", so the cache's folder of it is unique.
  std::string repository;
  std::string revision = "main";  // a branch, a tag or a commit
  std::string quant;              // chooses a GGUF file; empty: none named

  // The repository without its owner.
  std::string ShortName() const {
    return repository.substr(repository.rfind('/') + 1);
  }

  friend bool operator==(const HubName&, const HubName&) = default;
};

// True if `text` begins with "hf:". A folder of that name is written
// "./hf:...".
bool IsHubName(std::string_view text);

// INVALID_ARGUMENT says what is wrong.
absl::StatusOr<HubName> ParseHubName(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_HUB_NAME_H_
