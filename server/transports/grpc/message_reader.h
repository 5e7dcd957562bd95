#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_MESSAGE_READER_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_MESSAGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "server/transports/grpc/incoming_messages.h"

namespace trivium {

// Follows gRPC's messages in the DATA of one stream, and holds a large one back
// until there is room for it. A message is a flag byte, a length of four bytes,
// and that many bytes.
class MessageReader {
 public:
  // A message of up to kSmall bytes needs no room if its end has come, or as
  // long as such messages that are incomplete have at most kSmallOfAConnection
  // bytes on its connection.
  static constexpr int64_t kSmall = 16 << 10;
  static constexpr int64_t kSmallOfAConnection = 64 << 10;

  // Returns how many of the stream's next bytes may pass. If it is fewer than
  // all, a message waits; offer the rest later. `small` counts the connection's
  // bytes of incomplete messages without room. `may_begin` is asked before the
  // last bytes of the first message pass, with which the call begins.
  size_t Read(std::string_view bytes, absl::Time now,
              IncomingMessages* incoming, int64_t* small,
              absl::FunctionRef<bool()> may_begin);

  // True if Read stopped because there is no room.
  bool lacks_room() const { return paused_ && !room_ && small_ == 0; }
  // True once the first message has passed.
  bool any_whole() const { return any_whole_; }
  // The time at which the arriving large message first found room; the infinite
  // future if none arrives.
  absl::Time began() const { return began_; }

  // Ends the stream; returns its room.
  void End(int64_t* small);

 private:
  static constexpr int kHeadBytes = 5;

  bool HasRoom(absl::Time now, IncomingMessages* incoming, int64_t* small);

  int head_ = 0;         // bytes of the head that have arrived
  uint32_t length_ = 0;  // as far as the head has arrived
  uint32_t left_ = 0;    // bytes of the message still to arrive
  bool any_whole_ = false;
  bool paused_ = false;  // the message has waited for room
  int64_t small_ = 0;    // the message's part of the connection's `small`
  std::optional<IncomingMessages::Room> room_;
  absl::Time began_ = absl::InfiniteFuture();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_MESSAGE_READER_H_
