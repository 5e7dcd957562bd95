#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_STREAM_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_STREAM_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/socket.h"

struct ssl_ctx_st;
struct ssl_st;

namespace trivium {

// Protocols above TLS, as ALPN writes them: each with its length before it.
inline const std::string kHttp2Protocol = "\x02h2";
inline const std::string kHttp1Protocol = "\x08http/1.1";

// TLS over a socket that does not block; none of its functions waits. Of one
// thread.
//
//   TlsStream stream(context, std::move(socket), true, &kHttp2Protocol);
//   while (stream.Handshake() == TlsStream::Progress::kWaits) { ... poll ... }
//   stream.Read(...), stream.Write(...)
class TlsStream {
 public:
  enum class Progress { kDone, kWaits, kFailed };

  // `context` is TlsCredentials' for that side. `protocol` outlives the stream;
  // a server refuses clients that offer others only.
  TlsStream(std::shared_ptr<ssl_ctx_st> context, UniqueFd socket,
            bool is_server, const std::string* protocol);
  ~TlsStream();

  // Until it is done, nothing may be read or written.
  Progress Handshake();
  // Why it failed.
  std::string error() const { return error_; }

  // As recv() and send(): 0 where the other side is done; -1 with errno EAGAIN
  // where they would wait, else where the connection is over. What Write has
  // not taken is to be offered again first.
  ssize_t Read(char* to, size_t size);
  ssize_t Write(const char* from, size_t size);
  // Tells the other side that nothing more comes.
  void CloseWrite();

  // What Handshake or Read waits for: that the socket can be written?
  bool wants_write() const;
  int socket() const { return socket_.get(); }

 private:
  // Of what a function of OpenSSL returned.
  ssize_t Outcome(int result) const;

  const UniqueFd socket_;
  const std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
  std::string error_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_STREAM_H_
