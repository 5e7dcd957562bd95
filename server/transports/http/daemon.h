#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_DAEMON_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_DAEMON_H_

#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/observability/metrics.h"
#include "server/transports/http/connections.h"
#include "server/transports/net/credentials.h"

// libmicrohttpd's types.
struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;

namespace trivium {

// Answers the requests of a daemon. Called on libmicrohttpd's thread; must not
// block.
class HttpService {
 public:
  virtual ~HttpService() = default;
  // `path` is without the query, and as the client wrote it: percent-encoded.
  // Called for a request's head, then for each piece of its body, then at the
  // body's end (as libmicrohttpd's MHD_AccessHandlerCallback). `context` is the
  // request's own, null at first. Returns false to close the connection.
  virtual bool OnRequest(MHD_Connection* connection, const char* path,
                         const char* method, const char* data, size_t* size,
                         void** context) = 0;
  // The request is over. `context` is as OnRequest left it.
  virtual void OnCompleted(void* context) = 0;
};

// A request that Http1Guard refused, with the status and the message to answer.
struct HttpRefusal {
  int status = 400;
  std::string message;
};

// HTTP/1.1 on one port, by libmicrohttpd: one thread with epoll for all
// connections, which it leaves alone while a call works or a stream has nothing
// to say (suspend and resume). So idle streams need no threads, as they would
// with cpp-httplib. The library bounds the memory of a connection's head;
// HttpConnections does the rest: it accepts, and bounds connections and times.
// A carrier (net/carrier.h) terminates TLS and has Http1Guard read the bytes
// first.
//
//   auto daemon = HttpDaemon::Listen(options, metrics).value();
//   ... prepare what needs daemon->connections()
//   daemon->Serve(service)
class HttpDaemon {
 public:
  struct Options : HttpConnections::Options {
    std::string host = "127.0.0.1";
    int port = 0;  // 0: any that is free
    // Null: no TLS. Else it outlives the daemon.
    TlsCredentials* tls = nullptr;
    // Memory for a connection's head, and for pieces of its body and answer.
    size_t connection_bytes = 32 << 10;
    // Refuses requests that are not quite HTTP/1.1 (Http1Guard). The service
    // asks RefusalOf for each head, and again at each body's end.
    bool strict = true;
  };

  // Listens when it returns, and accepts nothing yet. The error says why it
  // cannot. `metrics` outlives it.
  static absl::StatusOr<std::unique_ptr<HttpDaemon>> Listen(
      const Options& options, Metrics* metrics);

  // Ends all connections.
  ~HttpDaemon();

  // Begins to serve. Called once; `service` outlives the daemon.
  absl::Status Serve(HttpService* service);

  // The address it listens on; the first if there are several.
  const sockaddr_storage& address() const { return address_; }
  HttpConnections* connections() { return &connections_; }

 private:
  HttpDaemon(const Options& options, std::unique_ptr<Acceptor> acceptor,
             Metrics* metrics)
      : options_(options),
        acceptor_(std::move(acceptor)),
        address_(acceptor_->address()),
        connections_(options, metrics) {}

  const Options options_;
  std::unique_ptr<Acceptor> acceptor_;  // until Serve
  const sockaddr_storage address_;
  HttpConnections connections_;
  HttpService* service_ = nullptr;
  MHD_Daemon* daemon_ = nullptr;
};

// Returns why the guard refused a request, if it did. `in_trailers` asks what
// was wrong with the body. The connection must close with the answer.
std::optional<HttpRefusal> RefusalOf(MHD_Connection* connection,
                                     bool in_trailers);

// The id and the address of a request's connection.
HttpConnections::Id IdOf(MHD_Connection* connection);
sockaddr_storage ClientOf(MHD_Connection* connection);

// Returns a response that owns its body; null without memory.
MHD_Response* WholeResponse(std::string body);

// The same for a body that outlives the daemon, which is not copied.
MHD_Response* SharedResponse(std::string_view body);

// Answers a request with a response, which it takes and which may be null.
// Returns what OnRequest is to return.
bool QueueResponse(
    MHD_Connection* connection, int status,
    const std::vector<std::pair<std::string, std::string>>& headers,
    MHD_Response* response);
// Answers 503 and ends the connection, without memory of ours. Returns what
// OnRequest is to return: false if the library has no memory either, or reads
// the body still.
bool RefuseForMemory(MHD_Connection* connection);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_DAEMON_H_
