// Invariant: the contexts are never changed, only replaced as a whole. So a
// connection keeps the one that it began with.
#include "server/transports/net/credentials.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;
// Ciphers for TLS 1.2: those that HTTP/2 allows (RFC 9113, appendix A, lists
// those that it does not). All ciphers of TLS 1.3 are good.
constexpr char kCiphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

Bio BioOf(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

absl::Status Wrong(const std::string& path, const std::string& what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, what));
}

// Never asks for a password.
int NoPassword(char*, int, int, void*) { return -1; }

// Returns all certificates of a file, at least one.
absl::StatusOr<std::vector<Certificate>> ParseCertificates(
    const std::string& path, const std::string& text) {
  const Bio bio = BioOf(text);
  std::vector<Certificate> certificates;
  while (X509* next =
             PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr)) {
    certificates.emplace_back(next);
  }
  const auto error = ERR_peek_last_error();
  if (ERR_GET_REASON(error) != PEM_R_NO_START_LINE) {
    return Wrong(path, "it has a broken certificate");
  }
  ERR_clear_error();  // the file's end
  if (certificates.empty()) {
    return Wrong(path,
                 "it has no certificate in PEM (-----BEGIN "
                 "CERTIFICATE-----)");
  }
  return certificates;
}

absl::StatusOr<Key> ParseKey(const std::string& path, const std::string& text) {
  Key key(
      PEM_read_bio_PrivateKey(BioOf(text).get(), nullptr, NoPassword, nullptr));
  if (key != nullptr) return key;
  if (text.find("ENCRYPTED") != std::string::npos) {
    return Wrong(path,
                 "the key is encrypted; give a key that is not encrypted");
  }
  return Wrong(path,
               "it has no private key in PEM (-----BEGIN PRIVATE "
               "KEY-----)");
}

std::string TimeText(const ASN1_TIME* time) {
  const Bio bio(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(bio.get(), time);
  char* text = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(size));
}

absl::Status CheckTimes(const std::string& path, const X509* certificate) {
  const ASN1_TIME* const begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(end) < 0) {
    return Wrong(path,
                 fmt::format("the certificate expired at {}", TimeText(end)));
  }
  if (X509_cmp_current_time(begin) > 0) {
    return Wrong(path, fmt::format("the certificate is not valid before {}",
                                   TimeText(begin)));
  }
  return absl::OkStatus();
}

// Also accepts a client that shows the server's own certificate: it has the
// server's key, so it is the server itself (ListenerProbe).
int VerifyClient(int ok, X509_STORE_CTX* chain) {
  const auto* const ssl = static_cast<SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const X509* const own = SSL_CTX_get0_certificate(SSL_get_SSL_CTX(ssl));
  return ok != 0 || X509_cmp(X509_STORE_CTX_get0_cert(chain), own) == 0 ? 1 : 0;
}

// Chooses the connection's protocol (TlsStream's constructor) if it is among
// those that the client offers; else refuses the client.
int ChooseProtocol(SSL* ssl, const unsigned char** out, unsigned char* size,
                   const unsigned char* theirs, unsigned int theirs_size,
                   void*) {
  const auto* const ours =
      static_cast<const std::string*>(SSL_get_app_data(ssl));
  return SSL_select_next_proto(
             const_cast<unsigned char**>(out), size,
             reinterpret_cast<const unsigned char*>(ours->data()),
             static_cast<unsigned int>(ours->size()), theirs,
             theirs_size) == OPENSSL_NPN_NEGOTIATED
             ? SSL_TLSEXT_ERR_OK
             : SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::shared_ptr<SSL_CTX> NewContext(const SSL_METHOD* method) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(method), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context.get(), kCiphers);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_NO_COMPRESSION |
                                         SSL_OP_CIPHER_SERVER_PREFERENCE |
                                         SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Each call processes one record and returns, so that a client that sends
  // only key updates cannot keep the thread busy. Idle connections hold no
  // buffers.
  SSL_CTX_clear_mode(context.get(), SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  return context;
}

absl::Status UseCertificate(const TlsCredentials::Files& files,
                            const std::vector<Certificate>& chain,
                            EVP_PKEY* key, SSL_CTX* context) {
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) {
    return Wrong(files.certificate,
                 "the certificate is not safe (its key or signature is weak)");
  }
  if (SSL_CTX_use_PrivateKey(context, key) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return Wrong(files.key,
                 fmt::format("the key is not that of {}", files.certificate));
  }
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) {
      return Wrong(files.certificate,
                   fmt::format("certificate {} is not safe (its key or "
                               "signature is weak)",
                               i + 1));
    }
  }
  return absl::OkStatus();
}

