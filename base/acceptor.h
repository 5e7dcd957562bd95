#ifndef TRIVIUM_BASE_ACCEPTOR_H_
#define TRIVIUM_BASE_ACCEPTOR_H_

#include <sys/socket.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/socket.h"

namespace trivium {

// Where a server's connections come from. Of one thread, and it never waits.
class Acceptor {
 public:
  virtual ~Acceptor() = default;

  // Readable while there may be a connection; of poll() and epoll.
  virtual int fd() const = 0;
  // The next connection, a socket that does not block, and its client's
  // address. Where it gives none, errno tells why: EAGAIN, there is none now.
  virtual UniqueFd Accept(sockaddr_storage* client) = 0;
  // Listens no more. Connections that it has given stay.
  virtual void Close() = 0;
  // Where it listens, or did: the first address, where there are several.
  virtual sockaddr_storage address() const = 0;
};

// Connections as they come to every address of `host` (Listen).
absl::StatusOr<std::unique_ptr<Acceptor>> NewAcceptor(const std::string& host,
                                                      int port);

}  // namespace trivium

#endif  // TRIVIUM_BASE_ACCEPTOR_H_
