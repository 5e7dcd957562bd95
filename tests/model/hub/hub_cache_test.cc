#include "model/hub/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "model/hub/pull_display.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;

const std::string kTestCommit(40, 'a');
const std::string kTestBlob(40, 'b');

class HubCacheTest : public testing::Test {
 protected:
  HubCacheTest() { fs::remove_all(folder_); }
  ~HubCacheTest() override { fs::remove_all(folder_); }

  static std::string Contents(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string folder_ = testing::TempDir() + "/hub_cache_test";
  const HubCache cache_{folder_, "test/tiny"};
  const std::string repository_ = folder_ + "/models--test--tiny";
};

TEST_F(HubCacheTest, HasHuggingfaceHubsLayout) {
  const HubFile file = {"1_Pooling/config.json", 2, kTestBlob, false};
  ASSERT_TRUE(cache_.Prepare().ok());
  EXPECT_EQ(cache_.Blob(file), repository_ + "/blobs/" + kTestBlob);
  std::ofstream(cache_.Blob(file)) << "{}";
  EXPECT_EQ(cache_.CommitOf("main").status().code(),
            absl::StatusCode::kNotFound);
  ASSERT_TRUE(cache_.Link(kTestCommit, file).ok());
  ASSERT_TRUE(cache_.Link(kTestCommit, file).ok());  // it is there
  ASSERT_TRUE(cache_.WriteRef("refs/pr/1", kTestCommit).ok());
  const std::string link =
      repository_ + "/snapshots/" + kTestCommit + "/1_Pooling/config.json";
  EXPECT_EQ(fs::read_symlink(link), "../../../blobs/" + kTestBlob);
  EXPECT_EQ(Contents(link), "{}");
  EXPECT_EQ(Contents(repository_ + "/refs/refs/pr/1"), kTestCommit);
  EXPECT_EQ(*cache_.CommitOf("refs/pr/1"), kTestCommit);
  EXPECT_EQ(*cache_.CommitOf(kTestCommit), kTestCommit);
  EXPECT_THAT(cache_.CommitOf("v2"),
              IsError(absl::StatusCode::kNotFound, "'v2'"));
  const std::vector<HubFile> files = cache_.Files(kTestCommit);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].path, file.path);
  EXPECT_EQ(files[0].size, 2);
}

TEST_F(HubCacheTest, AReplacedBlobIsLinkedAnew) {
  ASSERT_TRUE(
      cache_.Link(kTestCommit, {"config.json", 2, kTestBlob, false}).ok());
  const std::string other(40, 'c');
  ASSERT_TRUE(cache_.Link(kTestCommit, {"config.json", 2, other, false}).ok());
  EXPECT_EQ(fs::read_symlink(cache_.Snapshot(kTestCommit) + "/config.json"),
            "../../blobs/" + other);
  // A blob that is gone is no file of the commit.
  EXPECT_TRUE(cache_.Files(kTestCommit).empty());
}

TEST_F(HubCacheTest, DoesNotBelieveARef) {
  fs::create_directories(repository_ + "/refs");
  std::ofstream(repository_ + "/refs/main") << "../../../etc";
  EXPECT_FALSE(cache_.CommitOf("main").ok());
  std::ofstream(repository_ + "/refs/main")
      << kTestCommit;  // without a snapshot
  EXPECT_FALSE(cache_.CommitOf("main").ok());
}

TEST_F(HubCacheTest, NamesAFolderThatItCannotMake) {
  std::ofstream{folder_} << "a file";
  EXPECT_THAT(cache_.Prepare(), IsError(absl::StatusCode::kFailedPrecondition,
                                        "models--test--tiny"));
}

TEST_F(HubCacheTest, ADiskHasAnEnd) {
  ASSERT_TRUE(cache_.Prepare().ok());
  EXPECT_TRUE(cache_.CheckRoom(0).ok());
  EXPECT_THAT(cache_.CheckRoom(int64_t{1} << 60),
              IsError(absl::StatusCode::kResourceExhausted, "HF_HUB_CACHE"));
  EXPECT_THAT(CacheError("write", "/c/x", ENOSPC),
              IsError(absl::StatusCode::kResourceExhausted, "/c/x"));
}

TEST_F(HubCacheTest, ALockIsOneProcesss) {
  const HubFile file = {"a", 1, kTestBlob, false};
  ASSERT_TRUE(cache_.Prepare().ok());
  int held[2], release[2];
  ASSERT_EQ(pipe(held), 0);
  ASSERT_EQ(pipe(release), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = cache_.Lock(file, [] {});
    char byte = 0;
    if (write(held[1], "x", 1) == 1 && read(release[0], &byte, 1) == 1) {
      _exit(lock.ok() ? 0 : 1);
    }
    _exit(2);
  }
  char byte = 0;
  ASSERT_EQ(read(held[0], &byte, 1), 1);
  int waits = 0;
  // The child ends, and its lock with it, once this process waits.
  const auto lock = cache_.Lock(file, [&] {
    ++waits;
    EXPECT_EQ(write(release[1], "x", 1), 1);
  });
  EXPECT_TRUE(lock.ok());
  EXPECT_EQ(waits, 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(folder_ + "/.locks/models--test--tiny/" + kTestBlob +
                         ".lock"));
  for (const int end : {held[0], held[1], release[0], release[1]}) close(end);
}

TEST(PullLineTest, FitsTheTerminal) {
  EXPECT_EQ(PullLine("model.safetensors", 600'000'000, 1'200'000'000,
                     500'000'000, absl::Seconds(5), 200),
            "model.safetensors  [##########          ]  50 %  600 MB of 1.2 GB"
            "  100 MB/s  0:06 left");
  EXPECT_EQ(PullLine("a", 0, 0, 0, absl::ZeroDuration(), 200),
            "a  [####################] 100 %  0 bytes of 0 bytes");
  EXPECT_EQ(PullLine("abcdef", 1, 2, 1, absl::Seconds(1), 5), "abcd");
}

}  // namespace
}  // namespace trivium
