// A token bucket of units of work: balance' = min(kBurst, balance +
// kUnitsPerSecond x seconds) - cost. A frame passes whole when the balance is
// not negative as it begins, so the balance may fall below 0 by one frame, and
// the connection rests until it is 0 again, and a few milliseconds at least.
//
// A client's stream is open from its first HEADERS until either side resets it
// or the server has said its last (END_STREAM), after which gRPC holds nothing
// of it that the client could prolong.
#include "server/rpc/http2_guard.h"

#include <fmt/format.h>

#include <algorithm>

namespace trivium {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// RFC 9113, section 6.
enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kReset = 3,
  kWindowUpdate = 8,
  kContinuation = 9,
};
// So that the relay does not wake for every frame.
constexpr absl::Duration kLeastRest = absl::Milliseconds(5);

constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;

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

absl::StatusOr<size_t> Http2Guard::OnClient(std::string_view bytes,
                                            absl::Time now) {
  balance_ =
      std::min(kBurst, balance_ + kUnitsPerSecond *
                                      absl::ToDoubleSeconds(now - balance_at_));
  balance_at_ = now;
  waits_for_resets_ = waits_for_resets_ && resets_->Full(now);
  const size_t all = bytes.size();
  while (!bytes.empty() && preface_ < kPreface.size()) {
    if (bytes.front() != kPreface[preface_]) {
      return absl::InvalidArgumentError("no connection of HTTP/2");
    }
    bytes.remove_prefix(1);
    ++preface_;
  }
  while (!bytes.empty() &&
         ((balance_ >= 0 && !waits_for_resets_) || !client_.between())) {
    if (!client_.Read(&bytes)) continue;
    const absl::Status status = OnClientFrame(client_.head());
    if (!status.ok()) return status;
  }
  return all - bytes.size();
}

absl::Status Http2Guard::OnClientFrame(const FrameHead& head) {
  balance_ -= 1 + head.length / kBytesAUnit;
  switch (head.type) {
    case kHeaders:
      header_bytes_ = 0;
      if (head.stream > last_stream_) {
        last_stream_ = head.stream;
        balance_ -= kStreamCost;
        open_.insert(head.stream);
        if (open_.size() > max_streams_) {
          return absl::ResourceExhaustedError(fmt::format(
              "more than {} streams at a time, which the settings forbid",
              max_streams_));
        }
      }
      [[fallthrough]];
    case kContinuation:
      header_bytes_ += 9 + head.length;
      if (header_bytes_ > kMaxHeaderBytes) {
        return absl::ResourceExhaustedError(fmt::format(
            "a header block of more than {} bytes", kMaxHeaderBytes));
      }
      if ((head.flags & kEndHeaders) != 0) header_bytes_ = 0;
      return absl::OkStatus();
    case kReset:
      balance_ -= kResetCost;
      if (open_.erase(head.stream) > 0) {
        resets_->OnReset(balance_at_);
        waits_for_resets_ = resets_->Full(balance_at_);
      }
      return absl::OkStatus();
    case kData:
    case kPriority:
    case kWindowUpdate:
      return absl::OkStatus();
    default:
      balance_ -= kControlCost;
      return absl::OkStatus();
  }
}

absl::Time Http2Guard::resume() const {
  const absl::Duration rest =
      absl::Seconds(std::max(0.0, -balance_) / kUnitsPerSecond);
  return balance_at_ + std::max(rest, kLeastRest);
}

void Http2Guard::OnServer(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!server_.Read(&bytes)) continue;
    const FrameHead& head = server_.head();
    const bool ends = (head.type == kData || head.type == kHeaders) &&
                      (head.flags & kEndStream) != 0;
    if (head.type == kReset) {
      // As a client's own: it may make the server reset by what it sends.
      if (open_.erase(head.stream) > 0) balance_ -= kResetCost;
    } else if (ends) {
      open_.erase(head.stream);
    }
  }
}

}  // namespace trivium
