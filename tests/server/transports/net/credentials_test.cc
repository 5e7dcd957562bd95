#include "server/transports/net/credentials.h"

#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include <filesystem>
#include <string>

#include "tests/server/transports/net/authority.h"

namespace trivium {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string ErrorOf(const TlsCredentials::Files& files) {
  const auto credentials = TlsCredentials::Load(files);
  return credentials.ok() ? "" : std::string(credentials.status().message());
}

std::string WriteText(const std::string& name, const std::string& text) {
  const std::string path = Authority::PathOf(name);
  Authority::Write(path, [&](FILE* f) { std::fputs(text.c_str(), f); });
  return path;
}

std::string NameOf(const std::shared_ptr<SSL_CTX>& context) {
  char name[256] = "";
  X509_NAME_get_text_by_NID(
      X509_get_subject_name(SSL_CTX_get0_certificate(context.get())),
      NID_commonName, name, sizeof(name));
  return name;
}

TEST(TlsCredentialsTest, ErrorsNameTheFileAndTheMistake) {
  const Authority authority("authority");
  const TlsCredentials::Files good = authority.Issue("good");
  EXPECT_EQ(ErrorOf(good), "");
  const TlsCredentials::Files other = authority.Issue("other");
  const std::string text = WriteText("text", "no certificate");
  const std::string broken = WriteText(
      "broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----");
  const TlsCredentials::Files locked =
      authority.Issue("locked", -1, 10, "password");
  EXPECT_THAT(ErrorOf({"/nowhere.pem", good.key}), HasSubstr("/nowhere.pem"));
  EXPECT_THAT(ErrorOf({good.certificate, "/nowhere.key"}),
              HasSubstr("/nowhere.key"));
  EXPECT_THAT(ErrorOf({text, good.key}),
              AllOf(HasSubstr(text), HasSubstr("no certificate in PEM")));
  EXPECT_THAT(ErrorOf({broken, good.key}), HasSubstr("broken"));
  const std::string empty = WriteText("empty", "");
  EXPECT_THAT(ErrorOf({empty, empty}), HasSubstr("no certificate in PEM"));
  EXPECT_THAT(ErrorOf({good.certificate, text}),
              HasSubstr("no private key in PEM"));
  EXPECT_THAT(ErrorOf({good.certificate, other.key}),
              AllOf(HasSubstr(other.key), HasSubstr("not that of")));
  EXPECT_THAT(ErrorOf({locked.certificate, locked.key}),
              HasSubstr("the key is encrypted"));
  EXPECT_THAT(ErrorOf({good.certificate, good.key, text}),
              AllOf(HasSubstr(text), HasSubstr("no certificate in PEM")));
  EXPECT_THAT(ErrorOf(authority.Issue("old", -10, -1)),
              HasSubstr("the certificate expired at"));
  EXPECT_THAT(ErrorOf(authority.Issue("early", 1, 10)),
              HasSubstr("not valid before"));
}

TEST(TlsCredentialsTest, FilesMayBeReplacedInAnyOrder) {
  const Authority authority("authority");
  const TlsCredentials::Files files = authority.Issue("first");
  const TlsCredentials::Files next = authority.Issue("second");
  auto credentials = TlsCredentials::Load(files);
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  const auto old = (*credentials)->server();
  EXPECT_EQ(NameOf(old), "first");

  std::filesystem::rename(next.certificate, files.certificate);
  EXPECT_THAT(std::string((*credentials)->Reload().message()),
              HasSubstr("not that of"));
  EXPECT_EQ((*credentials)->server(), old);
  std::filesystem::remove(files.key);
  EXPECT_FALSE((*credentials)->Reload().ok());
  EXPECT_EQ((*credentials)->server(), old);

  std::filesystem::rename(next.key, files.key);
  EXPECT_TRUE((*credentials)->Reload().ok());
  EXPECT_EQ(NameOf((*credentials)->server()), "second");
  EXPECT_EQ(NameOf(old), "first");
  const auto now = (*credentials)->server();
  EXPECT_TRUE((*credentials)->Reload().ok());
  EXPECT_EQ((*credentials)->server(), now) << "nothing has changed";
}

TEST(TlsCredentialsTest, AThreadReadsTheFilesAgain) {
  const Authority authority("authority");
  const TlsCredentials::Files files = authority.Issue("watched");
  auto credentials = TlsCredentials::Load(files, absl::Milliseconds(1));
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  const TlsCredentials::Files next = authority.Issue("watched2");
  std::filesystem::rename(next.certificate, files.certificate);
  std::filesystem::rename(next.key, files.key);
  while (NameOf((*credentials)->server()) != "watched2") {
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace trivium
