#include "model/weights/packed_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::ElementsAre;

const PackedFile::Key kKey = PackedFile::Key::Of("these weights");

// Three pieces, of which one has several blocks and one has no bytes.
class PackedFileTest : public testing::Test {
 protected:
  PackedFileTest() : long_(2 * PackedFile::kBlock + 12345, '\0') {
    for (size_t i = 0; i < long_.size(); ++i) {
      long_[i] = static_cast<char>(i * 2654435761u >> 11);
    }
  }

  absl::Status Write() const {
    return PackedFile::Write(
        path_, kKey, {{{7, Bytes("short")}, {1, Bytes(long_)}, {3, {}}}});
  }
  absl::Status Open() const { return PackedFile::Open(path_, kKey).status(); }
  std::vector<std::string> FileNames() const {
    std::vector<std::string> names;
    for (const auto& file :
         std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(file.path().filename());
    }
    return names;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/a.packed";
  std::string long_;
};

TEST_F(PackedFileTest, ReturnsWhatWasWritten) {
  ASSERT_TRUE(Write().ok());
  EXPECT_THAT(FileNames(), ElementsAre("a.packed"));
  const auto file = PackedFile::Open(path_, kKey);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto is = [&](uint64_t id, std::string_view bytes) {
    const auto found = (*file)->Find(id);
    return found && std::ranges::equal(*found, Bytes(bytes));
  };
  EXPECT_TRUE(is(7, "short"));
  EXPECT_TRUE(is(1, long_));
  EXPECT_TRUE(is(3, ""));
  EXPECT_FALSE((*file)->Find(2).has_value());
  // Kernels load whole lines.
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*file)->Find(1)->data()) % 4096, 0u);
  EXPECT_TRUE((*file)->CheckUnchanged().ok());
}

TEST_F(PackedFileTest, IsNotFoundOrOfOtherWeights) {
  EXPECT_TRUE(absl::IsNotFound(Open()));
  ASSERT_TRUE(Write().ok());
  EXPECT_THAT(
      PackedFile::Open(path_, PackedFile::Key::Of("others")).status(),
      IsError(absl::StatusCode::kInvalidArgument, "a.packed: is of other"));
}

TEST_F(PackedFileTest, EveryCutIsNoticed) {
  ASSERT_TRUE(Write().ok());
  const std::string whole = ReadWholeFile(path_);
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{47}, size_t{48}, size_t{100}, size_t{4095},
        size_t{4096}, PackedFile::kBlock, whole.size() - 1}) {
    folder_.Remove("a.packed");
    folder_.Write("a.packed", whole.substr(0, size));
    EXPECT_TRUE(absl::IsInvalidArgument(Open())) << size;
  }
}

TEST_F(PackedFileTest, EveryChangedByteIsNoticed) {
  ASSERT_TRUE(PackedFile::Write(path_, kKey, {{{0, Bytes("few bytes")}}}).ok());
  const std::string whole = ReadWholeFile(path_);
  // Bytes between the head and the data have no meaning.
  constexpr size_t kHead = 48 + 24 + 2 * 8, kData = 4096;
  ASSERT_EQ(whole.size(), kData + 9);
  for (size_t i = 0; i < whole.size(); i = i == kHead - 1 ? kData : i + 1) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    folder_.Remove("a.packed");
    folder_.Write("a.packed", changed);
    EXPECT_TRUE(absl::IsInvalidArgument(Open())) << i;
  }
}

TEST_F(PackedFileTest, ChangedBlocksOfALongFileAreNoticed) {
  ASSERT_TRUE(Write().ok());
  const std::string whole = ReadWholeFile(path_);
  for (const size_t i : {size_t{8192}, PackedFile::kBlock + 5000,
                         2 * PackedFile::kBlock + 5000, whole.size() - 1}) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    folder_.Remove("a.packed");
    folder_.Write("a.packed", changed);
    EXPECT_THAT(Open(),
                IsError(absl::StatusCode::kInvalidArgument, "not as they were"))
        << i;
  }
}

TEST_F(PackedFileTest, IsOpenWhileItIsTruncatedAndNoticesIt) {
  ASSERT_TRUE(Write().ok());
  const auto file = PackedFile::Open(path_, kKey);
  ASSERT_TRUE(file.ok()) << file.status();
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  std::filesystem::resize_file(path_, 4096);
  EXPECT_FALSE((*file)->CheckUnchanged().ok());
  EXPECT_EQ((*file)->Find(1)->back(), std::byte{0});
}

TEST_F(PackedFileTest, AnotherProcessWritesIt) {
  const std::string temporary = path_ + ".tmp";
  const int held = open(temporary.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  EXPECT_TRUE(absl::IsAborted(Write()));
  EXPECT_THAT(FileNames(), ElementsAre("a.packed.tmp"));
  // It ends without having written the file.
  close(held);
  EXPECT_TRUE(Write().ok());
  EXPECT_THAT(FileNames(), ElementsAre("a.packed"));
  EXPECT_TRUE(Open().ok());
}

TEST_F(PackedFileTest, ManyWritersAtOnceLeaveOneWholeFile) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([this] {
      for (int j = 0; j < 5; ++j) {
        const absl::Status status = Write();
        EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << status;
        // Whatever another writer does, a file that is there is whole.
        const absl::Status open = Open();
        EXPECT_TRUE(open.ok() || absl::IsNotFound(open)) << open;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_THAT(FileNames(), ElementsAre("a.packed"));
  EXPECT_TRUE(Open().ok());
}

TEST_F(PackedFileTest, AFullDiskLeavesNothing) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = PackedFile::kBlock;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = Write();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(status, IsError(absl::StatusCode::kUnavailable, "a.packed.tmp"));
  EXPECT_TRUE(FileNames().empty());
}

TEST_F(PackedFileTest, AFolderThatIsNoneIsAnError) {
  folder_.Write("file", "");
  EXPECT_THAT(PackedFile::Write(folder_.path() + "/file/a", kKey, {}),
              IsError(absl::StatusCode::kUnavailable, "file/a.tmp"));
}

}  // namespace
}  // namespace trivium
