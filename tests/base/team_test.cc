#include "base/team.h"

#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

constexpr int kTeams[] = {1, 2, 3, 8};

TEST(TeamTest, EveryItemIsRunOnceWhateverTheThreads) {
  for (const int threads : kTeams) {
    Team team(threads);
    EXPECT_EQ(team.threads(), threads);
    for (const int items : {0, 1, 2, 3, 7, 8, 9, 100}) {
      std::vector<int> runs(items), on(threads);
      team.Run(items, 1, [&](int begin, int end, int thread) {
        ASSERT_LT(begin, end);
        ++on[thread];
        for (int i = begin; i < end; ++i) ++runs[i];
      });
      for (const int count : runs) EXPECT_EQ(count, 1);
      for (int thread = 0; thread < threads; ++thread) {
        EXPECT_EQ(on[thread], thread < items ? 1 : 0) << items;
      }
    }
  }
}

TEST(TeamTest, TheCallersRangeIsTheFirst) {
  Team team(3);
  std::vector<std::thread::id> by(30);
  std::vector<int> thread_of(30);
  team.Run(30, 1, [&](int begin, int end, int thread) {
    for (int i = begin; i < end; ++i) {
      by[i] = std::this_thread::get_id();
      thread_of[i] = thread;
    }
  });
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(thread_of[i], i / 10);
    EXPECT_EQ(by[i] == std::this_thread::get_id(), i < 10);
  }
}

// Only as many threads run as get `least` items each.
TEST(TeamTest, SmallWorkUsesFewerThreads) {
  Team team(8);
  for (const auto& [items, ranges] : std::vector<std::pair<int, int>>{
           {1, 1}, {19, 1}, {20, 2}, {31, 3}, {79, 7}, {80, 8}, {1000, 8}}) {
    std::vector<int> sizes(8);
    team.Run(items, 10, [&](int begin, int end, int thread) {
      sizes[thread] = end - begin;
    });
    int taking_part = 0;
    for (const int size : sizes) {
      taking_part += size > 0;
      EXPECT_TRUE(size == 0 || size >= 10 || items < 10) << items;
    }
    EXPECT_EQ(taking_part, ranges) << items;
  }
}

// One run reads what another wrote, on other threads, even after they slept.
TEST(TeamTest, EachRunSeesWhatThePreviousOneWrote) {
  for (const int threads : kTeams) {
    Team team(threads);
    constexpr int kItems = 64;
    std::vector<int> from(kItems, 1), to(kItems);
    for (int run = 0; run < 500; ++run) {
      team.Run(kItems, 1 + run % 40, [&](int begin, int end, int) {
        for (int i = begin; i < end; ++i) {
          to[i] = from[(i + 1) % kItems] + 1;
        }
      });
      std::swap(from, to);
      if (run % 100 == 0) {  // lets the other threads fall asleep
        for (int i = 0; i < 1000; ++i) std::this_thread::yield();
      }
    }
    for (const int value : from) EXPECT_EQ(value, 501);
  }
}

TEST(TeamTest, EndsWithoutARun) {
  for (const int threads : kTeams) Team team(threads);
}

}  // namespace
}  // namespace trivium
