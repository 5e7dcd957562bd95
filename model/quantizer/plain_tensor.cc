#include "model/quantizer/plain_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/weights/half.h"

namespace trivium {
namespace {

bool KeepsBytes(const TensorView& tensor) {
  return tensor.packed == nullptr && tensor.row_scales == nullptr &&
         BlockElements(tensor.dtype) == 1;
}

DType TypeOf(const TensorView& tensor) {
  return KeepsBytes(tensor) || tensor.packed != nullptr ? tensor.dtype
                                                        : DType::kF16;
}

// Appends a number's bytes.
template <typename Number>
void Put(Number value, std::vector<std::byte>* to) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to->insert(to->end(), bytes.begin(), bytes.end());
}

}  // namespace

SafetensorsWriter::Entry PlainEntry(const std::string& name,
                                    const TensorView& tensor) {
  return {name, TypeOf(tensor), tensor.shape};
}

absl::Status WritePlain(const std::string& name, const TensorView& tensor,
                        SafetensorsWriter* writer) {
  constexpr int64_t kNumbers = 1 << 20;  // at once
  if (KeepsBytes(tensor)) return writer->Write(name, 0, tensor.data);
  const DType type = TypeOf(tensor);
  const int64_t elements = tensor.elements();
  // Whole rows are read fastest, and blocks only whole.
  const int64_t row = std::max<int64_t>(tensor.shape.back(), 1);
  const int64_t step = std::max<int64_t>(kNumbers / row, 1) * row;
  std::vector<float> values(static_cast<size_t>(std::min(step, elements)));
  std::vector<std::byte> bytes;
  for (int64_t begin = 0; begin < elements; begin += step) {
    const auto part = std::span(values).first(
        static_cast<size_t>(std::min(step, elements - begin)));
    CopyToF32(tensor, begin, part);
    bytes.clear();
    for (const float value : part) {
      constexpr float kGreatest = 65504;
      if (type == DType::kF16) {
        Put(F32ToF16(std::clamp(value, -kGreatest, kGreatest)), &bytes);
      } else if (type == DType::kBf16) {
        Put(F32ToBf16(value), &bytes);
      } else {
        Put(value, &bytes);
      }
    }
    TRIVIUM_RETURN_IF_ERROR(
        writer->Write(name, begin * DTypeSize(type), bytes));
  }
  return absl::OkStatus();
}

}  // namespace trivium
