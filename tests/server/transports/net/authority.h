#ifndef TRIVIUM_TESTS_SERVER_TRANSPORTS_NET_AUTHORITY_H_
#define TRIVIUM_TESTS_SERVER_TRANSPORTS_NET_AUTHORITY_H_

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "server/transports/net/credentials.h"

namespace trivium {

// Signs certificates for localhost and 127.0.0.1, and writes them to files with
// the given names in the tests' folder.
class Authority {
 public:
  explicit Authority(const std::string& name)
      : name_(name), key_(NewKey()), certificate_(New(name, -1, 10)) {
    Extend(NID_basic_constraints, "critical,CA:TRUE", certificate_.get());
    Sign(certificate_.get());
    Write(file(), [this](FILE* f) { PEM_write_X509(f, certificate_.get()); });
  }

  std::string file() const { return PathOf(name_ + ".pem"); }

  // Writes NAME.pem and NAME.key, valid between these days from now. With a
  // password, the key is encrypted.
  TlsCredentials::Files Issue(const std::string& name, int from_day = -1,
                              int to_day = 10,
                              const char* password = nullptr) const {
    const Key key = NewKey();
    const Certificate certificate = New(name, from_day, to_day, key.get());
    Extend(NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1",
           certificate.get());
    Sign(certificate.get());
    const TlsCredentials::Files files = {PathOf(name + ".pem"),
                                         PathOf(name + ".key"), ""};
    Write(files.certificate,
          [&](FILE* f) { PEM_write_X509(f, certificate.get()); });
    Write(files.key, [&](FILE* f) {
      PEM_write_PKCS8PrivateKey(f, key.get(),
                                password ? EVP_aes_128_cbc() : nullptr, nullptr,
                                0, nullptr, const_cast<char*>(password));
    });
    return files;
  }

  static std::string PathOf(const std::string& name) {
    static const Folder folder;
    return folder.path + "/" + name;
  }
  template <typename Writer>
  static void Write(const std::string& path, const Writer& writer) {
    FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr) << path;
    writer(file);
    std::fclose(file);
  }

 private:
  // The folder of this process, because several test programs run at once.
  struct Folder {
    std::string path =
        testing::TempDir() + "/trivium_tls_" + std::to_string(getpid());

    Folder() { std::filesystem::create_directories(path); }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
  using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

  static Key NewKey() { return Key(EVP_EC_gen("P-256"), EVP_PKEY_free); }

  // Makes a certificate for `key`; null: for the authority's own key.
  Certificate New(const std::string& name, int from_day, int to_day,
                  EVP_PKEY* key = nullptr) const {
    Certificate certificate(X509_new(), X509_free);
    X509* const x509 = certificate.get();
    X509_set_version(x509, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), ++serial_);
    constexpr int kDay = 24 * 60 * 60;
    X509_gmtime_adj(X509_getm_notBefore(x509), from_day * kDay);
    X509_gmtime_adj(X509_getm_notAfter(x509), to_day * kDay);
    X509_set_pubkey(x509, key == nullptr ? key_.get() : key);
    SetName(X509_get_subject_name(x509), name);
    SetName(X509_get_issuer_name(x509), name_);
    return certificate;
  }
  static void SetName(X509_NAME* name, const std::string& text) {
    X509_NAME_add_entry_by_txt(
        name, "CN", MBSTRING_ASC,
        reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0);
  }
  static void Extend(int kind, const char* value, X509* certificate) {
    X509_EXTENSION* const extension =
        X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  void Sign(X509* certificate) const {
    X509_sign(certificate, key_.get(), EVP_sha256());
  }

  const std::string name_;
  mutable int serial_ = 0;
  const Key key_;
  const Certificate certificate_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_TRANSPORTS_NET_AUTHORITY_H_
