#include "server/limits/overload_manager.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "server/errors/status.h"

namespace trivium {
namespace {

class OverloadManagerTest : public testing::Test {
 protected:
  static constexpr int64_t kMiB = 1 << 20;
  using Stage = OverloadManager::Stage;

  void SetMemory(int64_t mebibytes) {
    memory_ = mebibytes * kMiB;
    manager_.Look();
  }

  int64_t memory_ = 100 * kMiB;
  int trims_ = 0;
  absl::Time now_ = absl::UnixEpoch();
  Metrics metrics_{1};
  OverloadManager manager_{{.limit_bytes = 1000 * kMiB,
                            .memory = [this] { return memory_; },
                            .trim = [this] { ++trims_; },
                            .now = [this] { return now_; }},
                           &metrics_,
                           /*watch=*/false};
};

// A call that holds bytes.
class FakeCall : public AccountedCall {
 public:
  FakeCall(OverloadManager* manager, int64_t requests, int64_t responses = 0)
      : manager_(manager), held_(manager->account()) {
    held_.Set(Held::kRequests, requests);
    held_.Set(Held::kResponses, responses);
    manager->Add(this);
  }
  ~FakeCall() override {
    manager_->Remove(this);
    held_.Close();
  }
  const CallBytes& held() const override { return held_; }
  void ResumeReading() override { ++resumed; }
  void Shed() override { ++shed; }

  int resumed = 0;
  int shed = 0;

