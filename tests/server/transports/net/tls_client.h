#ifndef TRIVIUM_TESTS_SERVER_TRANSPORTS_NET_TLS_CLIENT_H_
#define TRIVIUM_TESTS_SERVER_TRANSPORTS_NET_TLS_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <csignal>
#include <memory>
#include <string>
#include <string_view>

#include "base/socket.h"

namespace trivium {

// An OpenSSL client on a blocking socket that waits at most a minute.
class TlsClient {
 public:
  struct Options {
    std::string ca = "";           // authority of the server; empty: any
    std::string certificate = "";  // the client's; empty: none
    std::string key = "";
    std::string protocol = "";  // as ALPN writes it; empty: none
    int most_version = 0;       // 0: any
  };

  TlsClient(int port, const Options& options) : socket_(Connect(port)) {
    // Servers may close connections that the test writes to.
    std::signal(SIGPIPE, SIG_IGN);
    SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
    if (!options.ca.empty()) {
      SSL_CTX_load_verify_file(context, options.ca.c_str());
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    }
    if (!options.certificate.empty()) {
      SSL_CTX_use_certificate_chain_file(context, options.certificate.c_str());
      SSL_CTX_use_PrivateKey_file(context, options.key.c_str(),
                                  SSL_FILETYPE_PEM);
    }
    if (options.most_version != 0) {
      SSL_CTX_set_security_level(context, 0);
      SSL_CTX_set_max_proto_version(context, options.most_version);
    }
    ssl_.reset(SSL_new(context));
    SSL_CTX_free(context);
    SSL_set_alpn_protos(
        ssl_.get(),
        reinterpret_cast<const unsigned char*>(options.protocol.data()),
        static_cast<unsigned>(options.protocol.size()));
    SSL_set_fd(ssl_.get(), socket_.get());
    connected_ = SSL_connect(ssl_.get()) == 1;
  }

  static UniqueFd Connect(int port) {
    UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval minute = {60, 0};
    setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(client.get(), reinterpret_cast<sockaddr*>(&address),
                sizeof(address)) != 0) {
      return UniqueFd();
    }
    return client;
  }

  // True if the client's side of the handshake is done. With TLS 1.3 a server
  // that demands a certificate refuses afterwards; then nothing arrives.
  bool connected() const { return connected_; }
  int socket_fd() const { return socket_.get(); }

  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const int sent =
          SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Returns fewer bytes if the other side has closed.
  std::string Receive(size_t bytes) {
    std::string got(bytes, '\0');
    size_t have = 0;
    while (have < bytes) {
      const int count = SSL_read(ssl_.get(), got.data() + have,
                                 static_cast<int>(bytes - have));
      if (count <= 0) break;
      have += static_cast<size_t>(count);
    }
    return got.substr(0, have);
  }
  std::string ReceiveAll() {
    std::string all, piece;
    while (!(piece = Receive(1)).empty()) all += piece;
    return all;
  }
  // Returns OpenSSL's last error.
  static std::string Error() {
    const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
    return reason == nullptr ? "" : reason;
  }
  void CloseWrite() { SSL_shutdown(ssl_.get()); }
  // Returns the common name of the server's certificate, or "".
  std::string ServersName() const {
    X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
    if (certificate == nullptr) return "";
    char name[256] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate),
                              NID_commonName, name, sizeof(name));
    return name;
  }

 private:
  const UniqueFd socket_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_{nullptr, SSL_free};
  bool connected_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_TRANSPORTS_NET_TLS_CLIENT_H_
