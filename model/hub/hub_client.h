#ifndef TRIVIUM_MODEL_HUB_HUB_CLIENT_H_
#define TRIVIUM_MODEL_HUB_HUB_CLIENT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/hub/http_fetcher.h"
#include "model/hub/hub_name.h"
#include "model/hub/hub_settings.h"
#include "model/hub/listing.h"
#include "model/hub/pull_observer.h"

namespace trivium {

// The calls of a hub that a pull needs.
//
// UNAVAILABLE is an error that another try may mend: no connection, a server
// that is too busy (429) or broken (5xx). Others are final: NOT_FOUND (no such
// repository, revision or file), PERMISSION_DENIED (gated), UNAUTHENTICATED (a
// token that is not valid), OUT_OF_RANGE (no such part of a file). They name
// the repository and what to do.
class HubClient {
 public:
  // The observer outlives the client.
  HubClient(const HubSettings& settings, PullObserver* observer)
      : settings_(settings), observer_(observer), http_(settings) {}

  // Lists a repository, in at most `tries` tries.
  absl::StatusOr<HubListing> List(const HubName& name, int tries);

  // Reads a file from the byte `from` on, in one try. The receiver may see a
  // status of 200, which is the whole file, although `from` is not 0.
  absl::Status Read(const HubName& name, const std::string& commit,
                    const HubFile& file, int64_t from,
                    const HttpFetcher::Receiver& receiver);

  // Waits after the failure `status` of the try number `tries`, counted from
  // 1: as long as the hub asked for, or else longer with each try. Returns
  // `status` if it is final, or the hub asks for too long a wait.
  absl::Status WaitToRetry(const absl::Status& status, int tries);

  static constexpr int kMostTries = 5;

 private:
  // Returns the status of an answer that is not content.
  absl::Status Refusal(const HubName& name, const std::string& what,
                       const HubAnswer& answer);

  const HubSettings settings_;
  PullObserver* const observer_;
  HttpFetcher http_;
  std::optional<absl::Duration> retry_after_;  // unset: not told
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_HUB_CLIENT_H_
