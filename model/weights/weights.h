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

// What elements are stored as: each by itself, or in blocks of GGUF's, which
// gguf_blocks.h describes.
enum class DType {
  kF32,
  kF16,
  kBf16,
  kI64,
  kI32,
  kI8,
  kU8,
  kBool,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ4K,
  kQ5K,
  kQ6K,
  kMxfp4,
};

// Elements of one block; 1 where each stands by itself.
int BlockElements(DType dtype);
// Bytes of one block, or of one element.
int DTypeSize(DType dtype);
std::string_view DTypeName(DType dtype);

// A tensor in a weights file: row-major, contiguous, not aligned. The bytes
// belong to the Weights it came from. Rows are whole blocks.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
  // Of kI8 [rows, columns]: what a row's elements are multiplied by, real,
  // [rows, 1]. Null: the elements are integers.
  const TensorView* row_scales = nullptr;

  int64_t elements() const;
};

// Whether elements are real numbers, which CopyToF32 reads.
bool IsReal(const TensorView& tensor);
// Copies the elements [begin, begin + out.size()) of real numbers as f32; f16
// and bf16 exactly, blocks with the roundings of ggml's own f32 arithmetic, s8
// with that of the product.
void CopyToF32(const TensorView& tensor, int64_t begin, std::span<float> out);
// The first element (of real numbers) that is infinite or not a number.
std::optional<int64_t> FirstNotFinite(const TensorView& tensor);

// The tensors of a model by name. Of a folder: model.safetensors, its sharded
// form (model.safetensors.index.json), pytorch_model.bin in its zip and its
// older sequential format, or the sharded form of that. Files are mapped, not
// read.
// Nothing in a file can run code: the unpickler knows tensors and plain data,
// and refuses everything else by name.
class Weights {
 public:
  // NOT_FOUND names the files looked for; INVALID_ARGUMENT names file, tensor
  // and what is wrong with it (truncated, overlapping, bad shape...).
  static absl::StatusOr<std::unique_ptr<Weights>> Open(
      const std::string& folder);

  // The same of one of Marian's own files: a .npz, whose arrays are its
  // tensors, or a .bin (marian_bin.h).
  static absl::StatusOr<std::unique_ptr<Weights>> OpenMarian(
      const std::string& path);

  virtual ~Weights() = default;

  // Null when there is no such tensor.
  virtual const TensorView* Find(std::string_view name) const = 0;
  // Sorted.
  virtual std::vector<std::string_view> Names() const = 0;
  // Hex digest of names, types, shapes and the first and last bytes of each
  // tensor: what tells two weight files apart without reading all of them.
  virtual std::string Fingerprint() const = 0;
  // Whether there are none, and tensors are as they are asked for
  // (imagined_weights.h).
  virtual bool imagined() const { return false; }
  // Then, the tensor; null else.
  virtual const TensorView* Imagine(std::string_view name,
                                    const std::vector<int64_t>& shape) const {
    return nullptr;
  }
  // INVALID_ARGUMENT when a file was changed since it was opened: what was read
  // of its tensors is not to be used.
  virtual absl::Status CheckUnchanged() const { return absl::OkStatus(); }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_WEIGHTS_H_
