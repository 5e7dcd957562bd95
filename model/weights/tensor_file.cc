#include "model/weights/tensor_file.h"

#include <fmt/format.h>

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
  int64_t bytes;
  if (__builtin_mul_overflow(elements, int64_t{DTypeSize(dtype)}, &bytes)) {
    return std::nullopt;
  }
  return bytes;
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
