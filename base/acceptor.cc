#include "base/acceptor.h"

#include <sys/epoll.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/status.h"

namespace trivium {
namespace {

class PlainAcceptor : public Acceptor {
 public:
  explicit PlainAcceptor(std::vector<UniqueFd> listeners)
      : address_(AddressOf(listeners.front().get())),
        listeners_(std::move(listeners)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (const UniqueFd& listener : listeners_) {
      epoll_event event{};
      event.events = EPOLLIN;
      epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener.get(), &event);
    }
  }

  int fd() const override { return epoll_.get(); }
  UniqueFd Accept(sockaddr_storage* client) override {
    for (const UniqueFd& listener : listeners_) {
      socklen_t size = sizeof(*client);
      UniqueFd socket(accept4(listener.get(),
                              reinterpret_cast<sockaddr*>(client), &size,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket || errno != EAGAIN) return socket;
    }
    errno = EAGAIN;
    return UniqueFd();
  }
  void Close() override { listeners_.clear(); }
  sockaddr_storage address() const override { return address_; }

 private:
  const sockaddr_storage address_;
  std::vector<UniqueFd> listeners_;
  const UniqueFd epoll_;  // one descriptor for all listeners
};

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> NewAcceptor(const std::string& host,
                                                      int port) {
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<UniqueFd> listeners, Listen(host, port));
  return std::make_unique<PlainAcceptor>(std::move(listeners));
}

}  // namespace trivium
