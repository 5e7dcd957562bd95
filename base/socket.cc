#include "base/socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
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

sockaddr_storage AddressOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return address;
}

int PortOf(int socket) { return PortOf(AddressOf(socket)); }

int PortOf(const sockaddr_storage& address) {
  return std::atoi(Numeric(address).second.c_str());
}

std::string AddressText(const sockaddr_storage& address) {
  const auto [host, port] = Numeric(address);
  return address.ss_family == AF_INET6 ? fmt::format("ipv6:[{}]:{}", host, port)
                                       : fmt::format("ipv4:{}:{}", host, port);
}

}  // namespace trivium
