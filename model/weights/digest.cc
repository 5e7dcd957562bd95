#include "model/weights/digest.h"

#include <fmt/format.h>

namespace trivium {

void Digest::Add(std::span<const std::byte> bytes) {
  Add(static_cast<uint64_t>(bytes.size()));
  AddBytes(bytes);
}

void Digest::Add(std::string_view text) {
  Add(std::as_bytes(std::span(text.data(), text.size())));
}

void Digest::Add(uint64_t number) {
  std::byte bytes[sizeof(number)];
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(number & 0xff);
    number >>= 8;
  }
  AddBytes(bytes);
}

std::string Digest::Hex() const { return fmt::format("{:016x}", hash_); }

void Digest::AddBytes(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    hash_ = (hash_ ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
  }
}

}  // namespace trivium
