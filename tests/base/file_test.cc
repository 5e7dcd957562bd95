#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;

absl::Status FileError(const std::string& path, size_t most = 100) {
  return ReadFile(path, most).status();
}

TEST(FileTest, ReadsUpToTheLimit) {
  const TemporaryFolder folder;
  const std::string contents("a\0b\n", 4);
  folder.Write("x", contents);
  EXPECT_EQ(ReadFile(folder.path() + "/x", 4).value(), contents);
  EXPECT_THAT(FileError(folder.path() + "/x", 3),
              IsError(StatusCode::kInvalidArgument, "/x"));
}

// Reading these would wait or read forever.
TEST(FileTest, RefusesAllButRegularFiles) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", folder.path() + "/zero");
  for (const char* name : {"/pipe", "/zero", "/."}) {
    EXPECT_THAT(FileError(folder.path() + name),
                IsError(StatusCode::kInvalidArgument, name));
  }
}

TEST(FileTest, NamesMissingAndUnreadableFiles) {
  const TemporaryFolder folder;
  folder.Write("empty", "");
  std::filesystem::create_symlink("nowhere", folder.path() + "/dangling");
  std::filesystem::create_symlink("circle", folder.path() + "/circle");
  EXPECT_EQ(ReadFile(folder.path() + "/empty").value(), "");
  for (const char* name : {"/none", "/dangling", "/empty/x"}) {
    EXPECT_THAT(FileError(folder.path() + name),
                IsError(StatusCode::kNotFound, name));
  }
  EXPECT_THAT(FileError(folder.path() + "/circle"),
              IsError(StatusCode::kInvalidArgument, "/circle"));
}

TEST(FileTest, FollowsLinks) {
  const TemporaryFolder folder;
  folder.Write("x", "text");
  std::filesystem::create_symlink("x", folder.path() + "/link");
  EXPECT_EQ(ReadFile(folder.path() + "/link").value(), "text");
}

}  // namespace
}  // namespace trivium
