#include "server/limits/work_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <string>

namespace trivium {
namespace {

TEST(WorkPoolTest, DoesAllWorkBeforeItEnds) {
  std::atomic<int> done = 0;
  {
    WorkPool pool(3);
    for (int i = 0; i < 1000; ++i) pool.Run(&pool, i, [&done] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

// One thread, which does nothing until all is queued; what it does is noted.
class WorkPoolOrderTest : public testing::Test {
 protected:
  WorkPoolOrderTest() : pool_(std::in_place, 1) {
    std::promise<void> waits;
    pool_->Run(this, 0, [this, &waits] {
      waits.set_value();
      go_.get_future().wait();
    });
    waits.get_future().wait();
  }
  void Run(const char* call, int64_t bytes) {
    pool_->Run(call, bytes, [this, call] { done_ += call; });
  }
  // What was done, in order.
  std::string Finish() {
    go_.set_value();
    pool_.reset();
    return done_;
  }

  static constexpr char kA[] = "a", kB[] = "b", kC[] = "c";
  std::promise<void> go_;
  std::string done_;
  std::optional<WorkPool> pool_;
};

TEST_F(WorkPoolOrderTest, DoesNotLetAShortTextWaitForABacklog) {
  for (int i = 0; i < 4; ++i) Run(kA, 1 << 20);
  for (int i = 0; i < 4; ++i) Run(kB, 1 << 20);
  Run(kC, 1000);
  EXPECT_EQ(Finish(), "abcababab");
}

TEST_F(WorkPoolOrderTest, SharesTimeAmongCallsByBytes) {
  for (int i = 0; i < 8; ++i) Run(kA, 1000);
  for (int i = 0; i < 4; ++i) Run(kB, 4000);
  EXPECT_EQ(Finish(), "abaaaabaaabb");
}

TEST_F(WorkPoolOrderTest, ChargesForWorkWithoutBytes) {
  for (int i = 0; i < 3; ++i) Run(kA, 0);
  for (int i = 0; i < 3; ++i) Run(kB, 0);
  EXPECT_EQ(Finish(), "ababab");
}

// What long work does: a piece queues the next one.
TEST_F(WorkPoolOrderTest, ChargesACallForWorkThatItsWorkQueues) {
  int left = 4;
  std::function<void()> next = [&] {
    done_ += kA;
    if (--left > 0) pool_->Run(kA, 3000, next);
  };
  pool_->Run(kA, 3000, next);
  for (int i = 0; i < 9; ++i) Run(kB, 1000);
  EXPECT_EQ(Finish(), "abbbabbbabbba");
}

TEST_F(WorkPoolOrderTest, GivesALateCallNoCredit) {
  std::promise<void> half, go_on;
  for (int i = 0; i < 3; ++i) Run(kA, 1000);
  pool_->Run(kA, 1000, [&] {
    half.set_value();
    go_on.get_future().wait();
  });
  for (int i = 0; i < 3; ++i) Run(kA, 1000);
  go_.set_value();
  half.get_future().wait();
  for (int i = 0; i < 3; ++i) Run(kB, 1000);
  go_on.set_value();
  pool_.reset();
  // From then on they take turns.
  EXPECT_EQ(done_, "aaabababa");
}

// What long work does that cannot be cut.
TEST_F(WorkPoolOrderTest, LetsLongWorkGiveWayToShortWork) {
  pool_->Run(kA, 1 << 20, [&] {
    done_ += kA;
    Run(kB, 1 << 20);
    for (int i = 0; i < 3; ++i) Run(kC, 1000);
    Run(kA, 1000);
    WorkPool::GiveWay();
    done_ += kA;
  });
  EXPECT_EQ(Finish(), "acccaba");
}

TEST_F(WorkPoolOrderTest, LetsLongWorkGoOnBesideShortWork) {
  constexpr int64_t kHalf = WorkPool::kPieceBytes / 2;
  pool_->Run(kA, 1 << 20, [&] {
    for (int i = 0; i < 5; ++i) Run(kC, kHalf);
    for (int i = 0; i < 4; ++i) {
      WorkPool::GiveWay();
      done_ += kA;
    }
  });
  EXPECT_EQ(Finish(), "ccaccacaa");
}

TEST_F(WorkPoolOrderTest, DoesNotLetNestedWorkGiveWay) {
  pool_->Run(kA, 1 << 20, [&] {
    pool_->Run(kC, 1000, [&] {
      done_ += kC;
      WorkPool::GiveWay();
      done_ += kC;
    });
    Run(kB, 1000);
    WorkPool::GiveWay();
    done_ += kA;
  });
  EXPECT_EQ(Finish(), "ccba");
}

TEST_F(WorkPoolOrderTest, DoesNotLetWorkThatHadLessGiveWay) {
  Run(kC, 3000);
  Run(kC, 3000);
  pool_->Run(kA, 1000, [&] {
    WorkPool::GiveWay();
    done_ += kA;
  });
  EXPECT_EQ(Finish(), "cac");
}

TEST(WorkPoolTest, DoesNotGiveWayOutsideAPool) { WorkPool::GiveWay(); }

}  // namespace
}  // namespace trivium
