#include "server/batching/admission.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1000);

TEST(AdmissionTest, TakesAWholeCallOrNothing) {
  Admission admission(100);
  EXPECT_TRUE(admission.Admit(std::vector<int64_t>{30, 30}).ok());
  EXPECT_EQ(admission.waiting_tokens(), 60);
  const Submission full = admission.Admit(std::vector<int64_t>{20, 21});
  EXPECT_EQ(full.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(full.request, -1);
  EXPECT_EQ(admission.waiting_tokens(), 60);
  EXPECT_TRUE(admission.Admit(std::vector<int64_t>{20, 20}).ok());
  EXPECT_EQ(admission.free_tokens(), 0);
}

TEST(AdmissionTest, NamesTheRequestThatNoEmptyQueueTakes) {
  Admission admission(100);
  const Submission refused = admission.Admit(std::vector<int64_t>{60, 30, 11});
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.request, 2);
  const std::string message(refused.status.message());
  EXPECT_NE(message.find("101"), std::string::npos) << message;
  EXPECT_NE(message.find("100"), std::string::npos) << message;
  EXPECT_EQ(admission.waiting_tokens(), 0);
}

TEST(AdmissionTest, RetryAfterIsWaitingOverMeasuredRate) {
  Admission admission(1000);
  EXPECT_EQ(admission.RetryAfter(kNow), absl::Milliseconds(10));
  ASSERT_TRUE(admission.Admit(std::vector<int64_t>{1000}).ok());
  EXPECT_EQ(admission.RetryAfter(kNow), absl::Seconds(1));  // no rate yet
  // 100 tokens a second for four seconds; 600 still wait.
  for (int i = 0; i < 4; ++i) admission.Start(100, kNow + absl::Seconds(i));
  EXPECT_EQ(admission.RetryAfter(kNow + absl::Seconds(4)), absl::Seconds(6));
  // Nothing within the window: as if nothing was known.
  EXPECT_EQ(admission.RetryAfter(kNow + absl::Seconds(60)), absl::Seconds(1));
  admission.Drop(600);
  EXPECT_EQ(admission.RetryAfter(kNow + absl::Seconds(4)),
            absl::Milliseconds(10));
}

TEST(RateMeterTest, ForgetsAfterItsWindow) {
  RateMeter meter;
  EXPECT_EQ(meter.PerSecond(kNow), 0);
  meter.Add(50, kNow);
  EXPECT_EQ(meter.PerSecond(kNow), 100);  // half a second is the least
  EXPECT_EQ(meter.PerSecond(kNow + absl::Seconds(4)), 12.5);
  EXPECT_EQ(meter.PerSecond(kNow + absl::Seconds(5)), 0);
  meter.Add(10, kNow + absl::Seconds(5));
  EXPECT_EQ(meter.PerSecond(kNow + absl::Seconds(5)), 2);
}

}  // namespace
}  // namespace trivium
