#ifndef TRIVIUM_SERVER_HOST_PORT_H_
#define TRIVIUM_SERVER_HOST_PORT_H_

#include <string>

#include "absl/status/statusor.h"

namespace trivium {

struct HostPort {
  std::string host;
  int port = 0;
};

// "127.0.0.1:9464", "localhost:0", "[::1]:9464".
absl::StatusOr<HostPort> ParseHostPort(const std::string& text);

// Where a program on this machine reaches who listens at `listen`, on `port`.
std::string AddressToCall(const std::string& listen, int port);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HOST_PORT_H_
