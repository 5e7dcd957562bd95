#include "server/transports/grpc/message_reader.h"

#include <algorithm>
#include <utility>

namespace trivium {

size_t MessageReader::Read(std::string_view bytes, absl::Time now,
                           IncomingMessages* incoming, int64_t* small,
                           absl::FunctionRef<bool()> may_begin) {
  const auto may_end = [&] { return any_whole_ || may_begin(); };
  size_t at = 0;
  while (at < bytes.size()) {
    if (left_ == 0) {
      // The first byte is the flag, which the next four shift out.
      const uint32_t length = length_ << 8 | static_cast<uint8_t>(bytes[at]);
      const bool ends = head_ + 1 == kHeadBytes;
      if (ends && length == 0 && !may_end()) break;
      ++at;
      length_ = ends ? 0 : length;
      head_ = ends ? 0 : head_ + 1;
      if (!ends) continue;
      left_ = length;
      any_whole_ = any_whole_ || left_ == 0;
      continue;
    }
    // A small message whose end is here waits for nothing.
    const bool ends = left_ <= kSmall && left_ <= bytes.size() - at;
    if (!ends && !HasRoom(now, incoming, small)) break;
    const size_t part = std::min<size_t>(left_, bytes.size() - at);
    if (part == left_ && !may_end()) break;
    at += part;
    left_ -= static_cast<uint32_t>(part);
    if (left_ > 0) continue;
    any_whole_ = true;
    End(small);
  }
  return at;
}

void MessageReader::End(int64_t* small) {
  *small -= std::exchange(small_, 0);
  room_.reset();
  began_ = absl::InfiniteFuture();
  paused_ = false;
}

bool MessageReader::HasRoom(absl::Time now, IncomingMessages* incoming,
                            int64_t* small) {
  if (small_ > 0 || (room_ && room_->Lasts(now))) return true;
  room_.reset();
  if (left_ <= kSmall && *small + left_ <= kSmallOfAConnection) {
    small_ = left_;
    *small += small_;
    return true;
  }
  room_ = incoming->Reserve(left_, now);
  if (room_) began_ = std::min(began_, now);
  if (!room_ && !std::exchange(paused_, true)) incoming->OnPaused();
  return room_.has_value();
}

}  // namespace trivium
