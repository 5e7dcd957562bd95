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

// Names of the protocols above TLS, in ALPN's encoding: the length comes first.
inline const std::string kHttp2Protocol = "\x02h2";
inline const std::string kHttp1Protocol = "\x08http/1.1";

// TLS over a non-blocking socket. No function waits. Used by one thread.
//
//   TlsStream stream(context, std::move(socket), true, &kHttp2Protocol);
//   while (stream.Handshake() == TlsStream::Progress::kWaits) { ... poll ... }
//   stream.Read(...), stream.Write(...)
class TlsStream {
 public:
  enum class Progress { kDone, kWaits, kFailed };

  // `context` comes from TlsCredentials, for the same side. `protocol` outlives
  // the stream; a server refuses clients that only offer others.
  TlsStream(std::shared_ptr<ssl_ctx_st> context, UniqueFd socket,
            bool is_server, const std::string* protocol);
  ~TlsStream();

  // Continues the handshake. Nothing may be read or written before it is done.
  Progress Handshake();
  // Why the handshake failed.
  std::string error() const { return error_; }

  // Like recv() and send(). Return 0 if the other side is done; -1 with errno
  // EAGAIN if they would wait; -1 with another errno if the connection is over.
  // The next Write must begin with the bytes that the last one did not take.
  ssize_t Read(char* to, size_t size);
  ssize_t Write(const char* from, size_t size);
  // Tells the other side that nothing more comes.
  void CloseWrite();

  // True if Handshake or Read waits until the socket can be written.
  bool wants_write() const;
  int socket() const { return socket_.get(); }

 private:
  // Translates what a function of OpenSSL returned into Read's result.
  ssize_t Outcome(int result) const;

  const UniqueFd socket_;
  const std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
  std::string error_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_STREAM_H_
