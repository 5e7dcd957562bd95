#include "model/weights/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "model/weights/weights.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

constexpr size_t kPage = 4096;

int Sum(std::span<const std::byte> bytes) {
  int sum = 0;
  for (const std::byte byte : bytes) sum += std::to_integer<int>(byte);
  return sum;
}

TEST(MappedFileTest, ReadsZerosAfterTruncation) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  folder.Write("x", std::string(10 * kPage, '\1'));
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Sum((*file)->bytes()), 10 * kPage);
  EXPECT_TRUE((*file)->CheckUnchanged().ok());
  std::filesystem::resize_file(path, 3 * kPage + 7);
  // A read beyond the end would raise SIGBUS.
  EXPECT_EQ(Sum((*file)->bytes()), 3 * kPage + 7);
  EXPECT_THAT((*file)->CheckUnchanged(),
              IsError(absl::StatusCode::kInvalidArgument, path));
  // Even if it has become long enough again.
  std::filesystem::resize_file(path, 10 * kPage);
  EXPECT_FALSE((*file)->CheckUnchanged().ok());
}

// Returns the pages of `bytes` that are in this process's memory.
int PagesInMemory(std::span<const std::byte> bytes) {
  std::vector<uint64_t> entries(bytes.size() / kPage);
  const InputFile map = *InputFile::Open("/proc/self/pagemap");
  const auto first = reinterpret_cast<uintptr_t>(bytes.data()) / kPage;
  const auto size = static_cast<ssize_t>(entries.size() * sizeof(uint64_t));
  EXPECT_EQ(pread(map.descriptor(), entries.data(), size,
                  static_cast<off_t>(first * sizeof(uint64_t))),
            size);
  return static_cast<int>(
      std::count_if(entries.begin(), entries.end(),
                    [](uint64_t entry) { return entry >> 63 != 0; }));
}

TEST(MappedFileTest, DroppedPagesLeaveMemoryAndAreReadAgain) {
  const TemporaryFolder folder;
  folder.Write("x", std::string(100 * kPage, '\1'));
  const auto file = MappedFile::Open(folder.path() + "/x");
  ASSERT_TRUE(file.ok()) << file.status();
  const std::span<const std::byte> bytes = (*file)->bytes();
  EXPECT_EQ(Sum(bytes), 100 * kPage);
  EXPECT_EQ(PagesInMemory(bytes), 100);
  // Pages that `bytes` has in part stay.
  DropPages(bytes.subspan(10 * kPage + 1, 20 * kPage));
  EXPECT_EQ(PagesInMemory(bytes), 81);
  DropPages(bytes.subspan(50 * kPage, kPage - 1));
  EXPECT_EQ(PagesInMemory(bytes), 81);
  EXPECT_EQ(Sum(bytes), 100 * kPage);
}

TEST(MappedFileTest, DropsNothingOutsideOfMappedFiles) {
  std::vector<std::byte> own(8 * kPage, std::byte{1});
  DropPages(own);
  EXPECT_EQ(Sum(own), 8 * kPage);
  const TemporaryFolder folder;
  folder.Write("x", std::string(kPage, '\1'));
  std::span<const std::byte> bytes;
  {
    const auto file = MappedFile::Open(folder.path() + "/x");
    ASSERT_TRUE(file.ok()) << file.status();
    bytes = (*file)->bytes();
  }
  DropPages(bytes);  // the file is closed
  DropPages({});
}

TEST(MappedFileTest, SurvivesTruncationWhileManyThreadsRead) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  folder.Write("x", std::string(256 * kPage, '\1'));
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_LE(Sum((*file)->bytes()), 256 * kPage);
      }
    });
  }
  for (size_t pages = 256; pages-- > 0;) {
    std::filesystem::resize_file(path, pages * kPage);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(Sum((*file)->bytes()), 0);
}

TEST(MappedFileTest, ReportsThatTheFileHasChanged) {
  const TemporaryFolder folder;
  folder.Write("model.safetensors",
               ReadWholeFile("tests/golden/bert.base/model.safetensors"));
  const auto weights = Weights::Open(folder.path());
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_TRUE((*weights)->CheckUnchanged().ok());
  std::filesystem::resize_file(folder.path() + "/model.safetensors", 100);
  (*weights)->Fingerprint();
  EXPECT_THAT((*weights)->CheckUnchanged(),
              IsError(absl::StatusCode::kInvalidArgument, "model.safetensors"));
}

// A SIGBUS from elsewhere still ends the process.
TEST(MappedFileDeathTest, OtherMappingsAreNotGuarded) {
  const TemporaryFolder folder;
  folder.Write("x", std::string(kPage, '\1'));
  const auto guarded = MappedFile::Open(folder.path() + "/x");
  ASSERT_TRUE(guarded.ok()) << guarded.status();
  const auto file = InputFile::Open(folder.path() + "/x");
  ASSERT_TRUE(file.ok()) << file.status();
  const char* bytes = static_cast<const char*>(
      mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, file->descriptor(), 0));
  ASSERT_NE(bytes, MAP_FAILED);
  EXPECT_DEATH(
      {
        truncate((folder.path() + "/x").c_str(), 0);
        static_cast<volatile const char*>(bytes)[0];
      },
      "");
}

}  // namespace
}  // namespace trivium
