#include "server/transports/net/connection_limits.h"

#include <gtest/gtest.h>

namespace trivium {
namespace {

TEST(ConnectionLimitsTest, EvictsTheConnectionIdleTheLongest) {
  ConnectionLimits limits(2);
  limits.Add(1);
  limits.Add(2);
  limits.SetIdle(2);
  limits.SetIdle(1);
  EXPECT_FALSE(limits.HasRoom());
  EXPECT_EQ(limits.LongestIdle(), 2);
  limits.SetIdle(2);  // it was used
  EXPECT_EQ(limits.LongestIdle(), 1);
  limits.Remove(1);
  EXPECT_TRUE(limits.HasRoom());
  EXPECT_EQ(limits.size(), 1);
}

TEST(ConnectionLimitsTest, EvictsUnusedConnectionsFirst) {
  ConnectionLimits limits(3);
  for (const int id : {1, 2, 3}) {
    limits.Add(id);
    limits.SetIdle(id);
  }
  limits.SetBusy(1);
  limits.SetIdle(1);
  limits.SetBusy(2);
  limits.SetIdle(2);
  EXPECT_EQ(limits.LongestIdle(), 3);
  limits.Remove(3);
  EXPECT_EQ(limits.LongestIdle(), 1);
}

TEST(ConnectionLimitsTest, NeverEvictsABusyConnection) {
  ConnectionLimits limits(1);
  limits.Add(1);
  EXPECT_EQ(limits.LongestIdle(), std::nullopt);
  limits.SetIdle(1);
  limits.SetBusy(1);
  EXPECT_EQ(limits.LongestIdle(), std::nullopt);
}

TEST(ConnectionLimitsTest, AClientAtItsLimitEvictsItsOwnConnectionsOnly) {
  ConnectionLimits limits(4, 2);
  for (const int id : {1, 2, 3}) {
    limits.Add(id, id == 1 ? "other" : "greedy");
    limits.SetIdle(id);
  }
  EXPECT_TRUE(limits.HasRoom("other"));
  EXPECT_FALSE(limits.HasRoom("greedy"));
  EXPECT_EQ(limits.LongestIdle("greedy"), 2);
  limits.SetBusy(2);
  limits.SetBusy(3);
  EXPECT_EQ(limits.LongestIdle("greedy"), std::nullopt);
  // At the limit of all connections, any client's may be evicted.
  limits.Add(4, "third");
  EXPECT_FALSE(limits.HasRoom("third"));
  EXPECT_EQ(limits.LongestIdle("third"), 1);
}

TEST(ConnectionLimitsTest, AClientWithManyWaitingConnectionsMakesRoom) {
  constexpr int kFew = ConnectionLimits::kFewWaiting;
  ConnectionLimits limits(2 * kFew + 1);
  // Odd ids are client 1's, even ones client 2's.
  for (int id = 1; id <= 2 * kFew; ++id) {
    limits.Add(id, "proxy");
    limits.SetWaiting(id, 2 - id % 2);
  }
  EXPECT_EQ(limits.LongestWaiting("proxy"), std::nullopt);
  limits.Add(2 * kFew + 1, "elsewhere");
  limits.SetWaiting(2 * kFew + 1, 2);
  // Clients of two networks are two, whatever they call themselves.
  EXPECT_EQ(limits.LongestWaiting("proxy"), std::nullopt);
  limits.Remove(2 * kFew + 1);
  limits.Add(2 * kFew + 1, "proxy");
  limits.SetWaiting(2 * kFew + 1, 2);
  EXPECT_EQ(limits.LongestIdle("proxy"), std::nullopt);
  EXPECT_EQ(limits.LongestWaiting("proxy"), 2);
  limits.SetWaiting(2, 2);  // it still waits
  EXPECT_EQ(limits.LongestWaiting("proxy"), 2);
  limits.SetBusy(2);
  EXPECT_EQ(limits.LongestWaiting("proxy"), std::nullopt);
  limits.SetWaiting(2, 2);
  EXPECT_EQ(limits.LongestWaiting("proxy"), 4);
  limits.SetIdle(2);
  EXPECT_EQ(limits.LongestIdle("proxy"), 2);
}

TEST(ConnectionLimitsTest, ANetworkAtItsLimitLosesItsOwnWaitingConnections) {
  constexpr int kMany = ConnectionLimits::kFewWaiting + 1;
  ConnectionLimits limits(3 * kMany, kMany);
  for (int id = 1; id <= 2 * kMany; ++id) {
    limits.Add(id, id <= kMany ? "first" : "second");
    limits.SetWaiting(id, 0);
  }
  EXPECT_EQ(limits.LongestWaiting("first"), 1);
  EXPECT_EQ(limits.LongestWaiting("second"), kMany + 1);
}

TEST(ConnectionLimitsTest, IgnoresConnectionsThatWereRemoved) {
  ConnectionLimits limits(1);
  limits.Add(1);
  limits.Remove(1);
  limits.SetIdle(1);
  limits.SetBusy(1);
  limits.SetWaiting(1, 0);
  limits.Remove(1);
  EXPECT_EQ(limits.size(), 0);
  EXPECT_EQ(limits.LongestIdle(), std::nullopt);
}

TEST(ConnectionLimitsTest, FewFilesAllowFewConnections) {
  EXPECT_EQ(ConnectionsWithin(1000, 3, 16, 4096), 333);
  EXPECT_EQ(ConnectionsWithin(10, 3, 16, 4096), 16);
  EXPECT_EQ(ConnectionsWithin(-100, 3, 16, 4096), 16);
  EXPECT_EQ(ConnectionsWithin(100000, 3, 16, 4096), 4096);
  EXPECT_EQ(ConnectionsWithin(0, 1, 16, 4), 4);
}

}  // namespace
}  // namespace trivium
