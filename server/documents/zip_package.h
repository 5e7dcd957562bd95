#ifndef TRIVIUM_SERVER_DOCUMENTS_ZIP_PACKAGE_H_
#define TRIVIUM_SERVER_DOCUMENTS_ZIP_PACKAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

struct zip;

namespace trivium {

// A document that is a zip archive: DOCX, PPTX. What may be unpacked is
// bounded, since small archives can have parts of any size.
class ZipPackage {
 public:
  struct Limits {
    int64_t entries = 20'000;
    int64_t part_bytes = int64_t{32} << 20;   // of one part, unpacked
    int64_t total_bytes = int64_t{64} << 20;  // of all parts that are read
    // Unpacked bytes for each byte of the archive, beyond 1 MiB.
    int64_t ratio = 200;
  };

  // `data` must outlive this object. INVALID_ARGUMENT: it is no zip archive, or
  // has too many entries.
  static absl::StatusOr<ZipPackage> Open(std::string_view data,
                                         const Limits& limits);
  static absl::StatusOr<ZipPackage> Open(std::string_view data) {
    return Open(data, Limits());
  }

  ZipPackage(ZipPackage&& other) noexcept;
  ZipPackage& operator=(ZipPackage&&) = delete;
  ~ZipPackage();

  // Names of the entries, in the archive's order. Of several with one name only
  // the first is there.
  std::vector<std::string> Names() const;
  // Unpacks a part. INVALID_ARGUMENT names it if it is missing, encrypted,
  // damaged or too large.
  absl::StatusOr<std::string> Read(const std::string& name);

  // Returns the archive with other contents of some parts. All else stays, also
  // the parts' order, dates and compression.
  static absl::StatusOr<std::string> Replace(
      std::string_view data, const std::map<std::string, std::string>& parts);

 private:
  ZipPackage(struct zip* archive, const Limits& limits, int64_t left)
      : archive_(archive), limits_(limits), left_(left) {}

  struct zip* archive_;
  Limits limits_;
  int64_t left_;  // bytes that may still be unpacked
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_ZIP_PACKAGE_H_
