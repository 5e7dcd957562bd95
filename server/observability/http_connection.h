#ifndef TRIVIUM_SERVER_OBSERVABILITY_HTTP_CONNECTION_H_
#define TRIVIUM_SERVER_OBSERVABILITY_HTTP_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "server/observability/http_request.h"

namespace trivium {

// A client's connection and where its one request stands: it is read, answered,
// and what the client still sends is thrown away for a while, since closing at
// once would take the answer from it. Never waits.
class HttpConnection {
 public:
  // Makes the whole answer to a request that is not kMore.
  using Answer = std::function<std::string(const HttpRequest&)>;

  // Owns the socket, which does not block.
  HttpConnection(int socket, std::chrono::steady_clock::time_point deadline)
      : socket_(socket), deadline_(deadline) {}
  ~HttpConnection();
  HttpConnection(HttpConnection&& other) noexcept;
  HttpConnection& operator=(HttpConnection&& other) noexcept;

  int socket() const { return socket_; }
  std::chrono::steady_clock::time_point deadline() const { return deadline_; }
  // Of poll(): what it waits for.
  short events() const;

  // Does what can be done without waiting. False when the connection is over.
  bool Advance(const Answer& answer);

 private:
  // What the client sends; false when it is over.
  bool Read();
  bool Write();

  int socket_;  // -1: moved from
  std::chrono::steady_clock::time_point deadline_;
  HttpRequest request_;
  std::string answer_;
  size_t written_ = 0;
  size_t discarded_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_HTTP_CONNECTION_H_
