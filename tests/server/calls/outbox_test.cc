// The outbox of a stream: it writes one message at a time, tells stalls, and
// counts the bytes that wait.
#include "server/calls/outbox.h"

#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using google::protobuf::StringValue;

class OutboxTest : public testing::Test {
 protected:
  ~OutboxTest() override { held_.Close(); }

  static std::unique_ptr<StringValue> Text(const std::string& text) {
    auto message = std::make_unique<StringValue>();
    message->set_value(text);
    return message;
  }
  // The text of the message whose write begins; empty if none does.
  std::string BeginWrite() {
    const auto message = outbox_.BeginWrite(now_);
    return message ? static_cast<const StringValue&>(*message).value() : "";
  }

  ByteAccount account_;
  CallBytes held_{&account_};
  absl::Time now_ = absl::UnixEpoch();
  Outbox outbox_{&held_, absl::Seconds(30)};
};

TEST_F(OutboxTest, WritesOneMessageAtATimeInOrder) {
  EXPECT_EQ(BeginWrite(), "");
  outbox_.Push(Text("a"));
  outbox_.Push(Text("b"));
  EXPECT_EQ(BeginWrite(), "a");
  EXPECT_TRUE(outbox_.writing());
  EXPECT_EQ(BeginWrite(), "");
  outbox_.EndWrite();
  EXPECT_FALSE(outbox_.writing());
  EXPECT_EQ(BeginWrite(), "b");
  outbox_.EndWrite();
  EXPECT_TRUE(outbox_.empty());
}

TEST_F(OutboxTest, CountsTheBytesOfMessagesThatWait) {
  outbox_.Push(Text("abc"));
  outbox_.Push(Text("d"));
  EXPECT_EQ(outbox_.bytes(), 5 + 3);
  EXPECT_EQ(account_.bytes(Held::kOutbox), 5 + 3);
  BeginWrite();
  EXPECT_EQ(account_.bytes(Held::kOutbox), 3);
  outbox_.Clear();
  EXPECT_EQ(outbox_.bytes(), 0);
  EXPECT_EQ(account_.total(), 0);
  EXPECT_TRUE(outbox_.writing());  // the write that has begun goes on
}

TEST_F(OutboxTest, AWriteThatLastsTooLongIsAStall) {
  outbox_.Push(Text("a"));
  outbox_.Push(Text("b"));
  EXPECT_TRUE(outbox_.CheckStall(now_ + absl::Hours(1)).ok());
  BeginWrite();
  EXPECT_TRUE(outbox_.CheckStall(now_ + absl::Seconds(29)).ok());
  EXPECT_THAT(outbox_.CheckStall(now_ + absl::Seconds(30)),
              IsError(absl::StatusCode::kCancelled, "30s"));
  // The time of the write counts, and not the time that the message waited
  // before.
  outbox_.EndWrite();
  now_ += absl::Seconds(30);
  EXPECT_TRUE(outbox_.CheckStall(now_).ok());
  BeginWrite();
  EXPECT_TRUE(outbox_.CheckStall(now_ + absl::Seconds(29)).ok());
}

TEST_F(OutboxTest, TellsWhichHandlerWaitsForAWrite) {
  class Writer : public Handler {
    void Start() override {}
    void OnCancel() override {}
  } writer;
  outbox_.Push(Text("a"), &writer);
  outbox_.Push(Text("b"));
  BeginWrite();
  EXPECT_EQ(outbox_.EndWrite(), &writer);
  BeginWrite();
  EXPECT_EQ(outbox_.EndWrite(), nullptr);
}

TEST(UncountedOutboxTest, NeedsNoAccountAndNeverStallsIfItMayWaitForEver) {
  Outbox outbox(/*held=*/nullptr, absl::InfiniteDuration());
  outbox.Push(std::make_unique<StringValue>());
  EXPECT_NE(outbox.BeginWrite(absl::UnixEpoch()), nullptr);
  EXPECT_TRUE(outbox.CheckStall(absl::UnixEpoch() + absl::Hours(99)).ok());
}

}  // namespace
}  // namespace trivium
