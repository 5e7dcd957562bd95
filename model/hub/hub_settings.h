#ifndef TRIVIUM_MODEL_HUB_HUB_SETTINGS_H_
#define TRIVIUM_MODEL_HUB_HUB_SETTINGS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace trivium {

// Names the hub and the folder that keeps its models. The variables of the
// environment, their defaults and their order are huggingface_hub's, so that
// both programs share one cache.
struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT
  // HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub.
  std::string cache;
  // HF_TOKEN, else the file that HF_TOKEN_PATH names, else HF_HOME/token.
  // Empty: calls carry no token.
  std::string token;
  bool offline = false;  // HF_HUB_OFFLINE: only the cache is looked at
  // HTTPS_PROXY and NO_PROXY, or their names in lower case; http_proxy only so.
  std::string https_proxy, http_proxy, no_proxy;

  // Wait before the second try; doubled for each further one.
  absl::Duration retry_wait = absl::Seconds(1);
  // Time without a byte after which a connection has failed.
  absl::Duration idle_timeout = absl::Seconds(30);

  // Returns the value of a variable; null if it is unset.
  using Variable = std::function<const char*(const char* name)>;
  // INVALID_ARGUMENT: a value cannot be used, or there is no folder for the
  // cache.
  static absl::StatusOr<HubSettings> FromEnvironment(const Variable& variable);
  static absl::StatusOr<HubSettings> FromEnvironment();
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_HUB_SETTINGS_H_
