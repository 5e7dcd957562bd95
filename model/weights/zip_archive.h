#ifndef TRIVIUM_MODEL_WEIGHTS_ZIP_ARCHIVE_H_
#define TRIVIUM_MODEL_WEIGHTS_ZIP_ARCHIVE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/weights/copy_arena.h"

struct zip;

namespace trivium {

// A zip archive of stored entries, like those of torch and NumPy. Entries are
// copied into an arena, and the archive's checksums are verified.
class ZipArchive {
 public:
  // `bytes` must outlive this object. INVALID_ARGUMENT says what is wrong with
  // the file; the caller adds its name.
  static absl::StatusOr<ZipArchive> Open(std::span<const std::byte> bytes,
                                         std::shared_ptr<CopyArena> arena);

  // Returns the names in the archive's order.
  std::vector<std::string> Names() const;
  bool Has(const std::string& name) const;
  // Copies an entry. INVALID_ARGUMENT names it if it is missing, compressed,
  // truncated or larger than the arena.
  absl::StatusOr<std::span<const std::byte>> Read(
      const std::string& name) const;

 private:
  struct Closer {
    void operator()(struct zip* archive) const;
  };

  ZipArchive(struct zip* archive, std::shared_ptr<CopyArena> arena)
      : archive_(archive), arena_(std::move(arena)) {}

  std::unique_ptr<struct zip, Closer> archive_;
  std::shared_ptr<CopyArena> arena_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_ZIP_ARCHIVE_H_
