#ifndef TRIVIUM_BASE_ACCEPTOR_H_
#define TRIVIUM_BASE_ACCEPTOR_H_

#include <sys/socket.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/socket.h"

namespace trivium {

// The source of a server's connections. Never blocks. Used by one thread.
class Acceptor {
 public:
  virtual ~Acceptor() = default;

  // A descriptor for poll() and epoll, readable while a connection may be
  // waiting.
  virtual int fd() const = 0;
  // Returns the next connection as a non-blocking socket, and its client's
  // address. If there is none, errno tells why: EAGAIN means none is waiting.
  virtual UniqueFd Accept(sockaddr_storage* client) = 0;
  // Stops listening. Accepted connections stay open.
  virtual void Close() = 0;
  // The address it listens on, or did before Close(): the first, if there are
  // several.
  virtual sockaddr_storage address() const = 0;
};

// Returns an Acceptor that listens on every address of `host` (see Listen), or
// at a Unix socket, "unix:/run/trivium.sock" (see ListenUnix), whatever `port`
// is. It removes the socket's file in the end.
absl::StatusOr<std::unique_ptr<Acceptor>> NewAcceptor(const std::string& host,
                                                      int port);

// Returns an address to listen on as people write it: "127.0.0.1:8080".
std::string ListenText(const std::string& host, int port);

}  // namespace trivium

#endif  // TRIVIUM_BASE_ACCEPTOR_H_
