// Work is bounded by a token bucket:
//
//   balance' = min(kBurst, balance + kUnitsPerSecond x seconds) - cost
//
// A frame passes whole if the balance is not negative when it begins. So the
// balance may fall below 0 by one frame; then the connection rests until it is
// 0 again, and at least a few milliseconds.
//
// A stream is open from its first HEADERS until either side resets it or the
// server ends it (END_STREAM). After that gRPC holds nothing of it that the
// client could prolong.
//
// A client may reset a stream while the server's last frame is on its way. The
// handler has then ended without being cancelled, so that last frame tells that
// the server is done with the stream (ResetStreams). Under overload, where
// answers and deadlines meet, this happens thousands of times a second.
//
// gRPC does not see refused calls, nor frames for streams that have ended. So
// it does not return the part of the connection's window that they used; the
// guard returns it.
//
// The guard's own header blocks neither need nor change the client's table, so
// they may come between gRPC's. But they must not come before the block with
// which gRPC acknowledges that the client made the table smaller.
#include "server/transports/grpc/http2_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"

namespace trivium {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr size_t kPrefaceMethod = 3;  // bytes of "PRI"

// Keeps the relay from waking for every frame.
constexpr absl::Duration kLeastRest = absl::Milliseconds(5);

// Time after which to ask for room again, or for a turn that was missed.
constexpr absl::Duration kRoomRest = absl::Milliseconds(20);

// Time after which to look again whether a frame has ended.
constexpr absl::Duration kLateRest = absl::Seconds(1);

// The part of the window that is returned at a time: an eighth of the smallest
// window.
constexpr uint32_t kWindowPart = 8 << 10;

// Removes padding and priority from a HEADERS frame's payload. Returns false if
// it is too short to have them.
bool Unpad(const FrameHead& head, std::string* payload) {
  size_t begin = 0, padding = 0;
  if ((head.flags & kPadded) != 0) {
    if (payload->empty()) return false;
    padding = static_cast<uint8_t>(payload->front());
    begin = 1;
  }
  if ((head.flags & kPrioritized) != 0) begin += 5;
  if (begin + padding > payload->size()) return false;
  payload->resize(payload->size() - padding);
  payload->erase(0, begin);
  return true;
}

bool IsHeaders(const FrameHead& head) {
  return head.type == kHeaders || head.type == kContinuation;
}

}  // namespace

absl::StatusOr<size_t> Http2Guard::OnClient(std::string_view bytes,
                                            absl::Time now,
                                            std::string* to_grpc) {
  balance_ =
      std::min(kBurst, balance_ + kUnitsPerSecond *
                                      absl::ToDoubleSeconds(now - balance_at_));
  balance_at_ = now;
  waits_for_resets_ = waits_for_resets_ && resets_->Full(now);
  waits_for_calls_ = waits_for_calls_ && !bare_calls_->Ready(now);
  heads_ = 0;
  waits_for_room_ = false;
  const size_t all = bytes.size();
  while (!bytes.empty() && preface_ < kPreface.size()) {
    if (bytes.front() != kPreface[preface_]) {
      // "PRI" is a method, too; all are in capitals.
      is_http1_ =
          preface_ < kPrefaceMethod && absl::ascii_isupper(bytes.front());
      return absl::InvalidArgumentError("not an HTTP/2 connection");
    }
    *to_grpc += bytes.front();
    bytes.remove_prefix(1);
    ++preface_;
  }
  while (
      !bytes.empty() && to_grpc->size() < kMostMade &&
      said_.size() < kMostMade &&
      ((balance_ >= 0 && MayBegin() && !turn_over()) || !client_.between())) {
    absl::Status status;
    if (now >= late_at_ && client_.between()) ResetLate(now, to_grpc);
    if (client_.payload() > 0) {
      const std::string_view payload = bytes.substr(0, client_.payload());
      std::string_view taken =
          payload.substr(0, OnPayload(payload, now, to_grpc));
      bytes.remove_prefix(taken.size());
      waits_for_room_ = taken.size() < payload.size();
      client_.Read(&taken);
      if (waits_for_room_) break;
    } else {
      if (!client_.Read(&bytes)) continue;
      status = OnClientFrame(client_.head(), to_grpc);
    }
    if (status.ok() && client_.payload() == 0) status = EndFrame(to_grpc);
    if (!status.ok()) return status;
  }
  return all - bytes.size();
}

