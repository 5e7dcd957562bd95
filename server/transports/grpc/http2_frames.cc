#include "server/transports/grpc/http2_frames.h"

#include <algorithm>

namespace trivium {
namespace {

// The size that every peer accepts, whatever its settings.
constexpr size_t kMaxFrameBytes = 16384;

}  // namespace

bool FrameReader::Read(std::string_view* bytes) {
  if (payload_ > 0) {
    const size_t part = std::min<size_t>(payload_, bytes->size());
    payload_ -= static_cast<uint32_t>(part);
    bytes->remove_prefix(part);
    return false;
  }
  const size_t part = std::min(kHeadBytes - have_, bytes->size());
  std::copy_n(bytes->begin(), part, bytes_.begin() + have_);
  bytes->remove_prefix(part);
  have_ += part;
  if (have_ < kHeadBytes) return false;
  const auto number = [this](size_t begin, size_t size) {
    uint32_t value = 0;
    for (size_t i = begin; i < begin + size; ++i)
      value = value << 8 | bytes_[i];
    return value;
  };
  head_ = {number(0, 3), bytes_[3], bytes_[4], number(5, 4) & 0x7fffffff};
  have_ = 0;
  payload_ = head_.length;
  return true;
}

void AppendNumber(uint32_t value, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    *out += static_cast<char>(value >> shift);
  }
}

void AppendHead(const FrameHead& head, std::string* out) {
  AppendNumber(head.length, 3, out);
  AppendNumber(head.type, 1, out);
  AppendNumber(head.flags, 1, out);
  AppendNumber(head.stream, 4, out);
}

void AppendHeaders(uint32_t stream, uint8_t flags, std::string_view block,
                   std::string* out) {
  uint8_t type = kHeaders;
  do {
    const std::string_view part = block.substr(0, kMaxFrameBytes);
    block.remove_prefix(part.size());
    if (block.empty()) flags |= kEndHeaders;
    AppendHead({static_cast<uint32_t>(part.size()), type, flags, stream}, out);
    out->append(part);
    type = kContinuation;
    flags = 0;
  } while (!block.empty());
}

void AppendReset(uint32_t stream, ResetCode code, std::string* out) {
  AppendHead({4, kReset, 0, stream}, out);
  AppendNumber(static_cast<uint32_t>(code), 4, out);
}

void AppendWindowUpdate(uint32_t bytes, std::string* out) {
  AppendHead({4, kWindowUpdate, 0, 0}, out);
  AppendNumber(bytes, 4, out);
}

void AppendGoAway(std::string* out) {
  constexpr uint32_t kAnyStream = 0x7fffffff;
  constexpr uint32_t kNoError = 0;
  AppendHead({8, kGoAway, 0, 0}, out);
  AppendNumber(kAnyStream, 4, out);
  AppendNumber(kNoError, 4, out);
}

}  // namespace trivium
