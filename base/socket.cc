#include "base/socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace trivium {
namespace {

constexpr int kBacklog = 1024;

UniqueFd ListenAt(const addrinfo& address) {
  UniqueFd listener(socket(address.ai_family,
                           address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                           address.ai_protocol));
  if (!listener) return listener;
  // Not SO_REUSEPORT, with which a second server on the port would silently
  // receive some of the clients.
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(listener.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return UniqueFd();
  }
  return listener;
}

void SetPort(sockaddr* address, int port) {
  const uint16_t bytes = htons(static_cast<uint16_t>(port));
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = bytes;
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = bytes;
  }
}

// Returns the numeric host and the port of an address.
std::pair<std::string, std::string> Numeric(const sockaddr_storage& address) {
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "0";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof(address),
              host, sizeof(host), port, sizeof(port),
              NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, port};
}

bool Bind(const UniqueFd& listener, const sockaddr_un& address) {
  return bind(listener.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) == 0;
}

// OK if the socket at an address belongs to no server that lives.
absl::Status CheckStale(const sockaddr_un& address) {
  struct stat file {};
  if (lstat(address.sun_path, &file) == 0 && !S_ISSOCK(file.st_mode)) {
    return absl::UnavailableError("there is a file that is no socket");
  }
  const UniqueFd client(
      socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (connect(client.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) == 0 ||
      errno == EAGAIN) {
    return absl::UnavailableError("another server listens there");
  }
  return errno == ECONNREFUSED ? absl::OkStatus()
                               : absl::UnavailableError(strerror(errno));
}

}  // namespace

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

absl::StatusOr<std::vector<UniqueFd>> Listen(const std::string& host,
                                             int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  std::vector<UniqueFd> listeners;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (code != 0) return absl::UnavailableError(gai_strerror(code));
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    // All addresses use the port that was chosen for the first one.
    if (!listeners.empty()) port = PortOf(listeners.front().get());
    SetPort(at->ai_addr, port);
    UniqueFd listener = ListenAt(*at);
    if (listener) {
      listeners.push_back(std::move(listener));
    } else if (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT) {
      // Other errors only mean that the machine lacks such addresses, for
      // example without IPv6.
      error = errno;
      listeners.clear();
      break;
    }
  }
  freeaddrinfo(found);
  if (listeners.empty()) return absl::UnavailableError(strerror(error));
  return listeners;
}

bool IsUnixAddress(std::string_view address) {
  return address.starts_with(kUnixPrefix);
}

absl::StatusOr<UniqueFd> ListenUnix(const std::string& path) {
  constexpr mode_t kMode = 0660;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::UnavailableError(
        fmt::format("the path has {} bytes, and a socket's has 1 to {}",
                    path.size(), sizeof(address.sun_path) - 1));
  }
  path.copy(address.sun_path, path.size());
  UniqueFd listener(
      socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  bool bound = Bind(listener, address);
  if (!bound && errno == EADDRINUSE) {
    const absl::Status stale = CheckStale(address);
    if (!stale.ok()) return stale;
    unlink(path.c_str());
    bound = Bind(listener, address);
  }
  // Nobody connects before it listens.
  if (!bound || chmod(path.c_str(), kMode) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return absl::UnavailableError(strerror(errno));
  }
  return listener;
}

sockaddr_storage AddressOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return address;
}

int PortOf(int socket) { return PortOf(AddressOf(socket)); }

socklen_t SizeOf(const sockaddr_storage& address) {
  return address.ss_family == AF_UNIX    ? sizeof(sockaddr_un)
         : address.ss_family == AF_INET6 ? sizeof(sockaddr_in6)
                                         : sizeof(sockaddr_in);
}

int PortOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_UNIX) return 0;
  return std::atoi(Numeric(address).second.c_str());
}

std::string AddressText(const sockaddr_storage& address) {
  if (address.ss_family == AF_UNIX) return std::string(kUnixPrefix);
  const auto [host, port] = Numeric(address);
  return address.ss_family == AF_INET6 ? fmt::format("ipv6:[{}]:{}", host, port)
                                       : fmt::format("ipv4:{}:{}", host, port);
}

}  // namespace trivium