absl::Status Http2Guard::OnClientFrame(const FrameHead& head,
                                       std::string* to_grpc) {
  balance_ -= 1 + head.length / kBytesAUnit;
  if (in_headers_ != (head.type == kContinuation) ||
      (in_headers_ && head.stream != headers_head_.stream)) {
    return absl::InvalidArgumentError(
        "a frame of another kind inside a header block");
  }
  if (IsHeaders(head)) return BeginHeaders(head);
  refused_ = false;
  passes_ = head.stream == 0 || open_.contains(head.stream);
  if (passes_) AppendHead(head, to_grpc);
  switch (head.type) {
    case kReset:
      balance_ -= kResetCost;
      if (Close(head.stream)) CountReset();
      break;
    case kData:
      padding_next_ = (head.flags & kPadded) != 0 && head.length > 0;
      data_ = head.length;
      if (!passes_) unread_data_ += head.length;
      break;
    case kPriority:
    case kWindowUpdate:
      break;
    case kSettings:
      if ((head.flags & kAcknowledges) == 0) {
        ++unacknowledged_settings_;
        table_settled_ = false;
      }
      [[fallthrough]];
    default:
      balance_ -= kControlCost;
  }
  if (unread_data_ >= kWindowPart) {
    AppendWindowUpdate(std::exchange(unread_data_, 0), &said_);
  }
  return absl::OkStatus();
}

absl::Status Http2Guard::BeginHeaders(const FrameHead& head) {
  passes_ = false;  // the block passes when it is whole
  if (head.type == kHeaders) {
    in_headers_ = true;
    headers_head_ = head;
    header_bytes_ = 0;
    if (head.stream > last_stream_) balance_ -= kStreamCost;
  }
  header_bytes_ += 9 + head.length;
  if (header_bytes_ > kMaxHeaderBytes) {
    return absl::ResourceExhaustedError(
        fmt::format("a header block of more than {} bytes", kMaxHeaderBytes));
  }
  return absl::OkStatus();
}

size_t Http2Guard::OnPayload(std::string_view payload, absl::Time now,
                             std::string* to_grpc) {
  const FrameHead& head = client_.head();
  const size_t taken =
      head.type == kData && passes_ ? OnData(payload, now) : payload.size();
  if (IsHeaders(head)) block_.append(payload);
  if (passes_) to_grpc->append(payload.substr(0, taken));
  return taken;
}

size_t Http2Guard::OnData(std::string_view payload, absl::Time now) {
  if (std::exchange(padding_next_, false)) {
    const auto padding = static_cast<uint8_t>(payload.front());
    data_ = client_.payload() - 1 -
            std::min<size_t>(padding, client_.payload() - 1);
    return 1 + (payload.size() > 1 ? OnData(payload.substr(1), now) : 0);
  }
  const size_t data = std::min(data_, payload.size());
  const auto stream = open_.find(client_.head().stream);
  // gRPC ignores data of a stream that has ended.
  if (stream == open_.end()) return payload.size();
  Stream& its = stream->second;
  const size_t passing = its.messages.Read(
      payload.substr(0, data), now, incoming_, &small_messages_,
      [&its, now] { return its.turn == nullptr || its.turn->Enter(now); });
  if (its.messages.any_whole() && std::exchange(its.bare, false)) {
    --bare_;
    if (its.paced) bare_calls_->Return();
    if (its.call != nullptr) its.call->OnWhole();
  }
  late_at_ = std::min(late_at_, its.messages.began() + kMessageTime);
  data_ -= passing;
  if (passing == data) return payload.size();
  if (!is_proxy_ || !its.messages.lacks_room()) return passing;
  Refuse(its);
  return payload.size();
}

absl::Status Http2Guard::EndLate(absl::Time now, std::string* to_grpc) {
  if (client_.between()) {
    ResetLate(now, to_grpc);
    return absl::OkStatus();
  }
  // Nothing may come between a frame's bytes. Its end is awaited for as long.
  for (const auto& [stream, its] : open_) {
    if (now >= its.messages.began() + 2 * kMessageTime) {
      return absl::ResourceExhaustedError("a message that does not end");
    }
  }
  late_at_ = now + kLateRest;
  return absl::OkStatus();
}

void Http2Guard::ResetLate(absl::Time now, std::string* to_grpc) {
  std::vector<uint32_t> late;
  late_at_ = absl::InfiniteFuture();
  for (const auto& [stream, its] : open_) {
    const absl::Time ends = its.messages.began() + kMessageTime;
    if (now >= ends) {
      late.push_back(stream);
    } else {
      late_at_ = std::min(late_at_, ends);
    }
  }
  for (const uint32_t stream : late) {
    AppendReset(stream, ResetCode::kEnhanceYourCalm, &said_);
    incoming_->OnRefused();
    Close(stream);
    ResetForGrpc(stream, to_grpc);
  }
}

void Http2Guard::Refuse(const Stream& its) {
  const uint32_t stream = client_.head().stream;
  // gRPC answers no call before its message.
  const bool may_answer = its.bare && table_settled_;
  if (may_answer) {
    AppendHeaders(stream, kEndStream, incoming_->refusal(), &said_);
  }
  AppendReset(stream,
              may_answer ? ResetCode::kNoError : ResetCode::kEnhanceYourCalm,
              &said_);
  incoming_->OnRefused();
  Close(stream);
  refused_ = true;
}

