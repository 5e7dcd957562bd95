#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_MESSAGE_READER_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_MESSAGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "server/transports/grpc/incoming_messages.h"

namespace trivium {

// Follows gRPC's messages in the DATA of one stream, each a flag, a length of
// four bytes and so many bytes more, and holds one back that is large until
// there is room for it.
class MessageReader {
 public:
  // A message of so many bytes needs no room ...
  static constexpr int64_t kSmall = 16 << 10;
  // ... while those of its connection that are not whole are within this.
  static constexpr int64_t kSmallOfAConnection = 64 << 10;

  // How many of the stream's next bytes may pass. Fewer than all: a message
  // waits; offer the rest later. `small`: of the connection, of messages
  // without room that are not whole.
  size_t Read(std::string_view bytes, absl::Time now,
              IncomingMessages* incoming, int64_t* small);

  // Whether the first message has passed.
  bool any_whole() const { return any_whole_; }

  // The stream has ended.
  void End(int64_t* small);

 private:
  static constexpr int kHeadBytes = 5;

  bool HasRoom(absl::Time now, IncomingMessages* incoming, int64_t* small);

  int head_ = 0;         // bytes of a head that have come
  uint32_t length_ = 0;  // as far as the head has come
  uint32_t left_ = 0;    // bytes of the message still to come
  bool any_whole_ = false;
  bool paused_ = false;
  int64_t small_ = 0;  // of the message, in the connection's
  std::optional<IncomingMessages::Room> room_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_MESSAGE_READER_H_
