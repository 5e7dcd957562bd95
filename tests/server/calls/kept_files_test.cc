#include "server/calls/kept_files.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/fake_clock.h"

namespace trivium {
namespace {

class KeptFilesTest : public testing::Test {
 protected:
  std::string Keep(const std::string& text) { return *files_.Keep(text); }
  bool Has(const std::string& key) { return files_.Find(key).ok(); }

  FakeClock clock_;
  KeptFiles files_{
      {.most_bytes = 10, .most_files = 3, .time = absl::Minutes(1)}, &clock_};
};

TEST_F(KeptFilesTest, FindsFilesByTheirKeysForAWhile) {
  const std::string one = Keep("one"), two = Keep("two");
  EXPECT_EQ(one.size(), 32u);
  EXPECT_NE(one, two);
  EXPECT_EQ(**files_.Find(one), "one");
  EXPECT_EQ(**files_.Find(two), "two");
  EXPECT_TRUE(absl::IsNotFound(files_.Find("").status()));
  clock_.Advance(absl::Seconds(59));
  EXPECT_TRUE(Has(one));
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(Has(one));
}

TEST_F(KeptFilesTest, DropsTheOldestFilesToMakeRoom) {
  const std::string one = Keep("1234"), two = Keep("1234");
  const std::string three = Keep("123456");
  EXPECT_FALSE(Has(one));
  EXPECT_TRUE(Has(two));
  EXPECT_TRUE(Has(three));
  // The limit of files holds for empty files, too.
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Has(Keep("")));
  EXPECT_FALSE(Has(three));
}

TEST_F(KeptFilesTest, RefusesAFileLargerThanAllRoom) {
  const std::string one = Keep("1");
  EXPECT_TRUE(
      absl::IsInvalidArgument(files_.Keep(std::string(11, 'x')).status()));
  EXPECT_TRUE(Has(one));
}

}  // namespace
}  // namespace trivium
