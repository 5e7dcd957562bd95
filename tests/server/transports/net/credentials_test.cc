#include "server/transports/net/credentials.h"

#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include <filesystem>
#include <string>

#include "tests/server/transports/net/authority.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::AllOf;
using testing::HasSubstr;

absl::Status LoadStatus(const TlsCredentials::Files& files) {
  return TlsCredentials::Load(files).status();
}

auto FileErrorAt(const std::string& place) {
  return IsError(absl::StatusCode::kInvalidArgument, place);
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
  EXPECT_TRUE(LoadStatus(good).ok());
  const TlsCredentials::Files other = authority.Issue("other");
  const std::string text = WriteText("text", "no certificate");
  const std::string broken = WriteText(
      "broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----");
  const TlsCredentials::Files locked =
      authority.Issue("locked", -1, 10, "password");
  EXPECT_THAT(LoadStatus({"/nowhere.pem", good.key}),
              IsError(absl::StatusCode::kNotFound, "/nowhere.pem"));
  EXPECT_THAT(LoadStatus({good.certificate, "/nowhere.key"}),
              IsError(absl::StatusCode::kNotFound, "/nowhere.key"));
  constexpr char kCertificate[] = "BEGIN CERTIFICATE";
  EXPECT_THAT(LoadStatus({text, good.key}),
              AllOf(FileErrorAt(text), FileErrorAt(kCertificate)));
  EXPECT_THAT(LoadStatus({broken, good.key}), FileErrorAt(broken));
  const std::string empty = WriteText("empty", "");
  EXPECT_THAT(LoadStatus({empty, empty}),
              AllOf(FileErrorAt(empty), FileErrorAt(kCertificate)));
  EXPECT_THAT(LoadStatus({good.certificate, text}),
              AllOf(FileErrorAt(text), FileErrorAt("BEGIN PRIVATE KEY")));
  EXPECT_THAT(LoadStatus({good.certificate, other.key}),
              AllOf(FileErrorAt(other.key), FileErrorAt(good.certificate)));
  EXPECT_THAT(LoadStatus({locked.certificate, locked.key}),
              AllOf(FileErrorAt(locked.key), FileErrorAt("encrypted")));
  EXPECT_THAT(LoadStatus({good.certificate, good.key, text}),
              AllOf(FileErrorAt(text), FileErrorAt(kCertificate)));
  // These texts tell a date, so tests/error_texts.txt cannot have them.
  for (const TlsCredentials::Files& files :
       {authority.Issue("old", -10, -1), authority.Issue("early", 1, 10)}) {
    const absl::Status status = LoadStatus(files);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(files.certificate));
  }
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
  EXPECT_THAT((*credentials)->Reload(), FileErrorAt(files.key));
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
