#include "server/batching/workers.h"

#include <string>

#include "gmock/gmock.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr std::nullopt_t kAuto = std::nullopt;

TEST(WorkersTest, SmallModelsGetOneWorkerForEachCore) {
  EXPECT_EQ(*ChooseWorkers(kAuto, kAuto, 1, kMiB), (Workers{1, 1}));
  EXPECT_EQ(*ChooseWorkers(kAuto, kAuto, 8, 0), (Workers{8, 1}));
  EXPECT_EQ(*ChooseWorkers(kAuto, kAuto, 8, 96 * kMiB), (Workers{8, 1}));
}

TEST(WorkersTest, LargeModelsGetWorkersWithSeveralThreads) {
  EXPECT_EQ(*ChooseWorkers(kAuto, kAuto, 8, 97 * kMiB), (Workers{4, 2}));
  EXPECT_EQ(*ChooseWorkers(kAuto, kAuto, 8, 7000 * kMiB), (Workers{1, 8}));
  EXPECT_EQ(*ChooseWorkers(kAuto, kAuto, 1, 7000 * kMiB), (Workers{1, 1}));
  // The cores that the division leaves over are used, too.
  EXPECT_EQ(*ChooseWorkers(kAuto, kAuto, 7, 150 * kMiB), (Workers{3, 2}));
  EXPECT_EQ(*ChooseWorkers(kAuto, kAuto, 8, 450 * kMiB), (Workers{1, 8}));
}

TEST(WorkersTest, GivenNumbersOfWorkersAndThreadsAreKept) {
  EXPECT_EQ(*ChooseWorkers(3, 5, 8, 7000 * kMiB), (Workers{3, 5}));
  EXPECT_EQ(*ChooseWorkers(2, kAuto, 8, 0), (Workers{2, 4}));
  EXPECT_EQ(*ChooseWorkers(16, kAuto, 8, 0), (Workers{16, 1}));
  EXPECT_EQ(*ChooseWorkers(kAuto, 2, 8, 0), (Workers{4, 2}));
  EXPECT_EQ(*ChooseWorkers(kAuto, 16, 8, 0), (Workers{1, 16}));
}

TEST(WorkersTest, CachesLeaveMemoryForEverythingElse) {
  const ModelSizes one = {.models = 1}, four = {.models = 4};
  EXPECT_EQ(ChooseKvCacheBytes(kAuto, 2, one, 24 * 1024 * kMiB), 256 * kMiB);
  EXPECT_EQ(ChooseKvCacheBytes(kAuto, 2, one, 512 * kMiB), 64 * kMiB);
  EXPECT_EQ(ChooseKvCacheBytes(kAuto, 2, four, 512 * kMiB), 16 * kMiB);
  EXPECT_EQ(ChooseKvCacheBytes(kAuto, 2, {}, 512 * kMiB), 64 * kMiB);
  EXPECT_EQ(ChooseKvCacheBytes(300 * kMiB, 2, four, 512 * kMiB), 300 * kMiB);
}

TEST(WorkersTest, CachesHoldALongestSequenceWhereMemoryAllows) {
  ModelSizes sizes;
  sizes.Add(3, 100 * kMiB);
  sizes.Add(1, 3000 * kMiB);
  sizes.Add(2, 0);
  EXPECT_EQ(sizes.weight_bytes, 3);
  EXPECT_EQ(ChooseKvCacheBytes(kAuto, 2, sizes, 100 * 1024 * kMiB),
            3000 * kMiB);
  EXPECT_EQ(ChooseKvCacheBytes(kAuto, 2, sizes, 48 * 1024 * kMiB), 2048 * kMiB);
  EXPECT_EQ(ChooseKvCacheBytes(kMiB, 2, sizes, 100 * 1024 * kMiB), kMiB);
  sizes = {};
  sizes.Add(1, 100 * kMiB);
  EXPECT_EQ(ChooseKvCacheBytes(kAuto, 2, sizes, 100 * 1024 * kMiB), 256 * kMiB);
}

TEST(WorkersTest, RefusesTooManyThreadsOfAllWorkers) {
  EXPECT_EQ(*ChooseWorkers(4096, 1, 8, 0), (Workers{4096, 1}));
  EXPECT_EQ(*ChooseWorkers(16, 256, 8, 0), (Workers{16, 256}));
  const absl::Status status = ChooseWorkers(4096, 256, 8, 0).status();
  for (const char* place :
       {"--workers 4096", "--worker-threads 256", "1048576"}) {
    EXPECT_THAT(status, IsError(absl::StatusCode::kInvalidArgument, place));
  }
}

}  // namespace
}  // namespace trivium
