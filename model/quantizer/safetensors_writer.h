#ifndef TRIVIUM_MODEL_QUANTIZER_SAFETENSORS_WRITER_H_
#define TRIVIUM_MODEL_QUANTIZER_SAFETENSORS_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/socket.h"
#include "model/weights/weights.h"

namespace trivium {

// Writes a .safetensors file whose tensors are too large for memory: first the
// header, then the tensors' bytes in any order.
//
//   auto writer = SafetensorsWriter::Create(path, entries);
//   (*writer)->Write("w", 0, bytes);
//   (*writer)->Finish();
class SafetensorsWriter {
 public:
  struct Entry {
    std::string name;
    DType dtype = DType::kF32;  // no type of blocks
    std::vector<int64_t> shape;
  };

  // Makes a new file and reserves all its bytes. UNAVAILABLE says why the
  // system does not: a full disk, a folder that may not be written to.
  static absl::StatusOr<std::unique_ptr<SafetensorsWriter>> Create(
      const std::string& path, std::span<const Entry> entries);

  // Writes the bytes of a tensor from byte `begin` on, which must be within it.
  // Several threads may write at the same time.
  absl::Status Write(std::string_view name, int64_t begin,
                     std::span<const std::byte> bytes);

  // Waits until everything is on the disk.
  absl::Status Finish();

  // Returns the size of the file.
  int64_t bytes() const { return bytes_; }

 private:
  SafetensorsWriter(std::string path, UniqueFd file)
      : path_(std::move(path)), file_(std::move(file)) {}

  // `error` is errno.
  absl::Status Failed(int error) const;
  absl::Status WriteAt(int64_t at, std::span<const std::byte> bytes);

  const std::string path_;
  const UniqueFd file_;
  // The place in the file where each tensor begins.
  std::map<std::string, int64_t, std::less<>> begin_;
  int64_t bytes_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_QUANTIZER_SAFETENSORS_WRITER_H_
