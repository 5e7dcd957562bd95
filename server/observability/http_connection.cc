#include "server/observability/http_connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace trivium {
namespace {

// What a client may send beyond its request before it is cut off.
constexpr size_t kMaxDiscarded = 1 << 20;

}  // namespace

HttpConnection::~HttpConnection() {
  if (socket_ >= 0) close(socket_);
}

HttpConnection::HttpConnection(HttpConnection&& other) noexcept : socket_(-1) {
  *this = std::move(other);
}

HttpConnection& HttpConnection::operator=(HttpConnection&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(deadline_, other.deadline_);
  std::swap(request_, other.request_);
  std::swap(answer_, other.answer_);
  std::swap(written_, other.written_);
  std::swap(discarded_, other.discarded_);
  return *this;
}

short HttpConnection::events() const {
  return written_ < answer_.size() ? POLLOUT : POLLIN;
}

// One piece at a time, so that a client that sends fast does not keep the
// thread from the others.
bool HttpConnection::Read() {
  std::array<char, 4096> bytes;
  const ssize_t count = recv(socket_, bytes.data(), bytes.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  if (request_.state() == HttpRequest::State::kMore) {
    request_.Add({bytes.data(), static_cast<size_t>(count)});
    return true;
  }
  discarded_ += static_cast<size_t>(count);
  return discarded_ <= kMaxDiscarded;
}

bool HttpConnection::Write() {
  while (written_ < answer_.size()) {
    const ssize_t count = send(socket_, answer_.data() + written_,
                               answer_.size() - written_, MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    written_ += static_cast<size_t>(count);
  }
  // The client reads the end of the answer and closes its side.
  return shutdown(socket_, SHUT_WR) == 0;
}

bool HttpConnection::Advance(const Answer& answer) {
  if (written_ < answer_.size()) return Write();
  if (!Read()) return false;
  if (!answer_.empty() || request_.state() == HttpRequest::State::kMore) {
    return true;
  }
  answer_ = answer(request_);
  return Write();
}

}  // namespace trivium
