#include "base/parallel.h"

#include <atomic>
#include <functional>
#include <new>
#include <vector>

#include "base/thread.h"
#include "gtest/gtest.h"

namespace trivium {
namespace {

TEST(ParallelForTest, ProcessesEachItemOnce) {
  for (const int items : {0, 1, 2, 7, 1000}) {
    for (const int least : {0, 1, 3, 600, 2000}) {
      std::vector<std::atomic<int>> seen(items);
      ParallelFor(items, least, [&](int begin, int end) {
        EXPECT_LT(begin, end);
        EXPECT_GE(end - begin, std::min(items, least));
        for (int i = begin; i < end; ++i) ++seen[i];
      });
      for (const auto& times : seen) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ParallelForTest, GoesOnAloneWithoutThreads) {
  const UseThreadSource none([](std::function<void()>) { return nullptr; });
  std::vector<int> seen(1000);
  ParallelFor(1000, 1, [&](int begin, int end) {
    for (int i = begin; i < end; ++i) ++seen[i];
  });
  for (const int times : seen) EXPECT_EQ(times, 1);
}

TEST(ParallelForTest, LackOfMemoryOnAnyThreadIsTold) {
  constexpr int kItems = 64;
  for (const int failing : {0, kItems - 1}) {
    std::atomic<int> processed = 0;
    EXPECT_THROW(ParallelFor(kItems, 1,
                             [&](int begin, int end) {
                               for (int i = begin; i < end; ++i) {
                                 if (i == failing) throw std::bad_alloc();
                                 ++processed;
                               }
                             }),
                 std::bad_alloc);
    EXPECT_LT(processed, kItems);
  }
}

}  // namespace
}  // namespace trivium
