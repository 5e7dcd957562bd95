#include "server/rpc/relayed_connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/status.h"

namespace trivium {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

absl::Status Over() { return absl::CancelledError("closed"); }

bool WouldWait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

// What a socket has, at most a piece; empty where it has nothing now, `closed`
// where it never will.
std::string ReadPiece(int socket, bool* closed) {
  // The thread's own, so that a connection holds no more than what is read.
  thread_local std::string piece(kPieceBytes, '\0');
  const ssize_t got = recv(socket, piece.data(), piece.size(), 0);
  *closed = got == 0 || (got < 0 && !WouldWait());
  return got > 0 ? piece.substr(0, static_cast<size_t>(got)) : std::string();
}

// Sends of the first `size` bytes what the socket takes, and removes them.
// Their number; nothing when the socket is closed.
std::optional<size_t> SendPiece(int socket, std::string* piece, size_t size) {
  const ssize_t sent = send(socket, piece->data(), size, MSG_NOSIGNAL);
  if (sent < 0) {
    if (WouldWait()) return 0;
    return std::nullopt;
  }
  piece->erase(0, static_cast<size_t>(sent));
  if (piece->empty()) *piece = std::string();  // frees its memory
  return static_cast<size_t>(sent);
}

}  // namespace

RelayedConnection::RelayedConnection(UniqueFd client, UniqueFd grpc,
                                     std::string peer, Http2Guard guard,
                                     absl::Time now)
    : client_(std::move(client)),
      grpc_(std::move(grpc)),
      peer_(std::move(peer)),
      guard_(std::move(guard)),
      last_active_(now) {}

absl::Status RelayedConnection::MoveFromClient(absl::Time now) {
  if (to_grpc_.empty() && !client_closed_) {
    to_grpc_ = ReadPiece(client_.get(), &client_closed_);
    if (!to_grpc_.empty()) last_active_ = now;
  }
  while (!to_grpc_.empty()) {
    if (passing_ == 0) {
      const absl::StatusOr<size_t> passing = guard_.OnClient(to_grpc_, now);
      if (!passing.ok()) return passing.status();
      passing_ = *passing;
      if (passing_ == 0) return absl::OkStatus();
    }
    const auto sent = SendPiece(grpc_.get(), &to_grpc_, passing_);
    if (!sent) {
      // gRPC wants no more, but may have said something.
      to_grpc_.clear();
      passing_ = 0;
      client_closed_ = true;
      return absl::OkStatus();
    }
    if (*sent == 0) return absl::OkStatus();
    passing_ -= *sent;
  }
  if (client_closed_) shutdown(grpc_.get(), SHUT_WR);
  return absl::OkStatus();
}

absl::Status RelayedConnection::MoveFromGrpc(absl::Time now) {
  do {
    bool closed = false;
    if (to_client_.empty()) {
      to_client_ = ReadPiece(grpc_.get(), &closed);
      guard_.OnServer(to_client_);
    }
    if (closed) return Over();
    if (to_client_.empty()) return absl::OkStatus();
    last_active_ = now;
    const auto sent = SendPiece(client_.get(), &to_client_, to_client_.size());
    if (!sent) return Over();
  } while (grpc_closed_ && to_client_.empty());
  return absl::OkStatus();
}

uint32_t RelayedConnection::client_events() const {
  return (to_grpc_.empty() && !client_closed_ ? uint32_t{EPOLLIN} : 0) |
         (to_client_.empty() ? 0 : uint32_t{EPOLLOUT});
}

uint32_t RelayedConnection::grpc_events() const {
  return (to_client_.empty() ? uint32_t{EPOLLIN} : 0) |
         (passing_ > 0 ? uint32_t{EPOLLOUT} : 0);
}

std::optional<absl::Time> RelayedConnection::resume() const {
  if (to_grpc_.empty() || passing_ > 0) return std::nullopt;
  return guard_.resume();
}

}  // namespace trivium