void Http2Guard::ResetForGrpc(uint32_t stream, std::string* to_grpc) {
  AppendReset(stream, ResetCode::kCancel, to_grpc);
  balance_ -= kResetCost;
  CountReset();
}

void Http2Guard::CountReset() {
  resets_->OnReset(balance_at_);
  waits_for_resets_ = resets_->Full(balance_at_);
}

absl::Status Http2Guard::EndFrame(std::string* to_grpc) {
  const FrameHead& head = client_.head();
  if (std::exchange(refused_, false)) ResetForGrpc(head.stream, to_grpc);
  if (!IsHeaders(head)) return absl::OkStatus();
  if (head.type == kHeaders && !Unpad(head, &block_)) {
    return absl::InvalidArgumentError("HEADERS with more padding than payload");
  }
  return (head.flags & kEndHeaders) != 0 ? OnHeaders(to_grpc)
                                         : absl::OkStatus();
}

absl::Status Http2Guard::OnHeaders(std::string* to_grpc) {
  in_headers_ = false;
  absl::StatusOr<HeaderFields> fields =
      headers_.Read(std::exchange(block_, {}), kMaxFieldBytes);
  if (!fields.ok()) return fields.status();
  const uint32_t stream = headers_head_.stream;
  const uint8_t end = headers_head_.flags & kEndStream;
  if (stream > last_stream_) {
    last_stream_ = stream;
    ++heads_;
    Judgement judgement;
    if (judge_) judgement = judge_(&*fields, /*may_refuse=*/table_settled_);
    if (!one_client_) one_client_ = judgement.client;
    is_proxy_ =
        is_proxy_ || judgement.named || judgement.client != *one_client_;
    if (judgement.refusal) {
      AppendHeaders(stream, kEndStream, *judgement.refusal, &said_);
      // Tells the client not to send the rest of the request.
      if (end == 0) AppendReset(stream, ResetCode::kNoError, &said_);
      return absl::OkStatus();
    }
    if (judgement.reset) {
      AppendReset(stream, ResetCode::kRefused, &said_);
      return absl::OkStatus();
    }
    Stream& opened = open_[stream];
    opened.call = std::move(judgement.call);
    opened.place = std::move(judgement.place);
    opened.turn = std::move(judgement.turn);
    if (++bare_ > BareCalls::kFree) {
      opened.paced = true;
      bare_calls_->Spend(1);
      waits_for_calls_ = !bare_calls_->Ready(balance_at_);
    }
    if (open_.size() > max_streams_) {
      return absl::ResourceExhaustedError(fmt::format(
          "more than {} streams at a time, which the settings forbid",
          max_streams_));
    }
  } else if (!open_.contains(stream)) {
    return absl::OkStatus();
  }
  const std::string block = WriteFields(*fields);
  balance_ -= static_cast<double>(block.size()) / kBytesAUnit;
  AppendHeaders(stream, end, block, to_grpc);
  return absl::OkStatus();
}

bool Http2Guard::Close(uint32_t stream) {
  const auto open = open_.find(stream);
  if (open == open_.end()) return false;
  open->second.messages.End(&small_messages_);
  if (open->second.bare) --bare_;
  open_.erase(open);
  return true;
}

absl::Time Http2Guard::resume() const {
  const absl::Duration rest =
      absl::Seconds(std::max(0.0, -balance_) / kUnitsPerSecond);
  if (waits_for_room_) return balance_at_ + std::max(rest, kRoomRest);
  if (turn_over() && MayBegin()) return balance_at_ + rest;
  return balance_at_ + std::max(rest, kLeastRest);
}

void Http2Guard::OnServer(std::string_view bytes, std::string* to_client) {
  for (;;) {
    if (server_began_ && server_.between() && !server_in_headers_) {
      to_client->append(std::exchange(said_, {}));
    }
    if (bytes.empty()) return;
    const std::string_view before = bytes;
    if (server_.Read(&bytes)) OnServerFrame(server_.head());
    to_client->append(before.substr(0, before.size() - bytes.size()));
  }
}

void Http2Guard::GoAway() { AppendGoAway(&said_); }

void Http2Guard::OnServerFrame(const FrameHead& head) {
  server_began_ = true;
  if (IsHeaders(head)) {
    server_in_headers_ = (head.flags & kEndHeaders) == 0;
    table_settled_ = table_settled_ || unacknowledged_settings_ == 0;
  }
  if (head.type == kSettings && (head.flags & kAcknowledges) != 0) {
    --unacknowledged_settings_;
  }
  const bool ends = (head.type == kData || head.type == kHeaders) &&
                    (head.flags & kEndStream) != 0;
  if (head.type == kReset) {
    // Costs as much as the client's own reset: a client can provoke it.
    if (Close(head.stream)) balance_ -= kResetCost;
  } else if (ends && !Close(head.stream)) {
    resets_->OnDone();
  }
}

}  // namespace trivium
