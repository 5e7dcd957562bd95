#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_INCOMING_MESSAGES_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_INCOMING_MESSAGES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "server/limits/overload_manager.h"

namespace trivium {

// Reserves memory for request messages before they are read, on all connections
// together. A reservation lasts for kLastsSeconds. A slow sender must then ask
// again for what is left, so that announcing large messages and sending little
// cannot keep others out. Used by the relay's thread only.
class IncomingMessages {
 public:
  static constexpr int kLastsSeconds = 10;

  // Room for a message until this is destroyed.
  class Room {
   public:
    Room(IncomingMessages* owner, int64_t bytes, int64_t second)
        : owner_(owner), bytes_(bytes), second_(second) {}
    ~Room() {
      if (owner_ != nullptr) owner_->Release(bytes_, second_);
    }
    Room(Room&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)),
          bytes_(other.bytes_),
          second_(other.second_) {}
    Room& operator=(Room&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(bytes_, other.bytes_);
      std::swap(second_, other.second_);
      return *this;
    }
    bool Lasts(absl::Time now) const {
      return absl::ToUnixSeconds(now) < second_ + kLastsSeconds;
    }

   private:
    IncomingMessages* owner_;
    int64_t bytes_;
    int64_t second_;  // when it was reserved
  };

  // `overload` and `metrics` outlive it. gRPC does not keep messages of more
  // than `max_message_bytes`, so they need no room. `refusal` is the header
  // block that answers a call whose message finds no room and cannot wait.
  IncomingMessages(OverloadManager* overload, Metrics* metrics,
                   int64_t max_message_bytes, std::string refusal)
      : overload_(overload),
        metrics_(metrics),
        max_message_bytes_(max_message_bytes),
        refusal_(std::move(refusal)) {}

  // Returns nothing if there is no room now.
  std::optional<Room> Reserve(int64_t bytes, absl::Time now);
  // Forgets reservations that are too old.
  void Expire(absl::Time now);

  const std::string& refusal() const { return refusal_; }

  void OnPaused() { metrics_->OnOverload("paused"); }
  void OnRefused() { metrics_->OnOverload("refused"); }

 private:
  void Release(int64_t bytes, int64_t second);
  void Count(int64_t bytes);

  OverloadManager* const overload_;
  Metrics* const metrics_;
  const int64_t max_message_bytes_;
  const std::string refusal_;
  int64_t incoming_ = 0;  // the sum of reserved_
  // Bytes reserved in each second from oldest_ on, at second % kLastsSeconds.
  std::array<int64_t, kLastsSeconds> reserved_{};
  int64_t oldest_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_INCOMING_MESSAGES_H_
