#ifndef TRIVIUM_SERVER_HOST_PORT_H_
#define TRIVIUM_SERVER_HOST_PORT_H_

#include <string>

#include "absl/status/statusor.h"

namespace trivium {

struct HostPort {
  std::string host;
  int port = 0;
};

// Parses "127.0.0.1:9464", "localhost:0" or "[::1]:9464". A Unix socket,
// "unix:/run/trivium.sock", is a host without a port.
absl::StatusOr<HostPort> ParseHostPort(const std::string& text);

// Returns the address at which a program on this machine reaches the server
// that listens at `listen` on `port`.
std::string AddressToCall(const std::string& listen, int port);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HOST_PORT_H_
