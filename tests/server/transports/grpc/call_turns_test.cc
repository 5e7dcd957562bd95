#include "server/transports/grpc/call_turns.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trivium {
namespace {

class CallTurnsTest : public testing::Test {
 protected:
  static constexpr size_t kMost = 4;
  using Turn = std::unique_ptr<CallTurns::Turn>;

  // A call of a client, on a connection. Its id is new.
  Turn Call(ClientId client, uint64_t connection) {
    return std::make_unique<CallTurns::Turn>(&turns_, ++last_, client,
                                             connection);
  }
  // Another client's calls, of which no more may begin.
  void Fill() {
    for (size_t i = 0; i < kMost; ++i) {
      full_.push_back(Call(9, 9));
      EXPECT_TRUE(full_.back()->Enter(now_));
    }
  }
  // Begins one call after the other. Returns their connections, each of which
  // has more calls.
  std::string Serve(int times) {
    std::string order;
    for (int i = 0; i < times; ++i) {
      full_.erase(full_.begin());
      const std::optional<uint64_t> connection = turns_.Next(now_);
      if (!connection) return order + '-';
      order += static_cast<char>('0' + *connection);
      full_.push_back(Call(client_of_[*connection], *connection));
      EXPECT_TRUE(full_.back()->Enter(now_));
      EXPECT_FALSE(Call(client_of_[*connection], *connection)->Enter(now_));
    }
    return order;
  }
  void Wait(ClientId client, uint64_t connection) {
    client_of_[connection] = client;
    EXPECT_FALSE(Call(client, connection)->Enter(now_));
  }

  absl::Time now_ = absl::UnixEpoch();
  CallId last_ = 0;
  CallTurns turns_{kMost};
  std::vector<Turn> full_;
  ClientId client_of_[10] = {};
};

TEST_F(CallTurnsTest, ALoneConnectionBeginsAsManyCallsAsThereMayBe) {
  Fill();
  EXPECT_EQ(turns_.Next(now_), std::nullopt);
  EXPECT_FALSE(Call(9, 9)->Enter(now_));
  // The handler of one begins, and another one's stream ends.
  turns_.Begun(1);
  full_.pop_back();
  EXPECT_EQ(turns_.Next(now_), 9u);
  const Turn first = Call(9, 9), second = Call(9, 9), third = Call(9, 9);
  EXPECT_TRUE(first->Enter(now_));
  EXPECT_TRUE(second->Enter(now_));
  EXPECT_FALSE(third->Enter(now_));
}

TEST_F(CallTurnsTest, ClientsTakeTurnsHoweverManyConnectionsEachHas) {
  Fill();
  Wait(1, 1);
  Wait(1, 2);
  Wait(1, 3);
  Wait(2, 4);
  EXPECT_EQ(Serve(9), "142434142");
}

// So a call waits for at most one of each other client.
TEST_F(CallTurnsTest, ALoneCallIsNextButForOneOfEachOtherClient) {
  Fill();
  for (ClientId client = 1; client <= 3; ++client) Wait(client, client);
  EXPECT_EQ(Serve(5), "12312");
  Wait(4, 4);
  EXPECT_EQ(Serve(4), "3124");
}

TEST_F(CallTurnsTest, NobodyPassesThoseWhoWait) {
  Fill();
  Wait(1, 1);
  full_.clear();
  // There is room, but connection 1 has not taken it yet.
  EXPECT_FALSE(Call(2, 2)->Enter(now_));
  EXPECT_EQ(turns_.Next(now_), 1u);
  const Turn call = Call(1, 1);
  EXPECT_TRUE(call->Enter(now_));
  EXPECT_FALSE(Call(1, 1)->Enter(now_));
  EXPECT_EQ(turns_.Next(now_), 2u);
}

TEST_F(CallTurnsTest, AConnectionThatHasEndedLosesItsTurn) {
  Fill();
  Wait(1, 1);
  Wait(2, 2);
  full_.clear();
  EXPECT_EQ(turns_.Next(now_), 1u);
  EXPECT_EQ(turns_.Next(now_), 2u);
  EXPECT_EQ(turns_.Next(now_), std::nullopt);
  EXPECT_TRUE(Call(3, 3)->Enter(now_));
}

TEST_F(CallTurnsTest, CallsThatNeverBeginHoldUpNobodyForLong) {
  Fill();
  Wait(1, 1);
  now_ += CallTurns::kLongest - absl::Milliseconds(1);
  EXPECT_EQ(turns_.Next(now_), std::nullopt);
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(turns_.Next(now_), 1u);
}

TEST_F(CallTurnsTest, WakesOnceWhenHalfHaveBegun) {
  int woken = 0;
  turns_.SetWake([&woken] { ++woken; });
  Fill();
  turns_.Begun(1);
  turns_.Begun(2);
  EXPECT_EQ(woken, 0);  // nobody waits
  full_.clear();
  Fill();
  Wait(1, 1);
  for (const int expected : {0, 1, 1, 1}) {
    full_.pop_back();
    EXPECT_EQ(woken, expected);
  }
}

}  // namespace
}  // namespace trivium
