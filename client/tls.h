#ifndef TRIVIUM_CLIENT_TLS_H_
#define TRIVIUM_CLIENT_TLS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/security/credentials.h"

namespace trivium {

// PEM files with which a client speaks TLS.
struct TlsFiles {
  // Authorities that may have signed the server's certificate; empty: the
  // system's.
  std::string ca;
  // What the client shows a server that asks: both or none.
  std::string certificate;
  std::string key;
  // A bearer token to send with each call; empty: none.
  std::string token;
};

// For Client::Options::credentials. The error names the file.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ReadTlsCredentials(
    const TlsFiles& files);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_TLS_H_
