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

// The storage type of elements: each by itself, or in GGUF's blocks
// (gguf_blocks.h).
enum class DType {
  kF32,
  kF16,
  kBf16,
  kI64,
  kI32,
  kI8,
  kU8,
  kBool,
  kF8E4m3,  // without infinities (OCP 8-bit Floating Point Specification)
  kF8E8m0,  // a power of two (OCP Microscaling Formats)
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ4K,
  kQ5K,
  kQ6K,
  kQ2K,
  kQ3K,
  kIq1S,
  kIq1M,
  kIq2Xxs,
  kIq2Xs,
  kIq2S,
  kIq3Xxs,
  kIq3S,
  kIq4Nl,
  kIq4Xs,
  kTq1,
  kTq2,
  kMxfp4,
  kNvfp4,
};

// Returns the number of elements of one block; 1 if elements are stored
// individually.
int BlockElements(DType dtype);
// Returns the number of bytes of one block, or of one element.
int DTypeSize(DType dtype);
std::string_view DTypeName(DType dtype);

class PackedRows;

// A tensor in a weights file: row-major, contiguous, not aligned. The Weights
// that it comes from own the bytes. Rows are whole blocks.
struct TensorView {
  // The type of `data` or, of a packed tensor, one that holds all its values.
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
  // Only for kI8 [rows, columns]: the factors of the rows, real numbers [rows,
  // 1]. Null means the elements are plain integers.
  const TensorView* row_scales = nullptr;
  // Not null: the elements are those of `packed` from `packed_begin` on, which
  // are unpacked as they are read (packed_rows.h). `data` is empty, or what the
  // file has of them, for DropPages.
  const PackedRows* packed = nullptr;
  int64_t packed_begin = 0;

  int64_t elements() const;
  // False for imagined tensors (imagined_weights.h), which have only a shape.
  bool has_values() const { return packed != nullptr || !data.empty(); }
};

// True if the elements are real numbers, which CopyToF32 reads.
bool IsReal(const TensorView& tensor);
// Copies the elements [begin, begin + out.size()) of a tensor of real numbers
// as f32. f16 and bf16 are exact, blocks are rounded as in ggml's f32
// arithmetic, s8 as its product with the scale, and packed values as their
// format says. Several whole rows at once are read fastest.
void CopyToF32(const TensorView& tensor, int64_t begin, std::span<float> out);
// Returns the first element (of a tensor of real numbers) that is infinite or
// NaN.
std::optional<int64_t> FirstNotFinite(const TensorView& tensor);

// The tensors of a model by name. A folder has model.safetensors, its sharded
// form (model.safetensors.index.json), pytorch_model.bin in its zip or its
// older sequential format, or the sharded form of that. Files are mapped, not
// read. Nothing in a file can run code: the unpickler knows tensors and plain
// data, and refuses everything else by name.
class Weights {
 public:
  // Opens a folder's weights. NOT_FOUND names the files that were looked for;
  // INVALID_ARGUMENT names the file, the tensor and what is wrong with it
  // (truncated, overlapping, bad shape...).
  static absl::StatusOr<std::unique_ptr<Weights>> Open(
      const std::string& folder);

  // Opens one of Marian's own files: a .npz, whose arrays are the tensors, or a
  // .bin (marian_bin.h). Errors are as above.
  static absl::StatusOr<std::unique_ptr<Weights>> OpenMarian(
      const std::string& path);

  // Opens one file that torch.save wrote of a dictionary of tensors, in either
  // of the two formats of pytorch_model.bin.
  static absl::StatusOr<std::unique_ptr<Weights>> OpenTorch(
      const std::string& path);

  virtual ~Weights() = default;

  // Returns null if there is no such tensor.
  virtual const TensorView* Find(std::string_view name) const = 0;
  // Returns all names, sorted.
  virtual std::vector<std::string_view> Names() const = 0;
  // Returns a hex digest of the names, types, shapes and first and last bytes
  // of all tensors. It distinguishes weight files without reading all of them.
  virtual std::string Fingerprint() const = 0;
  // Returns the sizes and times of modification of the files, which tell
  // whether they are those of an earlier load; empty if there are none.
  virtual std::string Origin() const { return ""; }
  // Has the system read all files ahead. Only a hint, before packing.
  virtual void ReadAhead() const {}
  // Describes how the weights are quantized, such as "4-bit AWQ, groups of
  // 128", or a GGUF file's "Q4_K and Q6_K"; empty if they are not.
  virtual std::string Quantization() const { return ""; }
  // True if there are no weights, and tensors have whatever shape is requested
  // (imagined_weights.h).
  virtual bool imagined() const { return false; }
  // Returns such a tensor if imagined(), else null.
  virtual const TensorView* Imagine(std::string_view name,
                                    const std::vector<int64_t>& shape) const {
    return nullptr;
  }
  // Returns INVALID_ARGUMENT if a file has changed since it was opened: what
  // was read of its tensors must not be used.
  virtual absl::Status CheckUnchanged() const { return absl::OkStatus(); }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_WEIGHTS_H_
