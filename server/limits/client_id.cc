#include "server/limits/client_id.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/hash/hash.h"
#include "server/limits/priority.h"

namespace trivium {
namespace {

constexpr size_t kNetworkBytes = 8;

// `text` is an address in brackets, with or without a zone.
std::string NetworkOfIpv6(std::string_view text) {
  if (text.starts_with('[')) text.remove_prefix(1);
  text = text.substr(0, text.find_first_of("]%"));
  in6_addr address;
  if (inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1) {
    return std::string(text);
  }
  const auto* bytes = reinterpret_cast<const char*>(address.s6_addr);
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    char ipv4[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, bytes + 12, ipv4, sizeof(ipv4));
    return std::string("ipv4:") + ipv4;
  }
  return "ipv6:" + std::string(bytes, kNetworkBytes);
}

}  // namespace

std::string NetworkOf(std::string_view peer) {
  if (peer.starts_with("unix")) return "unix";
  const std::string_view address = peer.substr(0, peer.rfind(':'));
  if (peer.starts_with("ipv6:")) return NetworkOfIpv6(address.substr(5));
  if (peer.starts_with("ipv4:")) return std::string(address);
  return std::string(peer);
}

ClientId ClientOf(const CallContext& context) {
  // A key and an address that are equal as texts are two clients.
  if (!context.client_key.empty()) {
    return absl::HashOf(true, context.client_key);
  }
  return absl::HashOf(false, NetworkOf(context.peer));
}

Sender SenderOf(const CallContext& context) {
  return {ClientOf(context),
          PriorityOf(context).value_or(Priority::kInteractive)};
}

}  // namespace trivium
