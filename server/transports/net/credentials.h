#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_CREDENTIALS_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_CREDENTIALS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/repeating_thread.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace trivium {

// The server's certificate, and what it demands of clients, from PEM files:
//   certificate  the certificate, then those between it and the root
//   key          the certificate's private key, not encrypted
//   client_ca    certificates of the authorities that sign clients'
//                certificates; clients without one are refused. Empty: clients
//                need no certificate.
//
// A thread reads the files again every `interval`. When all of them are good,
// new connections use them. Else the log says once what is wrong, and the last
// good ones stay, so files may be replaced in any order. Thread-safe.
class TlsCredentials {
 public:
  struct Files {
    std::string certificate;
    std::string key;
    std::string client_ca = "";
  };

  // The error names the file and says what is wrong with it.
  static absl::StatusOr<std::unique_ptr<TlsCredentials>> Load(
      const Files& files, absl::Duration interval = absl::Seconds(5));

  // The context for a client's next connection.
  std::shared_ptr<ssl_ctx_st> server() const;
  // The context with which this process probes its own port. It trusts any
  // server and shows the server's own certificate, which the server accepts.
  std::shared_ptr<ssl_ctx_st> own_client() const;

  // Reads the files now, as the thread does. Returns what is wrong with them.
  absl::Status Reload();

 private:
  struct Contents {
    std::string certificate, key, client_ca;
    bool operator==(const Contents&) const = default;
  };
  struct Contexts {
    std::shared_ptr<ssl_ctx_st> server, own_client;
  };

  explicit TlsCredentials(const Files& files) : files_(files) {}
  absl::StatusOr<Contents> Read() const;
  absl::StatusOr<Contexts> Make(const Contents& contents) const;
  absl::Status ReloadLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(reload_mutex_);

  const Files files_;
  mutable Mutex mutex_;
  Contexts contexts_ ABSL_GUARDED_BY(mutex_);
  Mutex reload_mutex_;  // taken before mutex_
  // The files' contents that contexts_ was made of.
  std::optional<Contents> contents_ ABSL_GUARDED_BY(reload_mutex_);
  std::string logged_ ABSL_GUARDED_BY(reload_mutex_);  // the last problem
  std::optional<RepeatingThread> reloading_;
};

// Returns OK if a PEM file has certificates that a client of this process may
// trust. The error names the file and says what is wrong with it.
absl::Status CheckCertificates(const std::string& path);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_CREDENTIALS_H_
