#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_STREAM_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_STREAM_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/socket.h"

struct ssl_ctx_st;
struct ssl_st;

namespace trivium {

// Names of the protocols above TLS, in ALPN's encoding: the length comes first.
inline const std::string kHttp2Protocol = "\x02h2";
inline const std::string kHttp1Protocol = "\x08http/1.1";

// The bytes of a connection over a non-blocking socket. No function waits. Used
// by one thread.
//
//   TlsStream stream(context, std::move(socket), true, &kHttp2Protocol);
//   while (stream.Handshake() == Stream::Progress::kWaits) { ... poll ... }
//   stream.Read(...), stream.Write(...)
class Stream {
 public:
  enum class Progress { kDone, kWaits, kFailed };

  virtual ~Stream() = default;
  // Continues the handshake. Nothing may be read or written before it is done.
  virtual Progress Handshake() = 0;
  // Why the handshake failed.
  virtual std::string error() const = 0;

  // Like recv() and send(). Return 0 if the other side is done; -1 with errno
  // EAGAIN if they would wait; -1 with another errno if the connection is over.
  // The next Write must begin with the bytes that the last one did not take.
  virtual ssize_t Read(char* to, size_t size) = 0;
  virtual ssize_t Write(const char* from, size_t size) = 0;
  // Tells the other side that nothing more comes.
  virtual void CloseWrite() = 0;

  // True if Handshake or Read waits until the socket can be written.
  virtual bool wants_write() const = 0;
  virtual int socket() const = 0;
};

// Bytes as they are; no handshake.
class PlainStream final : public Stream {
 public:
  explicit PlainStream(UniqueFd socket) : socket_(std::move(socket)) {}

  Progress Handshake() override { return Progress::kDone; }
  std::string error() const override { return ""; }
  ssize_t Read(char* to, size_t size) override;
  ssize_t Write(const char* from, size_t size) override;
  void CloseWrite() override;
  bool wants_write() const override { return false; }
  int socket() const override { return socket_.get(); }

 private:
  const UniqueFd socket_;
};

// TLS.
class TlsStream final : public Stream {
 public:
  // `context` comes from TlsCredentials, for the same side. `protocol` outlives
  // the stream; a server refuses clients that only offer others.
  TlsStream(std::shared_ptr<ssl_ctx_st> context, UniqueFd socket,
            bool is_server, const std::string* protocol);
  ~TlsStream() override;

  Progress Handshake() override;
  std::string error() const override { return error_; }
  ssize_t Read(char* to, size_t size) override;
  ssize_t Write(const char* from, size_t size) override;
  void CloseWrite() override;
  bool wants_write() const override;
  int socket() const override { return socket_.get(); }

 private:
  // Translates what a function of OpenSSL returned into Read's result.
  ssize_t Outcome(int result) const;

  const UniqueFd socket_;
  const std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
  std::string error_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_STREAM_H_
