#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_HTTP2_GUARD_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_HTTP2_GUARD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/calls/early_refusal.h"
#include "server/limits/open_calls.h"
#include "server/transports/grpc/header_fields.h"
#include "server/transports/grpc/http2_frames.h"
#include "server/transports/grpc/incoming_messages.h"
#include "server/transports/grpc/message_reader.h"
#include "server/transports/grpc/reset_streams.h"

namespace trivium {

// Says which bytes of a client's HTTP/2 connection may pass on, and when. gRPC
// 1.51 reads whatever comes as fast as it can, so that a few connections full
// of small frames keep it from all others, and holds a header block that never
// ends in memory. So:
//   - A connection may cause so much work a second (kUnitsPerSecond); one that
//     sends more is read more slowly.
//   - One that resets streams is read on when the server has done with them
//     (ResetStreams).
//   - A large message of a request is read when there is memory for it
//     (IncomingMessages).
//   - A header block has at most kMaxHeaderBytes, and kMaxFieldBytes when it is
//     unpacked, a connection at most max_streams open streams: what goes beyond
//     ends the connection.
//   - A call that `judge` has an answer for gets it at once, and gRPC never
//     hears of it: to gRPC a call is dear.
// So header blocks are read and written anew, as gRPC lacks those that it does
// not get, and of streams that are not open nothing passes. Whether the rest
// makes sense is left to gRPC.
class Http2Guard {
 public:
  // The work of a frame: a unit, its kind's cost, and a unit for each
  // kBytesAUnit of its payload, of header blocks also unpacked.
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
  static constexpr int kMaxFieldBytes = 64 << 10;

  // About how much it makes for either side before that is taken.
  static constexpr size_t kMostMade = 64 << 10;

  // What becomes of a call.
  struct Judgement {
    // The header block that answers it in gRPC's place; nothing: gRPC gets it.
    std::optional<std::string> refusal = std::nullopt;
    // It is refused without an answer, which may not be given yet.
    bool reset = false;
    // Of one that gRPC gets: kept as long as the stream is open; may be null.
    std::unique_ptr<CallInTransit> call = nullptr;
    std::unique_ptr<OpenCalls::Place> place = nullptr;
  };
  // Of a call with these fields, which gRPC gets as they are then.
  using Judge = std::function<Judgement(HeaderFields* fields, bool may_refuse)>;

  // `resets` and `incoming` outlive it and are of all connections.
  Http2Guard(int max_streams, absl::Time now, ResetStreams* resets,
             IncomingMessages* incoming, Judge judge = nullptr)
      : max_streams_(max_streams),
        resets_(resets),
        incoming_(incoming),
        judge_(std::move(judge)),
        balance_(kFirst),
        balance_at_(now) {}

  // Takes of the client's next bytes what may pass now, and appends to
  // `to_grpc` what gRPC is to have. How many it took. Fewer than all: offer the
  // rest at resume(), and when what it has made for either side has gone. An
  // error says what is wrong: the connection is to end.
  absl::StatusOr<size_t> OnClient(std::string_view bytes, absl::Time now,
                                  std::string* to_grpc);
  absl::Time resume() const;

  // Appends to `to_client` what gRPC says, and between its frames what the
  // guard says itself.
  void OnServer(std::string_view bytes, std::string* to_client);
  // Tells the client to begin its next calls on another connection.
  void GoAway();
  // Bytes that the guard has to say yet.
  size_t unsaid() const { return said_.size(); }

  size_t open_streams() const { return open_.size(); }

 private:
  struct Stream {
    MessageReader messages;
    std::unique_ptr<CallInTransit> call;      // may be null
    std::unique_ptr<OpenCalls::Place> place;  // may be null
  };

  absl::Status OnClientFrame(const FrameHead& head, std::string* to_grpc);
  absl::Status BeginHeaders(const FrameHead& head);
  // Passes on of the payload under way; how many bytes it took.
  size_t OnPayload(std::string_view payload, absl::Time now,
                   std::string* to_grpc);
  size_t OnData(std::string_view payload, absl::Time now);
  absl::Status EndFrame(std::string* to_grpc);
  absl::Status OnHeaders(std::string* to_grpc);
  void OnServerFrame(const FrameHead& head);
  // Whether the stream was open.
  bool Close(uint32_t stream);

  size_t max_streams_;
  ResetStreams* resets_;
  IncomingMessages* incoming_;
  Judge judge_;
  size_t preface_ = 0;  // bytes of it that have come
  FrameReader client_, server_;
  absl::flat_hash_map<uint32_t, Stream> open_;
  uint32_t last_stream_ = 0;

  // Of the client's frame under way: does it pass? Of DATA, is the length of
  // its padding next, and how much of it is data?
  bool passes_ = false;
  bool padding_next_ = false;
  size_t data_ = 0;
  int64_t small_messages_ = 0;  // bytes (MessageReader)

  // The header block under way.
  HeaderReader headers_;
  bool in_headers_ = false;
  FrameHead headers_head_;  // of its HEADERS
  std::string block_;
  uint32_t header_bytes_ = 0;

  // For the client, when gRPC is between two frames.
  std::string said_;
  bool server_in_headers_ = false;
  bool server_began_ = false;  // with its SETTINGS, which come first
  uint32_t unread_data_ = 0;   // of the connection's window, to give back
  // The client may have asked for a smaller table of header fields, which
  // gRPC's next block after it has acknowledged that has to begin with.
  int unacknowledged_settings_ = 0;
  bool table_settled_ = false;

  bool waits_for_resets_ = false;
  bool waits_for_room_ = false;
  double balance_;  // units, at balance_at_; below 0: pause
  absl::Time balance_at_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_HTTP2_GUARD_H_
