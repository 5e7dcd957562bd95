#include "client/tls.h"

#include <cstddef>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace trivium {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ReadTlsCredentials(
    const TlsFiles& files) {
  grpc::SslCredentialsOptions options;
  const std::pair<const std::string*, std::string*> all[] = {
      {&files.ca, &options.pem_root_certs},
      {&files.certificate, &options.pem_cert_chain},
      {&files.key, &options.pem_private_key}};
  for (const auto& [path, contents] : all) {
    if (path->empty()) continue;
    TRIVIUM_ASSIGN_OR_RETURN(*contents, ReadFile(*path, kMaxFileBytes));
    if (contents->find("-----BEGIN ") == std::string::npos) {
      return absl::InvalidArgumentError(
          *path + ": is not a PEM file (it has no -----BEGIN ...)");
    }
  }
  std::shared_ptr<grpc::ChannelCredentials> credentials =
      grpc::SslCredentials(options);
  if (files.token.empty()) return credentials;
  return grpc::CompositeChannelCredentials(
      credentials, grpc::AccessTokenCredentials(files.token));
}

}  // namespace trivium
