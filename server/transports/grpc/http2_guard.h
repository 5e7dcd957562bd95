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
#include "server/limits/early_refusal.h"
#include "server/limits/open_calls.h"
#include "server/transports/grpc/bare_calls.h"
#include "server/transports/grpc/call_turns.h"
#include "server/transports/grpc/header_fields.h"
#include "server/transports/grpc/http2_frames.h"
#include "server/transports/grpc/incoming_messages.h"
#include "server/transports/grpc/message_reader.h"
#include "server/transports/grpc/reset_streams.h"

namespace trivium {

// Decides which bytes of a client's HTTP/2 connection pass on to gRPC, and
// when. gRPC 1.51 reads as fast as it can, so that a few connections full of
// small frames keep it from all others, and it keeps a header block that never
// ends in memory. So:
//   - A connection may cause kUnitsPerSecond of work; one that sends more is
//     read more slowly.
//   - A connection that resets streams is read on when the server is done with
//     them (ResetStreams).
//   - A connection that has many calls without a message begins the next ones
//     at a bounded rate (BareCalls).
//   - A large request message is read when there is memory for it
//     (IncomingMessages). If there is none, the connection waits; if it is a
//     proxy's, the call is refused instead, so that other clients do not wait
//     for one of them. A proxy's are those on which several clients have
//     called, or one that is named (Judgement::named).
//   - A large message that takes longer than kMessageTime to arrive is refused:
//     gRPC keeps what has come of it.
//   - A call begins when it is its client's turn (CallTurns).
//   - A header block has at most kMaxHeaderBytes, and kMaxFieldBytes when it is
//     unpacked; a connection has at most max_streams open streams. Exceeding a
//     limit ends the connection.
//   - A call that `judge` refuses is answered at once, and gRPC never sees it,
//     because a call costs gRPC much time.
// Since gRPC does not see all header blocks, the guard decodes and rewrites
// those that pass. Frames of streams that are not open do not pass. gRPC checks
// the rest of the protocol.
class Http2Guard {
 public:
  // A frame's work is one unit, the cost of its kind, and one unit for each
  // kBytesAUnit of its payload. For header blocks the unpacked bytes count,
  // too.
  static constexpr double kUnitsPerSecond = 80'000;
  // Bucket size. New connections get less (kFirst), so that reconnecting gains
  // nothing.
  static constexpr double kBurst = 80'000;
  static constexpr double kFirst = 2'000;
  static constexpr double kBytesAUnit = 1024;
  static constexpr double kStreamCost = 4;   // a new stream
  static constexpr double kResetCost = 8;    // a reset stream
  static constexpr double kControlCost = 8;  // SETTINGS, PING and others

  // Bounds of one HEADERS frame with its CONTINUATION frames: with their heads,
  // and unpacked.
  static constexpr int kMaxHeaderBytes = 32 << 10;
  static constexpr int kMaxFieldBytes = 64 << 10;

  // About how many bytes it prepares for either side before they are sent.
  static constexpr size_t kMostMade = 64 << 10;

  // Time for a large message, from when there is room for it: that of HTTP's
  // bodies.
  static constexpr absl::Duration kMessageTime = absl::Seconds(30);

  // So many calls of a connection are judged before the others have their turn.
  static constexpr int kHeadsATurn = 32;

  // The fate of a call.
  struct Judgement {
    // The header block that answers the call in gRPC's place. Nothing: gRPC
    // gets the call.
    std::optional<std::string> refusal = std::nullopt;
    // The call is refused without an answer, because none may be sent yet.
    bool reset = false;
    // For a call that gRPC gets: kept while the stream is open. May be null.
    std::unique_ptr<CallInTransit> call = nullptr;
    std::unique_ptr<OpenCalls::Place> place = nullptr;
    // Null: the call needs no turn to begin.
    std::unique_ptr<CallTurns::Turn> turn = nullptr;
    ClientId client = 0;
    bool named = false;  // by a proxy, not by the connection's address
  };
  // Judges a call by its header fields. It may change them; gRPC gets the
  // result. `may_refuse`: an answer may be sent now.
  using Judge = std::function<Judgement(HeaderFields* fields, bool may_refuse)>;

  // `resets`, `bare_calls` and `incoming` outlive it and are shared by all
  // connections.
  Http2Guard(int max_streams, absl::Time now, ResetStreams* resets,
             BareCalls* bare_calls, IncomingMessages* incoming,
             Judge judge = nullptr)
      : max_streams_(max_streams),
        resets_(resets),
        bare_calls_(bare_calls),
        incoming_(incoming),
        judge_(std::move(judge)),
        balance_(kFirst),
        balance_at_(now) {}

