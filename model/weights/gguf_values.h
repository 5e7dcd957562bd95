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

// Takes the parts of a GGUF file's header one after the other. Each is held
// against the bytes that are left, and what becomes of all of them takes a
// bounded part of the memory.
class GgufValues {
 public:
  explicit GgufValues(std::span<const std::byte> bytes)
      : all_(bytes.size()), left_(bytes) {}

  // Bytes taken so far.
  size_t position() const { return all_ - left_.size(); }

  template <class T>
  absl::Status Take(T* value) {
    if (left_.size() < sizeof(T)) return Truncated();
    std::memcpy(value, left_.data(), sizeof(T));
    left_ = left_.subspan(sizeof(T));
    return absl::OkStatus();
  }
  // Of a value or a tensor.
  absl::StatusOr<std::string> TakeName();
  // A value's type and it.
  absl::StatusOr<nlohmann::json> TakeValue();
  // Counts memory of what was made of the header.
  absl::Status Spend(uint64_t bytes);

 private:
  static absl::Status Truncated();
  absl::StatusOr<std::string_view> TakeText();
  template <class T>
  absl::StatusOr<nlohmann::json> TakeNumber();
  absl::StatusOr<nlohmann::json> TakeOfType(uint32_t type, int depth);
  absl::StatusOr<nlohmann::json> TakeList(int depth);

  const size_t all_;
  std::span<const std::byte> left_;
  size_t spent_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_GGUF_VALUES_H_
