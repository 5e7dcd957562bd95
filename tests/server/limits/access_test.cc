#include "server/limits/access.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "server/errors/status.h"
#include "server/limits/call_context.h"
#include "server/limits/client_id.h"
#include "server/limits/priority.h"
#include "tests/support/error_texts.h"
#include "tests/support/fake_clock.h"

namespace trivium {
namespace {

using testing::HasSubstr;

// Hashes of first-token-of-the-test and second-token-of-the-test.
constexpr char kFirstHash[] =
    "9623d8e3d27101a8f59325a2ba180a14b33d063104bf113fc65b1bf62c99dd40";
constexpr char kSecondHash[] =
    "d8264187e73c5741f629125da0e14cc7d14ce0292178d2d8f31c1ca4506d58d0";

class AccessTest : public testing::Test {
 protected:
  ~AccessTest() override { std::filesystem::remove(path_); }

  void Write(const std::string& text) const { std::ofstream(path_) << text; }
  static std::string Entry(const std::string& name, const std::string& hash,
                           const std::string& more = "") {
    return R"({"name": ")" + name + R"(", "sha256": ")" + hash + "\"" + more +
           "}";
  }
  static std::string File(const std::string& entries) {
    return R"({"tokens": [)" + entries + "]}";
  }
  void Load(const std::string& text) {
    Write(text);
    auto access = Access::Load(path_, &clock_, absl::Hours(1));
    ASSERT_TRUE(access.ok()) << access.status();
    access_ = *std::move(access);
  }
  absl::Status LoadStatus(const std::string& text) const {
    Write(text);
    return Access::Load(path_).status();
  }

