#ifndef TRIVIUM_MODEL_WEIGHTS_TENSOR_FILE_H_
#define TRIVIUM_MODEL_WEIGHTS_TENSOR_FILE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/weights/weights.h"

namespace trivium {

using TensorMap = std::map<std::string, TensorView, std::less<>>;

// The tensors of one file, and the memory that their bytes lie in besides the
// file itself.
struct TensorFile {
  TensorMap tensors;
  std::vector<std::shared_ptr<const void>> memory;
};

// Elements of a tensor of this shape; nothing when a size is negative or the
// product overflows.
std::optional<int64_t> ElementCount(std::span<const int64_t> shape);

// Bytes of `elements` elements; nothing on overflow, or where they are no whole
// blocks.
std::optional<int64_t> ByteCount(int64_t elements, DType dtype);

// What Weights::Fingerprint() says of these.
std::string FingerprintOf(const TensorMap& tensors);

// A name from a file, for an error message: in quotes, at most 100 bytes, with
// anything but printable ASCII as \x??.
std::string Quoted(std::string_view name);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_TENSOR_FILE_H_
