#ifndef TRIVIUM_MODEL_WEIGHTS_GGUF_VALUES_H_
#define TRIVIUM_MODEL_WEIGHTS_GGUF_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Parses the parts of a GGUF file's header one after the other. Each length is
// checked against the remaining bytes, and the memory of all parsed values is
// bounded.
class GgufValues {
 public:
  explicit GgufValues(std::span<const std::byte> bytes)
      : all_(bytes.size()), left_(bytes) {}

  // Bytes parsed so far.
  size_t position() const { return all_ - left_.size(); }

  template <class T>
  absl::Status Parse(T* value) {
    if (left_.size() < sizeof(T)) return Truncated();
    std::memcpy(value, left_.data(), sizeof(T));
    left_ = left_.subspan(sizeof(T));
    return absl::OkStatus();
  }
  // Parses the name of a value or tensor.
  absl::StatusOr<std::string> ParseName();
  // Parses a value's type and the value.
  absl::StatusOr<nlohmann::json> ParseValue();
  // Counts memory of parsed values; fails if it exceeds the bound.
  absl::Status Spend(uint64_t bytes);

 private:
  static absl::Status Truncated();
  absl::StatusOr<std::string_view> ParseText();
  template <class T>
  absl::StatusOr<nlohmann::json> ParseNumber();
  absl::StatusOr<nlohmann::json> ParseOfType(uint32_t type, int depth);
  absl::StatusOr<nlohmann::json> ParseList(int depth);

  const size_t all_;
  std::span<const std::byte> left_;
  size_t spent_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_GGUF_VALUES_H_
