// Invariant: reserved_ covers the seconds [oldest_, oldest_ + kLastsSeconds),
// the last of which is the current one. Earlier reservations no longer count.
#include "server/transports/grpc/incoming_messages.h"

#include <algorithm>

namespace trivium {

std::optional<IncomingMessages::Room> IncomingMessages::Reserve(
    int64_t bytes, absl::Time now) {
  Expire(now);
  const int64_t second = oldest_ + kLastsSeconds - 1;
  if (bytes > max_message_bytes_) return Room(this, 0, second);
  if (!overload_->MayComeIn(bytes, incoming_)) return std::nullopt;
  reserved_[second % kLastsSeconds] += bytes;
  Count(bytes);
  return Room(this, bytes, second);
}

void IncomingMessages::Expire(absl::Time now) {
  const int64_t oldest = absl::ToUnixSeconds(now) - kLastsSeconds + 1;
  // A clock that was set back changes nothing.
  if (oldest <= oldest_) return;
  const int64_t end = std::min(oldest, oldest_ + kLastsSeconds);
  for (int64_t second = oldest_; second < end; ++second) {
    Count(-std::exchange(reserved_[second % kLastsSeconds], 0));
  }
  oldest_ = oldest;
}

void IncomingMessages::Release(int64_t bytes, int64_t second) {
  if (second < oldest_) return;  // it no longer counts
  reserved_[second % kLastsSeconds] -= bytes;
  Count(-bytes);
  overload_->OnCame(bytes);
}

void IncomingMessages::Count(int64_t bytes) {
  incoming_ += bytes;
  overload_->account()->Add(Held::kIncoming, bytes);
}

}  // namespace trivium
