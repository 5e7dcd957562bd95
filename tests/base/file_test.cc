#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string FileError(const std::string& path, size_t most = 100) {
  return ReadFile(path, most).status().ToString();
}

TEST(FileTest, ReadsUpToTheLimit) {
  const TemporaryFolder folder;
  const std::string contents("a\0b\n", 4);
  folder.Write("x", contents);
  EXPECT_EQ(ReadFile(folder.path() + "/x", 4).value(), contents);
  EXPECT_THAT(FileError(folder.path() + "/x", 3),
              AllOf(HasSubstr("/x: has 4 bytes"), HasSubstr("at most 3")));
}

// Reading these would wait or read forever.
TEST(FileTest, RefusesAllButRegularFiles) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", folder.path() + "/zero");
  for (const char* name : {"/pipe", "/zero", "/."}) {
    EXPECT_THAT(FileError(folder.path() + name),
                AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr(name),
                      HasSubstr("not a regular file")));
  }
}

TEST(FileTest, NamesMissingAndUnreadableFiles) {
  const TemporaryFolder folder;
  folder.Write("empty", "");
  std::filesystem::create_symlink("nowhere", folder.path() + "/dangling");
  std::filesystem::create_symlink("circle", folder.path() + "/circle");
  EXPECT_EQ(ReadFile(folder.path() + "/empty").value(), "");
  EXPECT_TRUE(absl::IsNotFound(ReadFile(folder.path() + "/none").status()));
  EXPECT_TRUE(absl::IsNotFound(ReadFile(folder.path() + "/dangling").status()));
  EXPECT_TRUE(absl::IsNotFound(ReadFile(folder.path() + "/empty/x").status()));
  EXPECT_THAT(FileError(folder.path() + "/circle"),
              HasSubstr("cannot be opened"));
}

TEST(FileTest, FollowsLinks) {
  const TemporaryFolder folder;
  folder.Write("x", "text");
  std::filesystem::create_symlink("x", folder.path() + "/link");
  EXPECT_EQ(ReadFile(folder.path() + "/link").value(), "text");
}

}  // namespace
}  // namespace trivium
