// Tests the command line against a server with TLS.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/integration/server_process.h"
#include "tests/server/transports/net/authority.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using ::testing::HasSubstr;

constexpr int kUsage = 2, kUnavailable = 3;

class TlsProgramsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const Authority authority("authority");
    const TlsCredentials::Files server = authority.Issue("server");
    const TlsCredentials::Files client = authority.Issue("client");
    const ProcessResult hashed = RunProgram(
        {TRIVIUM_SERVER_PROGRAM, "--hash-token"}, "a-long-and-random-token\n");
    ASSERT_EQ(hashed.exit_code, 0) << hashed.err;
    const std::string hash =
        hashed.out.substr(hashed.out.find("\"sha256\""), 76);
    const std::string tokens = Authority::PathOf("tokens.json");
    std::ofstream(tokens) << "{\"tokens\": [{\"name\": \"tests\", " << hash
                          << "}]}";
    std::ofstream(Authority::PathOf("token")) << "a-long-and-random-token\n";
    server_ = new ServerProcess({"--tls-certificate", server.certificate,
                                 "--tls-key", server.key, "--tls-client-ca",
                                 authority.file(), "--tokens-file", tokens});
    Authority("other");
    flags_ = {"--tls",
              "--tls-ca",
              authority.file(),
              "--tls-certificate",
              client.certificate,
              "--tls-key",
              client.key,
              "--token-file",
              Authority::PathOf("token")};
  }
  static void TearDownTestSuite() { delete server_; }

  // `flags` are those of the connection, without the address.
  static ProcessResult Run(std::vector<std::string> arguments,
                           const std::vector<std::string>& flags) {
    arguments.insert(arguments.end(),
                     {"--address", server_->address(), "--timeout", "20"});
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunProgram(arguments);
  }
  static std::vector<std::string> With(const std::string& flag,
                                       const std::string& value) {
    std::vector<std::string> flags = flags_;
    *(std::find(flags.begin(), flags.end(), flag) + 1) = value;
    return flags;
  }
  static std::vector<std::string> Without(const std::string& flag) {
    std::vector<std::string> flags = flags_;
    const auto at = std::find(flags.begin(), flags.end(), flag);
    flags.erase(at, at + 2);
    return flags;
  }

  static inline ServerProcess* server_ = nullptr;
  static inline std::vector<std::string> flags_;
};

TEST_F(TlsProgramsTest, AnswerOverTls) {
  const ProcessResult translated =
      Run({TRIVIUM_PROGRAM, "translate", "I ate an apple."}, flags_);
  EXPECT_EQ(translated.exit_code, 0) << translated.err;
  EXPECT_THAT(translated.out, HasSubstr("Apfel"));
  const ProcessResult health = Run({TRIVIUM_PROGRAM, "health"}, flags_);
  EXPECT_EQ(health.exit_code, 0) << health.err;
  const std::string texts = Authority::PathOf("texts");
  std::ofstream(texts) << "Good morning!\n";
  const ProcessResult load =
      Run({TRIVIUM_LOAD_PROGRAM, "--file", texts, "--count", "4", "--warm-up",
           "0", "--concurrency", "2"},
          flags_);
  EXPECT_EQ(load.exit_code, 0) << load.err;
}

TEST_F(TlsProgramsTest, TakeFlagsFromTheEnvironment) {
  const std::vector<std::pair<std::string, std::string>> variables = {
      {"TRIVIUM_CLIENT_TLS", "true"},
      {"TRIVIUM_CLIENT_TLS_CA", flags_[2]},
      {"TRIVIUM_CLIENT_TLS_CERTIFICATE", flags_[4]},
      {"TRIVIUM_CLIENT_TLS_KEY", flags_[6]},
      {"TRIVIUM_CLIENT_TOKEN_FILE", flags_[8]}};
  for (const auto& [name, value] : variables) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  const ProcessResult translated =
      Run({TRIVIUM_PROGRAM, "translate", "I ate an apple."}, {});
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
  EXPECT_EQ(translated.exit_code, 0) << translated.err;
  EXPECT_THAT(translated.out, HasSubstr("Apfel"));
}

TEST_F(TlsProgramsTest, SayWhatIsWrongWithTheConnection) {
  const auto translate = [](const std::vector<std::string>& flags) {
    return Run({TRIVIUM_PROGRAM, "translate", "I ate an apple."}, flags);
  };
  // Cannot connect without TLS, with another authority, without the client's
  // certificate, or with another name.
  std::vector<std::string> other_name = flags_;
  other_name.insert(other_name.end(), {"--tls-server-name", "elsewhere"});
  std::vector<std::string> no_certificate = Without("--tls-certificate");
  no_certificate.erase(
      std::find(no_certificate.begin(), no_certificate.end(), "--tls-key"),
      std::find(no_certificate.begin(), no_certificate.end(), "--token-file"));
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>(),
        With("--tls-ca", Authority::PathOf("other.pem")), no_certificate,
        other_name}) {
    EXPECT_EQ(translate(flags).exit_code, kUnavailable)
        << testing::PrintToString(flags);
  }
  // A client with an unknown token.
  const ProcessResult stranger = translate(Without("--token-file"));
  EXPECT_NE(stranger.exit_code, 0);
  EXPECT_THAT(stranger.err, ErrorAt("token"));
  const ProcessResult nowhere = translate(With("--tls-ca", "/no/ca.pem"));
  EXPECT_EQ(nowhere.exit_code, kUsage);
  EXPECT_THAT(nowhere.err, ErrorAt("/no/ca.pem"));
}

}  // namespace
}  // namespace trivium
