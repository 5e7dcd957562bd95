#include "server/transports/grpc/relayed_peer.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string_view>

namespace trivium {
namespace {

constexpr std::string_view kAbstractScheme = "unix-abstract:";

// Returns a random number for this process. Abstract names belong to the
// network namespace, which processes with equal process ids may share.
uint32_t ThisProcess() {
  static const uint32_t number = std::random_device{}();
  return number;
}

bool BindTo(const UniqueFd& socket, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A first byte of 0 makes it abstract: no file.
  const size_t size = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::copy_n(name.begin(), size, address.sun_path + 1);
  return bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
              static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                     size)) == 0;
}

}  // namespace

std::optional<RelayedPair> NewRelayedPair(const std::string& peer,
                                          uint64_t id) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                 pair) != 0) {
    return std::nullopt;
  }
  RelayedPair result{UniqueFd(pair[0]), UniqueFd(pair[1])};
  // Without a name, clients could not be told apart.
  if (!BindTo(result.ours,
              fmt::format("{}@{:x}.{}", peer, ThisProcess(), id))) {
    return std::nullopt;
  }
  return result;
}

std::string PeerOfRelayed(const std::string& peer) {
  if (peer.rfind(kAbstractScheme, 0) != 0) return peer;
  const std::string name = peer.substr(kAbstractScheme.size());
  return name.substr(0, name.rfind('@'));
}

}  // namespace trivium
