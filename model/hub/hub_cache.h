#ifndef TRIVIUM_MODEL_HUB_HUB_CACHE_H_
#define TRIVIUM_MODEL_HUB_HUB_CACHE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/socket.h"
#include "model/hub/listing.h"

namespace trivium {

// A repository in huggingface_hub's cache:
//
//   models--OWNER--NAME/
//     blobs/HASH                 a file's bytes
//     blobs/HASH.incomplete      the first of them
//     snapshots/COMMIT/PATH      a link to ../../blobs/HASH
//     refs/REVISION              the name of a commit
//   .locks/models--OWNER--NAME/HASH.lock
//
// A blob is complete, since it gets its name when its hash was checked.
class HubCache {
 public:
  HubCache(const std::string& cache, const std::string& repository);

  std::string Snapshot(const std::string& commit) const;
  std::string Blob(const HubFile& file) const;
  // True if the blob is there, complete.
  bool Has(const HubFile& file) const;

  // NOT_FOUND: the cache does not know the revision.
  absl::StatusOr<std::string> CommitOf(const std::string& revision) const;
  // The files of a commit that are there; with sizes but without blobs.
  std::vector<HubFile> Files(const std::string& commit) const;

  // Makes the folders of blobs and locks. Errors name the folder.
  absl::Status Prepare() const;
  // Locks the blob of a file against other processes until the result is
  // closed (flock). Calls `on_wait` once if that takes time.
  absl::StatusOr<UniqueFd> Lock(const HubFile& file,
                                const std::function<void()>& on_wait) const;
  // Makes snapshots/COMMIT/PATH, unless it is there.
  absl::Status Link(const std::string& commit, const HubFile& file) const;
  // Writes nothing if the revision has that commit already, so a cache that
  // has everything may be read-only.
  absl::Status WriteRef(const std::string& revision,
                        const std::string& commit) const;

  // RESOURCE_EXHAUSTED: the disk has less room than `bytes`.
  absl::Status CheckRoom(int64_t bytes) const;

 private:
  const std::string folder_, locks_;
};

// Returns the error of a failed system call on a file of the cache. With a full
// disk it is RESOURCE_EXHAUSTED.
absl::Status CacheError(const std::string& doing, const std::string& path,
                        int error);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_HUB_CACHE_H_
