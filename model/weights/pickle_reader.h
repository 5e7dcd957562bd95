#ifndef TRIVIUM_MODEL_WEIGHTS_PICKLE_READER_H_
#define TRIVIUM_MODEL_WEIGHTS_PICKLE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace trivium {

// Reads the arguments of pickle's opcodes. Reading beyond the end sets `failed`
// and returns zeros, so that one check per opcode is enough.
class PickleReader {
 public:
  explicit PickleReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t position() const { return position_; }
  bool failed() const { return failed_; }

  // Reads a little-endian unsigned integer of `size` <= 8 bytes.
  uint64_t Unsigned(int size) {
    uint64_t value = 0;
    const std::span<const std::byte> from = Consume(size);
    for (size_t i = 0; i < from.size(); ++i) {
      value |= std::to_integer<uint64_t>(from[i]) << (8 * i);
    }
    return value;
  }

  int64_t Signed32() {
    return static_cast<int32_t>(static_cast<uint32_t>(Unsigned(4)));
  }

  // BINFLOAT is the one big-endian argument.
  double BigEndianDouble() {
    uint64_t bits = 0;
    for (const std::byte byte : Consume(8)) {
      bits = bits << 8 | std::to_integer<uint64_t>(byte);
    }
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  std::string String(uint64_t size) {
    const std::span<const std::byte> from = Consume(size);
    return std::string(reinterpret_cast<const char*>(from.data()), from.size());
  }

  // Reads up to a line feed, which is skipped.
  std::string Line() {
    size_t end = position_;
    while (end < bytes_.size() && bytes_[end] != std::byte{'\n'}) ++end;
    std::string line = String(end - position_);
    Consume(1);
    return line;
  }

 private:
  std::span<const std::byte> Consume(uint64_t size) {
    if (size > bytes_.size() - position_) {
      failed_ = true;
      return {};
    }
    position_ += size;
    return bytes_.subspan(position_ - size, size);
  }

  const std::span<const std::byte> bytes_;
  size_t position_ = 0;
  bool failed_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_WEIGHTS_PICKLE_READER_H_