absl::Status AskClients(const std::string& path, const std::string& text,
                        SSL_CTX* context) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<Certificate> signers,
                           ParseCertificates(path, text));
  for (const Certificate& signer : signers) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), signer.get());
    SSL_CTX_add_client_CA(context, signer.get());
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     VerifyClient);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCertificates(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::string text,
                           ReadFile(path, kMaxFileBytes));
  return ParseCertificates(path, text).status();
}

absl::StatusOr<std::unique_ptr<TlsCredentials>> TlsCredentials::Load(
    const Files& files, absl::Duration interval) {
  auto credentials = std::unique_ptr<TlsCredentials>(new TlsCredentials(files));
  {
    MutexLock lock(&credentials->reload_mutex_);
    TRIVIUM_RETURN_IF_ERROR(credentials->ReloadLocked());
  }
  credentials->reloading_.emplace(
      interval, [self = credentials.get()] { self->Reload().IgnoreError(); });
  return credentials;
}

std::shared_ptr<SSL_CTX> TlsCredentials::server() const {
  MutexLock lock(&mutex_);
  return contexts_.server;
}

std::shared_ptr<SSL_CTX> TlsCredentials::own_client() const {
  MutexLock lock(&mutex_);
  return contexts_.own_client;
}

absl::StatusOr<TlsCredentials::Contents> TlsCredentials::Read() const {
  Contents contents;
  TRIVIUM_ASSIGN_OR_RETURN(contents.certificate,
                           ReadFile(files_.certificate, kMaxFileBytes));
  TRIVIUM_ASSIGN_OR_RETURN(contents.key, ReadFile(files_.key, kMaxFileBytes));
  if (!files_.client_ca.empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(contents.client_ca,
                             ReadFile(files_.client_ca, kMaxFileBytes));
  }
  return contents;
}

absl::StatusOr<TlsCredentials::Contexts> TlsCredentials::Make(
    const Contents& contents) const {
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::vector<Certificate> chain,
      ParseCertificates(files_.certificate, contents.certificate));
  TRIVIUM_RETURN_IF_ERROR(CheckTimes(files_.certificate, chain.front().get()));
  TRIVIUM_ASSIGN_OR_RETURN(const Key key, ParseKey(files_.key, contents.key));
  Contexts made = {NewContext(TLS_server_method()),
                   NewContext(TLS_client_method())};
  for (SSL_CTX* context : {made.server.get(), made.own_client.get()}) {
    TRIVIUM_RETURN_IF_ERROR(UseCertificate(files_, chain, key.get(), context));
  }
  static constexpr unsigned char kSessions[] = "trivium";
  SSL_CTX_set_session_id_context(made.server.get(), kSessions,
                                 sizeof(kSessions) - 1);
  SSL_CTX_set_alpn_select_cb(made.server.get(), ChooseProtocol, nullptr);
  if (!files_.client_ca.empty()) {
    TRIVIUM_RETURN_IF_ERROR(
        AskClients(files_.client_ca, contents.client_ca, made.server.get()));
  }
  return made;
}

absl::Status TlsCredentials::Reload() {
  MutexLock lock(&reload_mutex_);
  const absl::Status status = ReloadLocked();
  const std::string problem(status.message());
  if (!status.ok() && problem != logged_) {
    Log(spdlog::level::err,
        "the TLS files are not good; new connections get the last good ones",
        {{"error", problem}});
  }
  logged_ = problem;
  return status;
}

absl::Status TlsCredentials::ReloadLocked() {
  TRIVIUM_ASSIGN_OR_RETURN(Contents contents, Read());
  if (contents == contents_) return absl::OkStatus();
  TRIVIUM_ASSIGN_OR_RETURN(Contexts contexts, Make(contents));
  contents_ = std::move(contents);
  const X509* const certificate =
      SSL_CTX_get0_certificate(contexts.server.get());
  Log(spdlog::level::info, "TLS certificate",
      {{"file", files_.certificate},
       {"expires", TimeText(X509_get0_notAfter(certificate))}});
  MutexLock lock(&mutex_);
  contexts_ = std::move(contexts);
  return absl::OkStatus();
}

}  // namespace trivium