  // Consumes those of the client's next bytes that may pass now, and appends to
  // `to_grpc` what gRPC gets. Returns how many it consumed. If it is fewer than
  // all, offer the rest at resume(), and when the bytes for either side have
  // been sent. An error says what is wrong with the connection, which must end.
  absl::StatusOr<size_t> OnClient(std::string_view bytes, absl::Time now,
                                  std::string* to_grpc);
  absl::Time resume() const;
  // True if OnClient stopped for the other connections' turns.
  bool turn_over() const { return heads_ >= kHeadsATurn; }
  // True if OnClient refused a request of HTTP/1.
  bool is_http1() const { return is_http1_; }

  // Returns when to call EndLate, if OnClient is not called before.
  absl::Time late_at() const { return late_at_; }
  // Refuses messages that take too long. An error: one has taken twice as long,
  // and the client is in the middle of a frame.
  absl::Status EndLate(absl::Time now, std::string* to_grpc);

  // Appends gRPC's bytes to `to_client`, and between its frames the guard's
  // own.
  void OnServer(std::string_view bytes, std::string* to_client);
  // Tells the client to start its next calls on another connection.
  void GoAway();
  // Bytes of the guard's own that are still to be sent.
  size_t unsaid() const { return said_.size(); }

  size_t open_streams() const { return open_.size(); }

 private:
  struct Stream {
    MessageReader messages;
    std::unique_ptr<CallInTransit> call;      // may be null
    std::unique_ptr<OpenCalls::Place> place;  // may be null
    std::unique_ptr<CallTurns::Turn> turn;    // may be null
    bool bare = true;                         // no message has come
    bool paced = false;                       // counted by bare_calls_
  };

  // EndLate between two frames of the client's.
  void ResetLate(absl::Time now, std::string* to_grpc);
  absl::Status OnClientFrame(const FrameHead& head, std::string* to_grpc);
  absl::Status BeginHeaders(const FrameHead& head);
  // Passes on bytes of the current payload. Returns how many it consumed.
  size_t OnPayload(std::string_view payload, absl::Time now,
                   std::string* to_grpc);
  size_t OnData(std::string_view payload, absl::Time now);
  absl::Status EndFrame(std::string* to_grpc);
  absl::Status OnHeaders(std::string* to_grpc);
  // Ends the current frame's stream, whose message finds no room, for the
  // client at once, and for gRPC with the frame (ResetForGrpc).
  void Refuse(const Stream& its);
  // Resets a stream that is closed here, as its client might have done.
  void ResetForGrpc(uint32_t stream, std::string* to_grpc);
  void CountReset();
  void OnServerFrame(const FrameHead& head);
  // Returns true if the stream was open.
  bool Close(uint32_t stream);
  // Returns true if a call may begin.
  bool MayBegin() const { return !waits_for_resets_ && !waits_for_calls_; }

  size_t max_streams_;
  ResetStreams* resets_;
  BareCalls* bare_calls_;
  IncomingMessages* incoming_;
  Judge judge_;
  size_t preface_ = 0;  // bytes of the preface that have arrived
  bool is_http1_ = false;
  FrameReader client_, server_;
  absl::flat_hash_map<uint32_t, Stream> open_;
  int bare_ = 0;  // open streams without a message
  uint32_t last_stream_ = 0;
  int heads_ = 0;                       // judged in this turn
  std::optional<ClientId> one_client_;  // of the first call
  bool is_proxy_ = false;

  // The client's current frame.
  bool passes_ = false;         // gRPC gets it
  bool refused_ = false;        // DATA: its stream ends with it (Refuse)
  bool padding_next_ = false;   // DATA: the next byte is the padding's length
  size_t data_ = 0;             // DATA: bytes before the padding
  int64_t small_messages_ = 0;  // bytes (MessageReader)

  // The current header block.
  HeaderReader headers_;
  bool in_headers_ = false;
  FrameHead headers_head_;  // its HEADERS frame's
  std::string block_;
  uint32_t header_bytes_ = 0;

  // The guard's own frames for the client, sent between two of gRPC's.
  std::string said_;
  bool server_in_headers_ = false;
  bool server_began_ = false;  // gRPC has sent its SETTINGS, which come first
  uint32_t unread_data_ = 0;   // bytes of the connection's window to return
  // The client may have asked for a smaller table of header fields. gRPC's
  // first block after it has acknowledged that must announce the new size.
  int unacknowledged_settings_ = 0;
  bool table_settled_ = false;

  bool waits_for_resets_ = false;
  bool waits_for_calls_ = false;
  bool waits_for_room_ = false;  // or for a turn
  // No message is late before.
  absl::Time late_at_ = absl::InfiniteFuture();
  double balance_;  // units at balance_at_; negative: the connection rests
  absl::Time balance_at_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_HTTP2_GUARD_H_
