#ifndef TRIVIUM_MODEL_HUB_LISTING_H_
#define TRIVIUM_MODEL_HUB_LISTING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// A file of a repository at one commit.
struct HubFile {
  std::string path;  // below the repository: "1_Pooling/config.json"
  int64_t size = 0;
  // Name of its blob in the cache, which is its hash: the SHA-256 of an LFS
  // file, else the SHA-1 of git's blob. Empty for a file that was found in the
  // cache.
  std::string blob;
  bool lfs = false;
};

// The files of a repository at one commit, as a hub lists them.
struct HubListing {
  std::string commit;
  std::vector<HubFile> files;
  // The architecture of the repository's GGUF files; empty: not told.
  std::string gguf_architecture;
};

// Null: there is no file of this path.
const HubFile* FindFile(const std::vector<HubFile>& files,
                        std::string_view path);

// Reads the answer to /api/models/REPOSITORY/revision/REVISION?blobs=true.
// Nothing in it is trusted: paths lead nowhere outside of a folder and have no
// control characters, hashes are hashes and sizes are not negative.
// INVALID_ARGUMENT names what is not so.
absl::StatusOr<HubListing> ParseListing(std::string_view json);

// True if a file of this name may be made below a folder.
bool IsSafePath(std::string_view path);

// True if `text` is `digits` hexadecimal digits in lower case.
bool IsHash(std::string_view text, size_t digits);

// Number of hexadecimal digits in the name of a commit.
inline constexpr size_t kCommitDigits = 40;

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_LISTING_H_
