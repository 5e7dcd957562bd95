#include "server/transports/net/connection.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace trivium {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kRecordBytes = 16 << 10;  // the largest TLS record
constexpr size_t kMostDiscarded = 1 << 20;

bool WouldWait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

// A buffer per thread, so that a connection holds only what it has read.
std::array<char, kPieceBytes>& Piece() {
  thread_local std::array<char, kPieceBytes> piece;
  return piece;
}

void RemoveSent(ssize_t sent, std::string* bytes) {
  bytes->erase(0, static_cast<size_t>(sent));
  if (bytes->empty()) *bytes = std::string();  // frees its memory
}

}  // namespace

void CarriedConnection::Handshake() {
  switch (stream_->Handshake()) {
    case Stream::Progress::kWaits:
      return;
    case Stream::Progress::kDone:
      state_ = State::kOpen;
      return;
    case Stream::Progress::kFailed:
      // A client that speaks TLS has received an alert with the reason.
      shutdown(stream_->socket(), SHUT_WR);
      state_ = State::kClosing;
      return;
  }
}

// Reads whole records. The rest of a record that was read in part would wait
// inside OpenSSL, where epoll does not see it.
void CarriedConnection::ReadFromClient() {
  std::array<char, kPieceBytes>& piece = Piece();
  size_t have = 0;
  while (piece.size() - have >= kRecordBytes) {
    const ssize_t got = stream_->Read(piece.data() + have, piece.size() - have);
    if (got <= 0) {
      if (got == 0) client_closed_ = true;
      if (got < 0 && !WouldWait()) state_ = State::kOver;
      break;
    }
    have += static_cast<size_t>(got);
  }
  if (state_ != State::kOpen) return;
  const std::string_view bytes(piece.data(), have);
  to_server_ = guard_ != nullptr ? guard_->Pass(bytes) : std::string(bytes);
}

void CarriedConnection::SendToServer() {
  if (to_server_.empty()) return;
  const ssize_t sent =
      send(server_.get(), to_server_.data(), to_server_.size(), MSG_NOSIGNAL);
  if (sent >= 0) return RemoveSent(sent, &to_server_);
  if (WouldWait()) return;
  // The server reads no more, but what it wrote before may be left.
  to_server_ = std::string();
  client_closed_ = true;
}

void CarriedConnection::SendToClient() {
  if (to_client_.empty()) return;
  const ssize_t sent = stream_->Write(to_client_.data(), to_client_.size());
  if (sent > 0) {
    sent_ += static_cast<uint64_t>(sent);
    return RemoveSent(sent, &to_client_);
  }
  if (sent == 0 || !WouldWait()) state_ = State::kOver;
}

void CarriedConnection::Discard() {
  const ssize_t got = recv(stream_->socket(), Piece().data(), kPieceBytes, 0);
  if (got > 0) discarded_ += static_cast<size_t>(got);
  if (got == 0 || (got < 0 && !WouldWait()) || discarded_ > kMostDiscarded) {
    state_ = State::kOver;
  }
}

void CarriedConnection::MoveFromClient() {
  if (state_ == State::kClosing) return Discard();
  SendToServer();
  if (Reads()) {
    ReadFromClient();
    SendToServer();
  }
  if (client_closed_ && to_server_.empty()) shutdown(server_.get(), SHUT_WR);
}

void CarriedConnection::MoveFromServer() {
  if (state_ == State::kClosing) return;
  do {
    SendToClient();
    if (state_ == State::kOver || !to_client_.empty()) return;
    std::array<char, kPieceBytes>& piece = Piece();
    const ssize_t got = recv(server_.get(), piece.data(), piece.size(), 0);
    if (got > 0) {
      to_client_.assign(piece.data(), static_cast<size_t>(got));
      SendToClient();
    } else if (got == 0 || !WouldWait()) {
      stream_->CloseWrite();
      server_ = UniqueFd();
      state_ = State::kClosing;
    }
  } while (server_hung_up_ && to_client_.empty() && state_ == State::kOpen);
}

bool CarriedConnection::Reads() const {
  return to_server_.empty() && !client_closed_ &&
         (guard_ == nullptr || !guard_->is_over());
}

uint32_t CarriedConnection::client_events() const {
  if (state_ == State::kClosing) return EPOLLIN;
  if (state_ == State::kHandshake) {
    return stream_->wants_write() ? EPOLLOUT : EPOLLIN;
  }
  const bool writes = !to_client_.empty() || stream_->wants_write();
  return (Reads() ? uint32_t{EPOLLIN} : 0) | (writes ? uint32_t{EPOLLOUT} : 0);
}

uint32_t CarriedConnection::server_events() const {
  return (to_client_.empty() ? uint32_t{EPOLLIN} : 0) |
         (to_server_.empty() ? 0 : uint32_t{EPOLLOUT});
}

}  // namespace trivium
