#include "server/transports/net/stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace trivium {
namespace {

// Returns OpenSSL's last error for this connection.
std::string ErrorOf(const SSL* ssl) {
  if (const long chain = SSL_get_verify_result(ssl); chain != X509_V_OK) {
    return std::string("the client's certificate: ") +
           X509_verify_cert_error_string(chain);
  }
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "the connection ended" : reason;
}

int Bounded(size_t size) {
  return static_cast<int>(std::min<size_t>(size, INT_MAX));
}

}  // namespace

ssize_t PlainStream::Read(char* to, size_t size) {
  return recv(socket_.get(), to, size, 0);
}

ssize_t PlainStream::Write(const char* from, size_t size) {
  return send(socket_.get(), from, size, MSG_NOSIGNAL);
}

void PlainStream::CloseWrite() { shutdown(socket_.get(), SHUT_WR); }

TlsStream::TlsStream(std::shared_ptr<SSL_CTX> context, UniqueFd socket,
                     bool is_server, const std::string* protocol)
    : socket_(std::move(socket)), ssl_(SSL_new(context.get()), SSL_free) {
  SSL_set_fd(ssl_.get(), socket_.get());
  if (is_server) {
    // TlsCredentials reads it when it chooses the protocol.
    SSL_set_app_data(ssl_.get(), const_cast<std::string*>(protocol));
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_alpn_protos(
        ssl_.get(), reinterpret_cast<const unsigned char*>(protocol->data()),
        static_cast<unsigned int>(protocol->size()));
    SSL_set_connect_state(ssl_.get());
  }
}

TlsStream::~TlsStream() = default;

Stream::Progress TlsStream::Handshake() {
  // Here and below: an error that another connection left in OpenSSL's queue
  // would be taken for this one's.
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return Progress::kDone;
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    return Progress::kWaits;
  }
  error_ = ErrorOf(ssl_.get());
  return Progress::kFailed;
}

ssize_t TlsStream::Outcome(int result) const {
  if (result > 0) return result;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      errno = EAGAIN;
      return -1;
    default:
      errno = ECONNRESET;
      return -1;
  }
}

ssize_t TlsStream::Read(char* to, size_t size) {
  ERR_clear_error();
  return Outcome(SSL_read(ssl_.get(), to, Bounded(size)));
}

ssize_t TlsStream::Write(const char* from, size_t size) {
  ERR_clear_error();
  return Outcome(SSL_write(ssl_.get(), from, Bounded(size)));
}

void TlsStream::CloseWrite() {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  shutdown(socket_.get(), SHUT_WR);
}

bool TlsStream::wants_write() const { return SSL_want_write(ssl_.get()); }

}  // namespace trivium
