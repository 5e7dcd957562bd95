#ifndef TRIVIUM_SERVER_RPC_HTTP2_GUARD_H_
#define TRIVIUM_SERVER_RPC_HTTP2_GUARD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/rpc/reset_streams.h"

namespace trivium {

// The head of a frame of HTTP/2 (RFC 9113, section 4.1).
struct FrameHead {
  uint32_t length = 0;  // of the payload
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// Follows the frames of one direction of a connection, in pieces as they come.
class FrameReader {
 public:
  // At the begin of a frame?
  bool between() const { return have_ == 0 && payload_ == 0; }

  // Takes bytes up to the end of a head, or of a payload. True if a head is
  // complete: head() is it.
  bool Read(std::string_view* bytes);
  const FrameHead& head() const { return head_; }

 private:
  static constexpr size_t kHeadBytes = 9;

  std::array<uint8_t, kHeadBytes> bytes_;
  size_t have_ = 0;       // of bytes_
  uint32_t payload_ = 0;  // still to come
  FrameHead head_;
};

// Says which bytes of a client's HTTP/2 connection may pass on, and when. gRPC
// 1.51 reads whatever comes as fast as it can, so that a few connections full
// of small frames keep it from all others, and holds a header block that never
// ends in memory. So:
//   - A connection may cause so much work a second (kUnitsPerSecond); one that
//     sends more is read more slowly.
//   - One that resets streams is read on when the server has done with them
//     (ResetStreams).
//   - A header block has at most kMaxHeaderBytes, a connection at most
//     max_streams open streams: what goes beyond ends the connection.
// It reads the heads of frames only, and leaves it to gRPC whether they make
// sense.
class Http2Guard {
 public:
  // The work of a frame: a unit, its kind's cost, and a unit for each
  // kBytesAUnit of its payload.
  static constexpr double kUnitsPerSecond = 80'000;
  // What may be saved up; a new connection begins with less, as it would else
  // pay to begin anew.
  static constexpr double kBurst = 80'000;
  static constexpr double kFirst = 2'000;
  static constexpr double kBytesAUnit = 1024;
  static constexpr double kStreamCost = 4;   // of a new stream
  static constexpr double kResetCost = 8;    // of a stream's early end
  static constexpr double kControlCost = 8;  // SETTINGS, PING and others

  // Of one HEADERS frame with its CONTINUATION frames, heads included.
  static constexpr int kMaxHeaderBytes = 32 << 10;

  // `resets` outlives it and is of all connections.
  Http2Guard(int max_streams, absl::Time now, ResetStreams* resets)
      : max_streams_(max_streams),
        resets_(resets),
        balance_(kFirst),
        balance_at_(now) {}

  // How many of the client's next bytes may pass now. Fewer than all: offer the
  // rest at resume(). An error says what is wrong: the connection is to end.
  absl::StatusOr<size_t> OnClient(std::string_view bytes, absl::Time now);
  absl::Time resume() const;

  // What the server sends: it ends streams.
  void OnServer(std::string_view bytes);

  size_t open_streams() const { return open_.size(); }

 private:
  absl::Status OnClientFrame(const FrameHead& head);

  size_t max_streams_;
  ResetStreams* resets_;
  size_t preface_ = 0;  // bytes of it that have come
  FrameReader client_, server_;
  absl::flat_hash_set<uint32_t> open_;  // streams
  uint32_t last_stream_ = 0;
  uint32_t header_bytes_ = 0;  // of the block that is under way
  bool waits_for_resets_ = false;
  double balance_;  // units, at balance_at_; below 0: pause
  absl::Time balance_at_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_HTTP2_GUARD_H_
