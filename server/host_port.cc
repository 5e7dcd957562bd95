#include "server/host_port.h"

#include <fmt/format.h>

#include <charconv>

#include "base/acceptor.h"
#include "base/socket.h"

namespace trivium {

std::string AddressToCall(const std::string& listen, int port) {
  const absl::StatusOr<HostPort> address = ParseHostPort(listen);
  std::string host = address.ok() ? address->host : "127.0.0.1";
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  return ListenText(host, port);
}

absl::StatusOr<HostPort> ParseHostPort(const std::string& text) {
  const auto error = [&text] {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' must be HOST:PORT, such as 127.0.0.1:9464 or [::1]:9464, or a "
        "Unix socket, such as unix:/run/trivium.sock",
        text));
  };
  if (IsUnixAddress(text) && text.size() > kUnixPrefix.size()) {
    return HostPort{.host = text};
  }
  const size_t colon = text.rfind(':');
  if (colon == 0 || colon == std::string::npos) return error();
  HostPort result;
  result.host = text.substr(0, colon);
  if (result.host.front() == '[' && result.host.back() == ']') {
    result.host = result.host.substr(1, result.host.size() - 2);
  } else if (result.host.find(':') != std::string::npos) {
    return error();
  }
  const char* begin = text.data() + colon + 1;
  const char* end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(begin, end, result.port);
  if (code != std::errc() || rest != end || result.port < 0 ||
      result.port > 65535) {
    return error();
  }
  return result;
}

}  // namespace trivium
