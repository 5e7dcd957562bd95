#include "server/transports/grpc/relayed_connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/status.h"
#include "server/transports/grpc/bare_calls.h"

namespace trivium {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

absl::Status Over() { return absl::CancelledError("closed"); }

bool WouldWait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

// Returns what a socket has, at most one piece. Empty if it has nothing now;
// `closed` is set if it will never have more.
std::string ReadPiece(int socket, bool* closed) {
  // A buffer per thread, so that a connection holds only what it has read.
  thread_local std::string piece(kPieceBytes, '\0');
  const ssize_t got = recv(socket, piece.data(), piece.size(), 0);
  *closed = got == 0 || (got < 0 && !WouldWait());
  return got > 0 ? piece.substr(0, static_cast<size_t>(got)) : std::string();
}

// Sends what the socket takes and removes it from `piece`. Returns false if the
// socket is closed.
bool SendPiece(int socket, std::string* piece) {
  if (piece->empty()) return true;
  const ssize_t sent = send(socket, piece->data(), piece->size(), MSG_NOSIGNAL);
  if (sent < 0) return WouldWait();
  piece->erase(0, static_cast<size_t>(sent));
  if (piece->empty()) *piece = std::string();  // frees its memory
  return true;
}

}  // namespace

RelayedConnection::RelayedConnection(UniqueFd client, UniqueFd grpc,
                                     std::string peer, Http2Guard guard,
                                     std::string_view http1_answer,
                                     absl::Time now)
    : client_(std::move(client)),
      grpc_(std::move(grpc)),
      peer_(std::move(peer)),
      guard_(std::move(guard)),
      http1_answer_(http1_answer),
      last_active_(now) {}

bool RelayedConnection::SendToGrpc() {
  if (!SendPiece(grpc_.get(), &to_grpc_)) {
    // gRPC reads no more, but what it wrote before may be left.
    to_grpc_.clear();
    from_client_.clear();
    client_closed_ = true;
  }
  return to_grpc_.empty();
}

absl::Status RelayedConnection::MoveFromClient(absl::Time now) {
  if (!SendToGrpc()) return absl::OkStatus();
  if (from_client_.empty() && !client_closed_) {
    from_client_ = ReadPiece(client_.get(), &client_closed_);
    if (!from_client_.empty()) last_active_ = now;
  }
  if (now >= guard_.late_at()) {
    TRIVIUM_RETURN_IF_ERROR(guard_.EndLate(now, &to_grpc_));
    SendToGrpc();
    guard_.OnServer({}, &to_client_);
    if (!SendPiece(client_.get(), &to_client_)) return Over();
  }
  while (!from_client_.empty() && to_grpc_.empty() && !client_is_behind()) {
    const absl::StatusOr<size_t> taken =
        guard_.OnClient(from_client_, now, &to_grpc_);
    if (!taken.ok()) {
      std::string answer(guard_.is_http1() ? http1_answer_ : "");
      SendPiece(client_.get(), &answer);
      return taken.status();
    }
    if (*taken == 0) break;
    from_client_.erase(0, *taken);
    SendToGrpc();
    guard_.OnServer({}, &to_client_);
    if (!SendPiece(client_.get(), &to_client_)) return Over();
    if (guard_.turn_over()) break;
  }
  if (client_closed_ && from_client_.empty() && to_grpc_.empty()) {
    // Now gRPC would end all calls at once, however many they are.
    if (open_calls() > BareCalls::kFree) return Over();
    shutdown(grpc_.get(), SHUT_WR);
  }
  return absl::OkStatus();
}

absl::Status RelayedConnection::MoveFromGrpc(absl::Time now) {
  do {
    bool closed = false;
    if (to_client_.empty()) {
      guard_.OnServer(ReadPiece(grpc_.get(), &closed), &to_client_);
    }
    if (closed) return Over();
    if (to_client_.empty()) return absl::OkStatus();
    last_active_ = now;
    if (!SendPiece(client_.get(), &to_client_)) return Over();
  } while (grpc_closed_ && to_client_.empty());
  return absl::OkStatus();
}

uint32_t RelayedConnection::client_events() const {
  const bool reads =
      from_client_.empty() && to_grpc_.empty() && !client_closed_;
  return (reads ? uint32_t{EPOLLIN} : 0) |
         (to_client_.empty() ? 0 : uint32_t{EPOLLOUT});
}

uint32_t RelayedConnection::grpc_events() const {
  return (to_client_.empty() ? uint32_t{EPOLLIN} : 0) |
         (to_grpc_.empty() ? 0 : uint32_t{EPOLLOUT});
}

std::optional<absl::Time> RelayedConnection::resume() const {
  if (!to_grpc_.empty()) return std::nullopt;
  absl::Time next = guard_.late_at();
  if (!from_client_.empty() && !client_is_behind()) {
    next = std::min(next, guard_.resume());
  }
  if (next == absl::InfiniteFuture()) return std::nullopt;
  return next;
}

}  // namespace trivium
