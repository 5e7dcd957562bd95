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
  std::string ErrorOf(const std::string& text) const {
    Write(text);
    const auto access = Access::Load(path_);
    return access.ok() ? "" : std::string(access.status().message());
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
  EXPECT_EQ(ErrorOf(File("")), "");
  EXPECT_THAT(ErrorOf(""), HasSubstr(path_));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("tokens"));
  EXPECT_THAT(ErrorOf(R"({"tokens": [], "more": 1})"), HasSubstr("tokens"));
  const std::string good = Entry("one", kFirstHash);
  EXPECT_THAT(ErrorOf(File(good + ", 1")), HasSubstr("tokens[1]: must be"));
  EXPECT_THAT(ErrorOf(File(good + ", " + Entry("two", kFirstHash))),
              HasSubstr("tokens[1] has the sha256 of tokens[0]"));
  EXPECT_THAT(ErrorOf(File(Entry("", kFirstHash))),
              HasSubstr("must have a name"));
  EXPECT_THAT(ErrorOf(File(R"({"name": "one"})")),
              HasSubstr("must have a name and a sha256"));
  EXPECT_THAT(ErrorOf(File(Entry("one", "abc"))), HasSubstr("64 hexadecimal"));
  for (const char* wrong :
       {R"(, "models": [])", R"(, "models": [1])", R"(, "models": "m")",
        R"(, "rate": 0)", R"(, "rate": "1")", R"(, "burst": 2)",
        R"(, "rate": 1, "burst": 0.5)", R"(, "orders": 1)",
        R"(, "priority": "first")", R"(, "priority": "")",
        R"(, "token": "plain")"}) {
    EXPECT_THAT(ErrorOf(File(Entry("one", kFirstHash, wrong))),
                HasSubstr("tokens[0]: "))
        << wrong;
  }
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