  const std::string path_ =
      testing::TempDir() + "/tokens" + std::to_string(getpid()) + ".json";
  FakeClock clock_;
  std::unique_ptr<Access> access_;
};

TEST_F(AccessTest, FindsTheOwnerOfAToken) {
  Load(File(Entry("one", kFirstHash) + "," + Entry("two", kSecondHash)));
  const auto one = access_->Find("Bearer first-token-of-the-test");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ((*one)->rules().name, "one");
  const auto two = access_->Find("bearer  second-token-of-the-test ");
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ((*two)->rules().name, "two");
  for (const char* wrong :
       {"", "Bearer", "Bearer ", "Basic first-token-of-the-test",
        "Bearer first-token-of-the-tes", "Bearer first-token-of-the-test2",
        "first-token-of-the-test"}) {
    EXPECT_TRUE(absl::IsUnauthenticated(access_->Find(wrong).status()))
        << wrong;
  }
  EXPECT_TRUE(absl::IsUnauthenticated(
      access_->Find("Bearer " + std::string(1 << 20, 'x')).status()));
}

TEST_F(AccessTest, ATokensNameIsItsClient) {
  Load(File(Entry("one", kFirstHash) + "," + Entry("two", kSecondHash)));
  CallContext one, two, none;
  one.peer = two.peer = none.peer = "ipv4:127.0.0.1:5000";
  Admit(access_.get(), "Bearer first-token-of-the-test", &one);
  Admit(access_.get(), "Bearer second-token-of-the-test", &two);
  Admit(access_.get(), "", &none);
  EXPECT_NE(ClientOf(one), ClientOf(two));
  EXPECT_TRUE(absl::IsUnauthenticated(none.access));
  EXPECT_EQ(none.grant, nullptr);
}

TEST_F(AccessTest, ARateAllowsABurst) {
  Load(File(Entry("one", kFirstHash, R"(, "rate": 2, "burst": 3)")));
  const auto call = [this] {
    CallContext context;
    Admit(access_.get(), "Bearer first-token-of-the-test", &context);
    return context.access;
  };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(call().ok()) << i;
  const absl::Status status = call();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  const auto delay = RetryDelay(status);
  ASSERT_TRUE(delay.has_value());
  EXPECT_GE(*delay, absl::Milliseconds(500));
  EXPECT_LE(*delay, absl::Milliseconds(750));
  clock_.Advance(absl::Milliseconds(500));
  EXPECT_TRUE(call().ok());
  EXPECT_FALSE(call().ok());
}

TEST_F(AccessTest, ATokenLimitsThePriority) {
  Load(File(Entry("one", kFirstHash, R"(, "priority": "batch")") + "," +
            Entry("two", kSecondHash)));
  const auto priority_of = [this](const char* token, const char* asked) {
    CallContext context;
    context.priority = asked;
    Identify(access_.get(), token, &context);
    return PriorityOf(context);
  };
  for (const char* asked : {"", "interactive", "batch"}) {
    EXPECT_EQ(*priority_of("Bearer first-token-of-the-test", asked),
              Priority::kBackground);
  }
  EXPECT_EQ(*priority_of("Bearer second-token-of-the-test", ""),
            Priority::kInteractive);
  EXPECT_EQ(*priority_of("Bearer second-token-of-the-test", "batch"),
            Priority::kBackground);
  EXPECT_TRUE(absl::IsInvalidArgument(
      priority_of("Bearer first-token-of-the-test", "first").status()));
}

TEST_F(AccessTest, RefusesARevokedToken) {
  Load(File(Entry("one", kFirstHash)));
  const auto before = access_->Find("Bearer first-token-of-the-test");
  ASSERT_TRUE(before.ok());
  Write("broken");
  EXPECT_FALSE(access_->Reload().ok());
  EXPECT_TRUE(access_->Find("Bearer first-token-of-the-test").ok());
  Write(File(Entry("two", kSecondHash)));
  EXPECT_TRUE(access_->Reload().ok());
  EXPECT_FALSE(access_->Find("Bearer first-token-of-the-test").ok());
  EXPECT_TRUE(access_->Find("Bearer second-token-of-the-test").ok());
  EXPECT_EQ((*before)->rules().name, "one") << "of a call under way";
}

TEST_F(AccessTest, ErrorsNameTheEntryAndTheMistake) {
  const auto is_error_at = [](const std::string& place) {
    return IsError(absl::StatusCode::kInvalidArgument, place);
  };
  EXPECT_TRUE(LoadStatus(File("")).ok());
  EXPECT_THAT(LoadStatus(""), is_error_at(path_));
  EXPECT_THAT(LoadStatus("[]"), is_error_at("\"tokens\""));
  EXPECT_THAT(LoadStatus(R"({"tokens": [], "more": 1})"),
              is_error_at("\"tokens\""));
  const std::string good = Entry("one", kFirstHash);
  EXPECT_THAT(LoadStatus(File(good + ", 1")), is_error_at("tokens[1]"));
  EXPECT_THAT(LoadStatus(File(good + ", " + Entry("two", kFirstHash))),
              is_error_at("tokens[0]"));
  EXPECT_THAT(LoadStatus(File(Entry("", kFirstHash))), is_error_at("name"));
  EXPECT_THAT(LoadStatus(File(R"({"name": "one"})")), is_error_at("sha256"));
  EXPECT_THAT(LoadStatus(File(Entry("one", "abc"))),
              is_error_at("hexadecimal"));
  const std::pair<const char*, const char*> wrong_members[] = {
      {"models", R"(, "models": [])"},
      {"models", R"(, "models": [1])"},
      {"models", R"(, "models": "m")"},
      {"rate", R"(, "rate": 0)"},
      {"rate", R"(, "rate": "1")"},
      {"burst", R"(, "burst": 2)"},
      {"burst", R"(, "rate": 1, "burst": 0.5)"},
      {"orders", R"(, "orders": 1)"},
      {"share_cache", R"(, "share_cache": "yes")"},
      {"priority", R"(, "priority": "first")"},
      {"priority", R"(, "priority": "")"},
      {"token", R"(, "token": "plain")"}};
  for (const auto& [member, wrong] : wrong_members) {
    EXPECT_THAT(LoadStatus(File(Entry("one", kFirstHash, wrong))),
                is_error_at(std::string("tokens[0]: ") + member))
        << wrong;
  }
}

TEST(GrantTest, ACacheIsSharedOnlyIfTheRulesSaySo) {
  Grant::Rules rules;
  rules.name = "one";
  const std::string one = Grant(rules).cache_salt();
  EXPECT_NE(one, "");
  rules.rate = 1;
  EXPECT_EQ(Grant(rules).cache_salt(), one);
  rules.share_cache = true;
  EXPECT_EQ(Grant(rules).cache_salt(), "");
  rules = {};
  rules.name = "two";
  EXPECT_NE(Grant(rules).cache_salt(), one);
}

TEST_F(AccessTest, TokenEntryHasTheTokensHash) {
  const auto entry = TokenEntry("first-token-of-the-test");
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_THAT(*entry, HasSubstr(kFirstHash));
  EXPECT_FALSE(TokenEntry("short").ok());
  EXPECT_FALSE(TokenEntry("with a space, which no header has").ok());
}

}  // namespace
}  // namespace trivium
