#ifndef TRIVIUM_MODEL_WEIGHTS_WEIGHTS_H_
#define TRIVIUM_MODEL_WEIGHTS_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

enum class DType { kF32, kF16, kBf16, kI64, kI32, kU8, kBool };

// Bytes of one element.
int DTypeSize(DType dtype);
std::string_view DTypeName(DType dtype);

// A tensor in a weights file: row-major, contiguous, not aligned. The bytes
// belong to the Weights it came from.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;

  int64_t elements() const;
};

// Copies the elements [begin, begin + out.size()) as f32 (from f32, f16 or
// bf16; the latter two exactly).
void CopyToF32(const TensorView& tensor, int64_t begin, std::span<float> out);
// The first element (of f32, f16 or bf16) that is infinite or not a number.
std::optional<int64_t> FirstNotFinite(const TensorView& tensor);

// The tensors of a model folder by name: model.safetensors, its sharded form
// (model.safetensors.index.json), pytorch_model.bin in its zip and its older
// sequential format, or the sharded form of that. Files are mapped, not read.
// Nothing in a file can run code: the unpickler knows tensors and plain data,
// and refuses everything else by name.
class Weights {
 public:
  // NOT_FOUND names the files looked for; INVALID_ARGUMENT names file, tensor
  // and what is wrong with it (truncated, overlapping, bad shape...).
  static absl::StatusOr<std::unique_ptr<Weights>> Open(
      const std::string& folder);

  virtual ~Weights() = default;

  // Null when there is no such tensor.
  virtual const TensorView* Find(std::string_view name) const = 0;
  // Sorted.
  virtual std::vector<std::string_view> Names() const = 0;
  // Hex digest of names, types, shapes and the first and last bytes of each
  // tensor: what tells two weight files apart without reading all of them.
  virtual std::string Fingerprint() const = 0;
  // INVALID_ARGUMENT when a file was changed since it was opened: what was read
  // of its tensors is not to be used.
  virtual absl::Status CheckUnchanged() const { return absl::OkStatus(); }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_WEIGHTS_H_
