#include "model/weights/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/weights/digest.h"

namespace trivium {

std::optional<int64_t> ElementCount(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) {
      return std::nullopt;
    }
  }
  return count;
}

std::optional<int64_t> ByteCount(int64_t elements, DType dtype) {
  const int64_t block = BlockElements(dtype);
  int64_t bytes;
  if (elements % block != 0 ||
      __builtin_mul_overflow(elements / block, int64_t{DTypeSize(dtype)},
                             &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

const TensorView* MapWeights::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::vector<std::string_view> MapWeights::Names() const {
  std::vector<std::string_view> names;
  names.reserve(tensors_.size());
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

std::string FingerprintOf(const TensorMap& tensors) {
  constexpr size_t kSample = 64;
  Digest digest;
  for (const auto& [name, tensor] : tensors) {
    digest.Add(name);
    digest.Add(DTypeName(tensor.dtype));
    digest.Add(tensor.shape.size());
    for (const int64_t size : tensor.shape) {
      digest.Add(static_cast<uint64_t>(size));
    }
    const size_t sample = std::min(kSample, tensor.data.size());
    digest.Add(tensor.data.first(sample));
    digest.Add(tensor.data.last(sample));
  }
  return digest.Hex();
}

std::string Quoted(std::string_view name) {
  constexpr size_t kLongest = 100;
  std::string quoted = "'";
  for (const char c : name.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  quoted += name.size() > kLongest ? "...'" : "'";
  return quoted;
}

}  // namespace trivium
