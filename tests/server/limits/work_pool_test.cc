#include "server/limits/work_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <string>

namespace trivium {
namespace {

TEST(WorkPoolTest, DoesAllQueuedWorkBeforeItEnds) {
  std::atomic<int> done = 0;
  {
    WorkPool pool(3);
    for (int i = 0; i < 1000; ++i) pool.Run({1, &pool}, i, [&done] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

// One thread, which starts when all work is queued. Records what it does.
class WorkPoolOrderTest : public testing::Test {
 protected:
  WorkPoolOrderTest() {
    std::promise<void> waits;
    pool_->Run({0, this}, 0, [this, &waits] {
      waits.set_value();
      go_.get_future().wait();
    });
    waits.get_future().wait();
  }
  // Queues work that records its call.
  void Run(const char* call, int64_t bytes, ClientId client = 1) {
    pool_->Run({client, call}, bytes, [this, call] { done_ += call; });
  }
  // Work that was done, in order.
  std::string Finish() {
    go_.set_value();
    owner_.reset();
    return done_;
  }

  static constexpr char kA[] = "a", kB[] = "b", kC[] = "c";
  std::promise<void> go_;
  std::string done_;
  std::unique_ptr<WorkPool> owner_ = std::make_unique<WorkPool>(1);
  // Valid while the destructor runs queued work, unlike owner_.get().
  WorkPool* const pool_ = owner_.get();
};

TEST_F(WorkPoolOrderTest, AShortTextDoesNotWaitForABacklog) {
  for (int i = 0; i < 4; ++i) Run(kA, 1 << 20);
  for (int i = 0; i < 4; ++i) Run(kB, 1 << 20);
  Run(kC, 1000);
  EXPECT_EQ(Finish(), "abcababab");
}

TEST_F(WorkPoolOrderTest, CallsShareByBytes) {
  for (int i = 0; i < 8; ++i) Run(kA, 1000);
  for (int i = 0; i < 4; ++i) Run(kB, 4000);
  EXPECT_EQ(Finish(), "abaaaabaaabb");
}

TEST_F(WorkPoolOrderTest, ChargesForWorkWithoutBytes) {
  for (int i = 0; i < 3; ++i) Run(kA, 0);
  for (int i = 0; i < 3; ++i) Run(kB, 0);
  EXPECT_EQ(Finish(), "ababab");
}

// Long work: each piece queues the next one.
TEST_F(WorkPoolOrderTest, APieceThatAPieceQueuesContinuesTheCallsCount) {
  int left = 4;
  std::function<void()> next = [&] {
    done_ += kA;
    if (--left > 0) pool_->Run({1, kA}, 3000, next);
  };
  pool_->Run({1, kA}, 3000, next);
  for (int i = 0; i < 9; ++i) Run(kB, 1000);
  EXPECT_EQ(Finish(), "abbbabbbabbba");
}

TEST_F(WorkPoolOrderTest, ALateCallHasNoCredit) {
  std::promise<void> half, go_on;
  for (int i = 0; i < 3; ++i) Run(kA, 1000);
  pool_->Run({1, kA}, 1000, [&] {
    half.set_value();
    go_on.get_future().wait();
  });
  for (int i = 0; i < 3; ++i) Run(kA, 1000);
  go_.set_value();
  half.get_future().wait();
  for (int i = 0; i < 3; ++i) Run(kB, 1000);
  go_on.set_value();
  owner_.reset();
  // From then on they take turns.
  EXPECT_EQ(done_, "aaabababa");
}

// However many calls a client has, another client's only one waits for one of
// them.
TEST_F(WorkPoolOrderTest, ClientsShareHoweverManyCallsEachHas) {
  const std::string many(100, 'a');  // each letter's address is a call
  for (const char& call : many) {
    pool_->Run({1, &call}, 1000, [this] { done_ += 'a'; });
  }
  for (int i = 0; i < 3; ++i) Run(kB, 1000, 2);
  Run(kC, 1000, 3);
  EXPECT_EQ(Finish(), "abcabab" + many.substr(3));
}

TEST_F(WorkPoolOrderTest, ClientsShareByBytes) {
  for (int i = 0; i < 4; ++i) Run(kA, 1000);
  for (int i = 0; i < 2; ++i) Run(kB, 2000, 2);
  for (int i = 0; i < 4; ++i) Run(kC, 1000);
  EXPECT_EQ(Finish(), "abcabcacac");
}

TEST_F(WorkPoolOrderTest, LongWorkGivesWayToAnotherClientsFirst) {
  pool_->Run({1, kA}, 1 << 20, [&] {
    done_ += kA;
    Run(kC, 1000);
    Run(kB, 1000, 2);
    WorkPool::Yield();
    done_ += kA;
  });
  EXPECT_EQ(Finish(), "abca");
}

// Long work that cannot be cut.
TEST_F(WorkPoolOrderTest, LongWorkGivesWayToShortWork) {
  pool_->Run({1, kA}, 1 << 20, [&] {
    done_ += kA;
    Run(kB, 1 << 20);
    for (int i = 0; i < 3; ++i) Run(kC, 1000);
    Run(kA, 1000);
    WorkPool::Yield();
    done_ += kA;
  });
  EXPECT_EQ(Finish(), "acccaba");
}

TEST_F(WorkPoolOrderTest, LongWorkMakesProgressBesideShortWork) {
  constexpr int64_t kHalf = WorkPool::kPieceBytes / 2;
  pool_->Run({1, kA}, 1 << 20, [&] {
    for (int i = 0; i < 5; ++i) Run(kC, kHalf);
    for (int i = 0; i < 4; ++i) {
      WorkPool::Yield();
      done_ += kA;
    }
  });
  EXPECT_EQ(Finish(), "ccaccacaa");
}

TEST_F(WorkPoolOrderTest, WorkInsideOtherWorkDoesNotGiveWay) {
  pool_->Run({1, kA}, 1 << 20, [&] {
    pool_->Run({1, kC}, 1000, [&] {
      done_ += kC;
      WorkPool::Yield();
      done_ += kC;
    });
    Run(kB, 1000);
    WorkPool::Yield();
    done_ += kA;
  });
  EXPECT_EQ(Finish(), "ccba");
}

TEST_F(WorkPoolOrderTest, WorkOfACallServedLessDoesNotGiveWay) {
  Run(kC, 3000);
  Run(kC, 3000);
  pool_->Run({1, kA}, 1000, [&] {
    WorkPool::Yield();
    done_ += kA;
  });
  EXPECT_EQ(Finish(), "cac");
}

TEST(WorkPoolTest, GoesOnAfterWorkThatThrows) {
  std::promise<void> done;
  {
    WorkPool pool(1);
    const int call = 0;
    pool.Run({1, &call}, 1, [] { throw std::bad_alloc(); });
    pool.Run({1, &call}, 1, [&done] { done.set_value(); });
  }
  done.get_future().get();
}

TEST(WorkPoolTest, YieldDoesNothingOnOtherThreads) { WorkPool::Yield(); }

}  // namespace
}  // namespace trivium
