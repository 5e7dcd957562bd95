#ifndef TRIVIUM_BASE_SOCKET_H_
#define TRIVIUM_BASE_SOCKET_H_

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// A file descriptor, closed with this object.
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  ~UniqueFd();
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;  // -1: none
};

// Sockets that listen on every address of `host`, at least one, all on the same
// `port`; 0 is any that is free. They do not block. UNAVAILABLE tells what the
// system said.
absl::StatusOr<std::vector<UniqueFd>> Listen(const std::string& host, int port);

// Where a socket is bound to.
sockaddr_storage AddressOf(int socket);
int PortOf(int socket);
int PortOf(const sockaddr_storage& address);

// "ipv4:127.0.0.1:5000", "ipv6:[::1]:5000", as gRPC writes addresses.
std::string AddressText(const sockaddr_storage& address);

}  // namespace trivium

#endif  // TRIVIUM_BASE_SOCKET_H_
