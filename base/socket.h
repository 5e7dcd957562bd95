#ifndef TRIVIUM_BASE_SOCKET_H_
#define TRIVIUM_BASE_SOCKET_H_

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// A file descriptor; the destructor closes it.
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

// Returns at least one non-blocking socket; they listen on every address of
// `host`, all on the same `port` (0: any free one). UNAVAILABLE contains the
// system's error.
absl::StatusOr<std::vector<UniqueFd>> Listen(const std::string& host, int port);

// The prefix of a Unix socket's address: "unix:/run/trivium.sock".
inline constexpr std::string_view kUnixPrefix = "unix:";
bool IsUnixAddress(std::string_view address);

// Listens at a path, on a non-blocking socket. Its owner and its group may
// connect (mode 0660). Replaces the socket of a server that has died.
// UNAVAILABLE says why it cannot, also if a server listens there.
absl::StatusOr<UniqueFd> ListenUnix(const std::string& path);

// Returns the address that a socket is bound to.
sockaddr_storage AddressOf(int socket);
int PortOf(int socket);
int PortOf(const sockaddr_storage& address);  // 0: a Unix socket's
// The size that bind and connect need.
socklen_t SizeOf(const sockaddr_storage& address);

// Returns "ipv4:127.0.0.1:5000", "ipv6:[::1]:5000" or, of a Unix socket's
// client, which has no address, "unix:", in gRPC's notation.
std::string AddressText(const sockaddr_storage& address);

}  // namespace trivium

#endif  // TRIVIUM_BASE_SOCKET_H_
