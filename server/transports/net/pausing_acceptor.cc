#include "server/transports/net/pausing_acceptor.h"

#include <sys/epoll.h>

#include <cerrno>
#include <utility>

namespace trivium {
namespace {

constexpr absl::Duration kFilesPause = absl::Milliseconds(100);

}  // namespace

PausingAcceptor::PausingAcceptor(std::unique_ptr<Acceptor> acceptor, int epoll,
                                 uint64_t tag)
    : acceptor_(std::move(acceptor)), epoll_(epoll), tag_(tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag_;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, acceptor_->fd(), &event);
}

bool PausingAcceptor::Accept(absl::Time now, OnConnection on_connection,
                             int most) {
  for (int i = 0; i < most; ++i) {
    sockaddr_storage address{};
    UniqueFd client = acceptor_->Accept(&address);
    if (client) {
      on_connection(std::move(client), address);
      continue;
    }
    const int error = errno;
    const bool no_files_left = error == EMFILE || error == ENFILE ||
                               error == ENOBUFS || error == ENOMEM;
    if (no_files_left) PauseForFiles(now);
    errno = error;
    return !no_files_left;
  }
  return true;
}

void PausingAcceptor::Pause(absl::Time until) {
  resume_ = until;
  Watch(false);
}

void PausingAcceptor::PauseForFiles(absl::Time now) {
  Pause(now + kFilesPause);
}

void PausingAcceptor::Resume(absl::Time now) {
  if (now < resume_) return;
  resume_ = absl::InfiniteFuture();
  Watch(true);
}

void PausingAcceptor::Watch(bool accept) const {
  epoll_event event{};
  event.events = accept ? uint32_t{EPOLLIN} : 0;
  event.data.u64 = tag_;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, acceptor_->fd(), &event);
}

}  // namespace trivium
