#ifndef TRIVIUM_MODEL_HUB_BLOB_DOWNLOAD_H_
#define TRIVIUM_MODEL_HUB_BLOB_DOWNLOAD_H_

#include <string>

#include "absl/status/status.h"
#include "model/hub/hub_cache.h"
#include "model/hub/hub_client.h"
#include "model/hub/hub_name.h"
#include "model/hub/listing.h"
#include "model/hub/pull_observer.h"

namespace trivium {

// Fetches a file into the blobs of the cache, unless it is there:
//
//   lock ── goes on from HASH.incomplete ── bytes, hashed as they come ──
//   size and hash are the listed ones ── HASH.incomplete becomes HASH
//
// A connection that breaks is tried again from where it broke, as long as bytes
// come; a server whose parts are not right is asked for the whole file. No more
// bytes than listed are written. Errors are HubClient's and
// CacheError's; DATA_LOSS: the hash is another, and what came is deleted.
// UNAVAILABLE says that running again goes on.
absl::Status FetchBlob(const HubName& name, const std::string& commit,
                       const HubFile& file, const HubCache& cache,
                       HubClient* client, PullObserver* observer);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_BLOB_DOWNLOAD_H_
