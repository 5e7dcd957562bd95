#ifndef TRIVIUM_CLIENT_TLS_H_
#define TRIVIUM_CLIENT_TLS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/security/credentials.h"

namespace trivium {

// PEM files of a client's TLS, and its token.
struct TlsFiles {
  // Certificates of the authorities that may sign the server's certificate;
  // empty: the system's.
  std::string ca;
  // The client's certificate and its key, for servers that ask for one. Set
  // both or neither.
  std::string certificate;
  std::string key;
  // A bearer token to send with each call; empty: none.
  std::string token;
};

// Reads the files for Client::Options::credentials. The error names the file.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ReadTlsCredentials(
    const TlsFiles& files);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_TLS_H_
