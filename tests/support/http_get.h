#ifndef TRIVIUM_TESTS_SUPPORT_HTTP_GET_H_
#define TRIVIUM_TESTS_SUPPORT_HTTP_GET_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace trivium {

// A connection to a port of this machine that a test may treat as badly as it
// likes. A read that waits for a minute fails.
class HttpSocket {
 public:
  explicit HttpSocket(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval minute = {60, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address),
                         sizeof(address)) == 0;
  }
  ~HttpSocket() {
    if (socket_ >= 0) close(socket_);
  }
  HttpSocket(HttpSocket&& other) noexcept
      : socket_(other.socket_), connected_(other.connected_) {
    other.socket_ = -1;
  }

  bool connected() const { return connected_; }
  // False when the server has closed the connection.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent =
          send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // All that comes until the server closes its side.
  std::string Receive() {
    std::string all;
    char bytes[4096];
    for (ssize_t count; (count = recv(socket_, bytes, sizeof(bytes), 0)) > 0;) {
      all.append(bytes, static_cast<size_t>(count));
    }
    return all;
  }
  // What comes next, of at most 4 KiB.
  std::string ReceiveSome() {
    char bytes[4096];
    const ssize_t count = recv(socket_, bytes, sizeof(bytes), 0);
    return count > 0 ? std::string(bytes, static_cast<size_t>(count)) : "";
  }

 private:
  int socket_;
  bool connected_ = false;
};

struct HttpResult {
  int status = 0;  // 0: no answer
  std::string headers;
  std::string body;
};

// A body that comes in chunks, as far as it is whole.
inline std::string JoinChunks(std::string_view chunks) {
  std::string body;
  while (true) {
    const size_t line = chunks.find("\r\n");
    if (line == chunks.npos) return body;
    const size_t size =
        std::strtoul(std::string(chunks.substr(0, line)).c_str(), nullptr, 16);
    if (size == 0 || chunks.size() < line + size + 4) return body;
    body += chunks.substr(line + 2, size);
    chunks.remove_prefix(line + size + 4);
  }
}

inline HttpResult ParseHttpResult(const std::string& answer) {
  HttpResult result;
  const size_t end = answer.find("\r\n\r\n");
  if (answer.rfind("HTTP/1.1 ", 0) != 0 || end == answer.npos) return result;
  result.status = std::atoi(answer.c_str() + 9);
  result.headers = answer.substr(0, end);
  result.body = answer.substr(end + 4);
  if (result.headers.find("Transfer-Encoding: chunked") !=
      result.headers.npos) {
    result.body = JoinChunks(result.body);
  }
  return result;
}

inline HttpResult HttpGet(int port, const std::string& path) {
  HttpSocket socket(port);
  socket.Send("GET " + path +
              " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  return ParseHttpResult(socket.Receive());
}

// A request with a body, after whose answer the connection ends. `headers` each
// end with a line's end.
inline std::string PostText(
    const std::string& path, const std::string& body,
    const std::string& headers = "Content-Type: application/json\r\n") {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Connection: close\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

inline HttpResult HttpPost(
    int port, const std::string& path, const std::string& body,
    const std::string& headers = "Content-Type: application/json\r\n") {
  HttpSocket socket(port);
  socket.Send(PostText(path, body, headers));
  return ParseHttpResult(socket.Receive());
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_HTTP_GET_H_
