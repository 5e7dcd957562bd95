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

TEST(ConnectionLimitsTest, IgnoresConnectionsThatWereRemoved) {
  ConnectionLimits limits(1);
  limits.Add(1);
  limits.Remove(1);
  limits.SetIdle(1);
  limits.SetBusy(1);
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
