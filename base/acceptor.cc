#include "base/acceptor.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

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
      *client = {};  // a Unix socket's client has only a family
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

// Removes the socket's file, unless another server has replaced it.
class UnixAcceptor final : public PlainAcceptor {
 public:
  UnixAcceptor(std::vector<UniqueFd> listeners, std::string path)
      : PlainAcceptor(std::move(listeners)), path_(std::move(path)) {
    stat(path_.c_str(), &file_);
  }
  ~UnixAcceptor() override { RemoveFile(); }

  void Close() override {
    RemoveFile();
    PlainAcceptor::Close();
  }

 private:
  void RemoveFile() {
    struct stat now {};
    if (stat(path_.c_str(), &now) == 0 && now.st_dev == file_.st_dev &&
        now.st_ino == file_.st_ino) {
      unlink(path_.c_str());
    }
    file_ = {};
  }

  const std::string path_;
  struct stat file_ {};
};

}  // namespace

absl::StatusOr<std::unique_ptr<Acceptor>> NewAcceptor(const std::string& host,
                                                      int port) {
  std::vector<UniqueFd> listeners;
  if (IsUnixAddress(host)) {
    const std::string path = host.substr(kUnixPrefix.size());
    TRIVIUM_ASSIGN_OR_RETURN(UniqueFd listener, ListenUnix(path));
    listeners.push_back(std::move(listener));
    return std::make_unique<UnixAcceptor>(std::move(listeners), path);
  }
  TRIVIUM_ASSIGN_OR_RETURN(listeners, Listen(host, port));
  return std::make_unique<PlainAcceptor>(std::move(listeners));
}

std::string ListenText(const std::string& host, int port) {
  if (IsUnixAddress(host)) return host;
  return host.find(':') == host.npos ? fmt::format("{}:{}", host, port)
                                     : fmt::format("[{}]:{}", host, port);
}

}  // namespace trivium
