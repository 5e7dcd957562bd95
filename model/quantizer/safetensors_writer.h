#ifndef TRIVIUM_MODEL_QUANTIZER_SAFETENSORS_WRITER_H_
#define TRIVIUM_MODEL_QUANTIZER_SAFETENSORS_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/weights/weights.h"

namespace trivium {

// Writes a .safetensors file whose tensors are too large for memory: first the
// header, then the tensors' bytes in any order.
//
//   auto writer = SafetensorsWriter::Create(path, {{"w", DType::kF16, {2,
//   3}}});
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

  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // Writes the bytes of a tensor from byte `begin` on, which must be within it.
  // Several threads may write at the same time.
  absl::Status Write(std::string_view name, int64_t begin,
                     std::span<const std::byte> bytes);

  // Waits until everything is on the disk.
  absl::Status Finish();

  // Returns the size of the file.
  int64_t bytes() const { return bytes_; }

 private:
  SafetensorsWriter(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}

  // `error` is errno.
  absl::Status Failed(int error) const;
  absl::Status WriteAt(int64_t at, std::span<const std::byte> bytes);

  const std::string path_;
  const int descriptor_;
  std::map<std::string, int64_t, std::less<>>
      begin_;  // of tensors, in the file
  int64_t bytes_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_QUANTIZER_SAFETENSORS_WRITER_H_
