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

// The tensors of one file, and the owners of their bytes that are not in the
// file itself.
struct TensorFile {
  TensorMap tensors;
  std::vector<std::shared_ptr<const void>> memory;
};

// Weights whose tensors are in a map.
class MapWeights : public Weights {
 public:
  const TensorView* Find(std::string_view name) const override;
  std::vector<std::string_view> Names() const override;

 protected:
  TensorMap tensors_;
};

// Returns the number of elements of a tensor of this shape; nullopt if a size
// is negative or the product overflows.
std::optional<int64_t> ElementCount(std::span<const int64_t> shape);

// Returns the number of bytes of `elements` elements; nullopt on overflow or if
// they are not whole blocks.
std::optional<int64_t> ByteCount(int64_t elements, DType dtype);

// Returns Weights::Fingerprint() of these tensors.
std::string FingerprintOf(const TensorMap& tensors);

// Returns a name from a file for an error message: in quotes, at most 100
// bytes, with \x?? for everything but printable ASCII.
std::string Quoted(std::string_view name);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_TENSOR_FILE_H_
