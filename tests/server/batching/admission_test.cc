#include "server/batching/admission.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

constexpr ClientId kOne = 1, kOther = 2;
constexpr Priority kNormal = Priority::kInteractive,
                   kBackground = Priority::kBackground;

void Add(Admission* admission, ClientId client, int64_t tokens,
         Priority priority = kNormal) {
  ASSERT_TRUE(
      admission->Check(client, priority, std::vector<int64_t>{tokens}).ok());
  admission->Add(client, tokens);
}

bool Takes(const Admission& admission, ClientId client, int64_t tokens,
           Priority priority = kNormal) {
  const Submission checked =
      admission.Check(client, priority, std::vector<int64_t>{tokens});
  if (!checked.ok()) {
    EXPECT_EQ(checked.status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(checked.request, -1);
  }
  return checked.ok();
}

TEST(AdmissionTest, AnEmptyQueueTakesAsMuchAsItHolds) {
  Admission admission(100);
  EXPECT_EQ(admission.free_tokens(kOne, kNormal), 100);
  Add(&admission, kOne, 100);
  EXPECT_EQ(admission.free_tokens(kOne, kNormal), 0);
  EXPECT_FALSE(Takes(admission, kOne, 1));
  EXPECT_FALSE(Takes(admission, kOther, 7));
  EXPECT_TRUE(Takes(admission, kOther, 6));  // 100 / 16
  admission.Remove(kOne, 100);
  EXPECT_EQ(admission.free_tokens(kOther, kNormal), 100);
}

TEST(AdmissionTest, NamesTheRequestThatNoEmptyQueueTakes) {
  Admission admission(100);
  const Submission refused =
      admission.Check(kOne, kNormal, std::vector<int64_t>{60, 30, 11});
  EXPECT_EQ(refused.request, 2);
  for (const char* place : {"101", "100"}) {
    EXPECT_THAT(refused.status,
                IsError(absl::StatusCode::kInvalidArgument, place));
  }
}

TEST(AdmissionTest, AGreedyClientLeavesRoomForOthers) {
  Admission admission(9000);
  int64_t greedy = 0;
  for (; Takes(admission, kOne, 10); greedy += 10) Add(&admission, kOne, 10);
  EXPECT_NEAR(greedy, 8000, 10);
  int64_t other = 0;
  for (; Takes(admission, kOther, 10); other += 10) {
    Add(&admission, kOther, 10);
  }
  EXPECT_NEAR(other, 8 * 1000 / 9, 10);
  // The greedy client's requests are done, and both clients want more.
  for (; greedy > 0; greedy -= 10) {
    admission.Remove(kOne, 10);
    while (Takes(admission, kOther, 10)) {
      Add(&admission, kOther, 10);
      other += 10;
    }
    if (greedy > other) continue;
    EXPECT_NEAR(greedy, 9000 * 8 / 17, 20);
    break;
  }
  EXPECT_FALSE(Takes(admission, kOne, 30));
}

// One more client finds room even if many clients have filled their shares.
TEST(AdmissionTest, ThereIsAlwaysRoomForOneMoreClient) {
  Admission admission(1 << 20);
  for (ClientId client = 0; client < 100; ++client) {
    ASSERT_TRUE(Takes(admission, client, 1000)) << client;
    while (Takes(admission, client, 1000)) Add(&admission, client, 1000);
  }
}

// Holds for all clients, also for those that send background requests.
TEST(AdmissionTest, BackgroundRequestsLeaveRoomForInteractiveOnes) {
  Admission admission(9000);
  EXPECT_EQ(admission.free_tokens(kOne, kBackground), 6750);
  const Submission refused =
      admission.Check(kOne, kBackground, std::vector<int64_t>{6000, 800});
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.request, 1);
  EXPECT_TRUE(Takes(admission, kOne, 6800));
  int64_t background = 0;
  for (const ClientId client : {kOne, kOther}) {
    for (; Takes(admission, client, 10, kBackground); background += 10) {
      Add(&admission, client, 10, kBackground);
    }
  }
  EXPECT_GT(background, 6000);
  EXPECT_LE(background, 6750 + 9000 / 16);
  for (const ClientId client : {kOne, kOther}) {
    int64_t room = 0;
    for (; Takes(admission, client, 10); room += 10) {
      Add(&admission, client, 10);
    }
    EXPECT_GE(room, 500) << client;
  }
  EXPECT_FALSE(Takes(admission, kOne, 10, kBackground));
}

}  // namespace
}  // namespace trivium