 private:
  OverloadManager* const manager_;
  CallBytes held_;
};

TEST_F(OverloadManagerTest, RefusesRequestsThatWouldNotFitBeforeTheNextLook) {
  // 850 - 100 MiB are free; a request of 10 MiB needs 40 MiB.
  int admitted = 0;
  while (admitted < 1000 && manager_.AdmitRequest(10 * kMiB).ok()) ++admitted;
  EXPECT_EQ(admitted, 18);
  const absl::Status refused = manager_.AdmitRequest(10 * kMiB);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_TRUE(RetryDelay(refused).has_value());
  EXPECT_TRUE(manager_.AdmitRequest(kMiB).ok()) << "a smaller one fits";
}

TEST_F(OverloadManagerTest, RequestsAreForeseenToTakeTheirMemoryLater) {
  manager_.Look();
  // They are held, but have taken nothing yet.
  FakeCall call(&manager_, 180 * kMiB);
  manager_.Look();
  EXPECT_FALSE(manager_.AdmitRequest(10 * kMiB).ok());
  EXPECT_FALSE(manager_.MayComeIn(10 * kMiB, kMiB));
  EXPECT_TRUE(manager_.AdmitRequest(1).ok());
}

TEST_F(OverloadManagerTest, MeasuredMemoryCounts) {
  memory_ = 851 * kMiB;
  manager_.Look();
  EXPECT_FALSE(manager_.AdmitRequest(kMiB).ok());
  EXPECT_TRUE(manager_.AdmitRequest(1).ok()) << "small ones are the last";
  memory_ = 951 * kMiB;
  EXPECT_TRUE(manager_.AdmitRequest(1).ok()) << "it has not looked";
  manager_.Look();
  EXPECT_FALSE(manager_.AdmitRequest(1).ok());
  memory_ = 500 * kMiB;
  manager_.Look();
  EXPECT_TRUE(manager_.AdmitRequest(10 * kMiB).ok());
}

TEST_F(OverloadManagerTest, ReturnsMemoryAfterAPeak) {
  auto call = std::make_unique<FakeCall>(&manager_, 50 * kMiB, 30 * kMiB);
  manager_.Look();
  EXPECT_THAT(
      metrics_.Text(),
      testing::HasSubstr("trivium_held_bytes{kind=\"requests\"} 52428800"));
  EXPECT_THAT(
      metrics_.Text(),
      testing::HasSubstr("trivium_held_bytes{kind=\"responses\"} 31457280"));
  auto small = std::make_unique<FakeCall>(&manager_, 10 * kMiB);
  manager_.Look();
  small.reset();
  manager_.Look();
  EXPECT_EQ(trims_, 0) << "not for less than a peak";
  call.reset();
  manager_.Look();
  EXPECT_EQ(trims_, 1);
  manager_.Look();
  EXPECT_EQ(trims_, 1) << "once";
  EXPECT_EQ(manager_.account()->total(), 0);
  EXPECT_THAT(metrics_.Text(),
              testing::HasSubstr("trivium_held_bytes{kind=\"requests\"} 0"));
}

TEST_F(OverloadManagerTest, ReturnsTheRestOfAPeakOnceNothingMoreIsFreed) {
  std::vector<std::unique_ptr<FakeCall>> calls;
  for (int i = 0; i < 10; ++i) {
    calls.push_back(std::make_unique<FakeCall>(&manager_, 12 * kMiB));
  }
  manager_.Look();
  while (!calls.empty()) {
    calls.pop_back();
    now_ += absl::Milliseconds(500);
    manager_.Look();
  }
  EXPECT_EQ(trims_, 1) << "60 MiB became free after the first trim";
  now_ += absl::Milliseconds(999);
  manager_.Look();
  EXPECT_EQ(trims_, 1);
  now_ += absl::Milliseconds(1);
  manager_.Look();
  EXPECT_EQ(trims_, 2);
  now_ += absl::Hours(1);
  manager_.Look();
  EXPECT_EQ(trims_, 2) << "once";
}

TEST_F(OverloadManagerTest, LittleThatIsFreedIsKept) {
  auto call = std::make_unique<FakeCall>(&manager_, kMiB - 1);
  manager_.Look();
  call.reset();
  manager_.Look();
  now_ += absl::Hours(1);
  manager_.Look();
  EXPECT_EQ(trims_, 0);
}

TEST_F(OverloadManagerTest, FollowsTheMemoryWithStages) {
  for (const auto& [mebibytes, stage] :
       std::vector<std::pair<int64_t, Stage>>{{100, Stage::kNormal},
                                              {750, Stage::kNormal},
                                              {751, Stage::kPausing},
                                              {851, Stage::kRefusing},
                                              {901, Stage::kShedding},
                                              {700, Stage::kNormal}}) {
    SetMemory(mebibytes);
    EXPECT_EQ(manager_.stage(), stage) << mebibytes;
    EXPECT_THAT(metrics_.Text(),
                testing::HasSubstr(fmt::format("trivium_overload_stage {}",
                                               static_cast<int>(stage))));
  }
  EXPECT_GE(trims_, 1) << "what is free goes back while memory is short";
}

TEST_F(OverloadManagerTest, MessagesAreReadWhileThereIsRoom) {
  EXPECT_TRUE(manager_.MayComeIn(600 * kMiB, 50 * kMiB));
  EXPECT_FALSE(manager_.MayComeIn(600 * kMiB, 51 * kMiB));
  SetMemory(850);
  EXPECT_FALSE(manager_.MayComeIn(kMiB, kMiB));
  EXPECT_TRUE(manager_.MayComeIn(kMiB, 0)) << "one at a time";
  SetMemory(900);
  EXPECT_FALSE(manager_.MayComeIn(kMiB, 0));
  // Bytes that arrived since the last look may not be in the memory yet.
  SetMemory(850);
  manager_.OnCame(kMiB);
  EXPECT_FALSE(manager_.MayComeIn(kMiB, 0)) << "one at a look";
  manager_.Look();
  EXPECT_TRUE(manager_.MayComeIn(kMiB, 0));
  SetMemory(700);
  manager_.OnCame(40 * kMiB);
  EXPECT_TRUE(manager_.MayComeIn(10 * kMiB, 0));
  EXPECT_FALSE(manager_.MayComeIn(11 * kMiB, 0));
  // What comes in is not there for what has come.
  SetMemory(100);
  manager_.account()->Add(Held::kIncoming, 740 * kMiB);
  EXPECT_TRUE(manager_.AdmitRequest(2 * kMiB).ok());
  EXPECT_FALSE(manager_.AdmitRequest(kMiB).ok());
  EXPECT_THAT(metrics_.Text(),
              testing::HasSubstr(
                  "trivium_overload_actions_total{action=\"refused\"} 1"));
  manager_.account()->Add(Held::kIncoming, -740 * kMiB);
}

TEST_F(OverloadManagerTest, StreamsAreReadIfClientsHoldLittle) {
  FakeCall reader(&manager_, 1000);
  SetMemory(800);
  EXPECT_TRUE(manager_.MayRead(&reader));
  auto other = std::make_unique<FakeCall>(&manager_, 2 * kMiB);
  EXPECT_FALSE(manager_.MayRead(&reader));
  other.reset();
  manager_.Look();
  EXPECT_EQ(reader.resumed, 1);
}

TEST_F(OverloadManagerTest, StreamsAreReadAgainWhenMemoryIsFree) {
  FakeCall reader(&manager_, 2 * kMiB), gone(&manager_, 0);
  EXPECT_TRUE(manager_.MayRead(&reader));
  SetMemory(800);
  EXPECT_FALSE(manager_.MayRead(&reader));
  EXPECT_FALSE(manager_.MayRead(&gone));
  manager_.Remove(&gone);
  manager_.Look();
  EXPECT_EQ(reader.resumed, 0);
  SetMemory(700);
  EXPECT_EQ(reader.resumed, 1);
  EXPECT_EQ(gone.resumed, 0);
  manager_.Look();
  EXPECT_EQ(reader.resumed, 1) << "once";
  EXPECT_TRUE(manager_.MayRead(&reader));
}

TEST_F(OverloadManagerTest, ShedsTheLargestAndYoungestCalls) {
  FakeCall old(&manager_, 10 * kMiB);  // a request counts four times
  FakeCall largest(&manager_, 0, 60 * kMiB);
  FakeCall young(&manager_, 10 * kMiB);
  FakeCall small(&manager_, 1000);
  SetMemory(900);
  EXPECT_EQ(largest.shed, 0);
  SetMemory(951);  // 101 beyond where requests are refused
  EXPECT_EQ(largest.shed, 1);
  EXPECT_EQ(young.shed, 1);
  EXPECT_EQ(old.shed, 1) << "100 were not enough";
  EXPECT_EQ(small.shed, 0);
  manager_.Look();
  EXPECT_EQ(largest.shed + young.shed + old.shed + small.shed, 3)
      << "they are ending";
}

TEST_F(OverloadManagerTest, ShedsNoMoreCallsThanNecessary) {
  FakeCall largest(&manager_, 0, 120 * kMiB), other(&manager_, 0, 110 * kMiB);
  SetMemory(960);
  EXPECT_EQ(largest.shed, 1);
  EXPECT_EQ(other.shed, 0);
}

}  // namespace
}  // namespace trivium
