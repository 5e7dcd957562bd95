#include "server/rpc/overload_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/handlers/status.h"

namespace trivium {
namespace {

class OverloadManagerTest : public testing::Test {
 protected:
  static constexpr int64_t kMiB = 1 << 20;

  int64_t memory_ = 100 * kMiB;
  int trims_ = 0;
  Metrics metrics_{1};
  OverloadManager manager_{{.limit_bytes = 1000 * kMiB,
                            .memory = [this] { return memory_; },
                            .trim =
                                [this] {
                                  ++trims_;
                                  memory_ = 100 * kMiB;
                                }},
                           &metrics_,
                           /*watch=*/false};
};

TEST_F(OverloadManagerTest, RefusesWhatWouldNotFitBeforeItLooksAgain) {
  // 850 - 100 MiB are free; a request of 10 MiB comes to 40.
  int admitted = 0;
  while (admitted < 1000 && manager_.AdmitRequest(10 * kMiB).ok()) ++admitted;
  EXPECT_EQ(admitted, 18);
  const absl::Status refused = manager_.AdmitRequest(10 * kMiB);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_TRUE(RetryDelay(refused).has_value());
  EXPECT_TRUE(manager_.AdmitRequest(kMiB).ok()) << "a smaller one fits";
}

TEST_F(OverloadManagerTest, WhatItSeesCounts) {
  memory_ = 851 * kMiB;
  EXPECT_TRUE(manager_.AdmitRequest(1).ok()) << "it has not looked";
  manager_.Look();
  EXPECT_FALSE(manager_.AdmitRequest(1).ok());
  memory_ = 500 * kMiB;
  manager_.Look();
  EXPECT_TRUE(manager_.AdmitRequest(10 * kMiB).ok());
}

TEST_F(OverloadManagerTest, CountsAndGivesBackAfterAPeak) {
  ASSERT_TRUE(manager_.AdmitRequest(50 * kMiB).ok());
  manager_.AddResponse(30 * kMiB);
  manager_.Look();
  EXPECT_THAT(
      metrics_.Text(),
      testing::HasSubstr("trivium_held_bytes{kind=\"requests\"} 52428800"));
  EXPECT_THAT(
      metrics_.Text(),
      testing::HasSubstr("trivium_held_bytes{kind=\"responses\"} 31457280"));
  manager_.ReleaseRequest(50 * kMiB);
  manager_.Look();
  EXPECT_EQ(trims_, 0) << "not for less than a peak";
  manager_.ReleaseResponse(30 * kMiB);
  manager_.Look();
  EXPECT_EQ(trims_, 1);
  manager_.Look();
  EXPECT_EQ(trims_, 1) << "once";
  EXPECT_THAT(metrics_.Text(),
              testing::HasSubstr("trivium_held_bytes{kind=\"requests\"} 0"));
}

}  // namespace
}  // namespace trivium
