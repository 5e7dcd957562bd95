#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_HTTP_API_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_HTTP_API_H_

#include <sys/socket.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/socket.h"
#include "server/calls/environment.h"
#include "server/limits/overload_manager.h"
#include "server/transports/http/connections.h"
#include "server/transports/net/credentials.h"

namespace trivium {

// The API over HTTP/1.1 on one port: the calls of Routes(), over the same
// handlers as gRPC's.
//
// The protocol is libmicrohttpd's: one thread with epoll for all connections,
// which it leaves alone while a call works or a stream has nothing to say
// (suspend and resume), so that idle streams need no threads, as they would
// with cpp-httplib. It bounds the memory of a connection's head; what it does
// not know (clients, times for a whole request, clients that go while their
// call works) is in HttpConnections.
class HttpApi {
 public:
  struct Options : HttpConnections::Options {
    std::string host = "127.0.0.1";
    int port = 0;  // 0: any that is free
    // Null: bytes come as they are; else it outlives the server.
    TlsCredentials* tls = nullptr;
  };

  // Listens when it returns. The error names the address. `environment` and
  // `overload` outlive it.
  static absl::StatusOr<std::unique_ptr<HttpApi>> Create(
      const Options& options, const Environment& environment,
      OverloadManager* overload);

  // After Stop.
  virtual ~HttpApi() = default;

  // Where it listens: the first address, where there are several.
  virtual sockaddr_storage address() const = 0;
  int port() const { return PortOf(address()); }
  // Takes no new connections; what is under way goes on.
  virtual void GoAway() = 0;
  // Ends all connections, and returns when no handler will speak again; the
  // batcher must have ended all requests.
  virtual void Stop() = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_HTTP_API_H_
