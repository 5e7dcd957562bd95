#include "base/open_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/socket.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class OpenFileTest : public testing::Test {
 protected:
  OpenFileTest()
      : file_(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/file";
  const UniqueFd file_;
};

TEST_F(OpenFileTest, WritesAtAPlace) {
  EXPECT_EQ(WriteAllAt(file_.get(), BytesOf("abcd"), 0), 0);
  EXPECT_EQ(WriteAllAt(file_.get(), BytesOf("xy"), 1), 0);
  EXPECT_EQ(WriteAllAt(file_.get(), {}, 1 << 20), 0);
  EXPECT_EQ(*ReadFile(path_), "axyd");
}

TEST_F(OpenFileTest, TellsWhyItCannotWrite) {
  const UniqueFd readable(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(WriteAllAt(readable.get(), BytesOf("a"), 0), EBADF);
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(WriteAllAt(full.get(), BytesOf("a"), 0), ENOSPC);
}

TEST_F(OpenFileTest, AFileLosesItsName) {
  EXPECT_TRUE(IsAt(file_.get(), path_));
  const std::string other = path_ + ".other";
  std::filesystem::rename(path_, other);
  EXPECT_FALSE(IsAt(file_.get(), path_));
  EXPECT_TRUE(IsAt(file_.get(), other));
  // A new file of the old name is another one.
  const UniqueFd next(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_FALSE(IsAt(file_.get(), path_));
  std::remove(other.c_str());
  EXPECT_FALSE(IsAt(file_.get(), other));
}

}  // namespace
}  // namespace trivium
