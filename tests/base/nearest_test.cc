#include "base/nearest.h"

#include <gtest/gtest.h>

namespace trivium {
namespace {

TEST(NearestTest, FindsTheNameWithTheFewestChanges) {
  EXPECT_EQ(Nearest("presicion", {"shortlist", "precision"}), "precision");
  EXPECT_EQ(Nearest("", {"abc", "d"}), "d");
  EXPECT_EQ(Nearest("translat", {"tokens", "translate", "attention"}),
            "translate");
  // The first of several equally close ones.
  EXPECT_EQ(Nearest("x", {"a", "b"}), "a");
}

TEST(NearestTest, OnlyAMisspeltNameIsNear) {
  EXPECT_TRUE(IsNear("hlep", "help"));
  EXPECT_TRUE(IsNear("transalte", "translate"));
  EXPECT_FALSE(IsNear("foo", "tag"));
  EXPECT_FALSE(IsNear("detect", "search"));
}

TEST(NearestTest, FlagsAreMeantByOtherProgramsNamesAndByBeginnings) {
  const std::vector<std::string> client = {
      "term", "beam-size", "format", "source-language", "target-language",
      "help", "address"};
  EXPECT_NE(UnknownFlag("--beam", client).find("--beam-size?"),
            std::string::npos);
  EXPECT_NE(UnknownFlag("--from=de", client).find("--source-language?"),
            std::string::npos);
  EXPECT_NE(UnknownFlag("--to", client).find("--target-language?"),
            std::string::npos);
  EXPECT_NE(UnknownFlag("--port", client).find("--address?"),
            std::string::npos);
  EXPECT_NE(UnknownFlag("--port", {"plan", "http-listen"}).find("http-listen?"),
            std::string::npos);
  EXPECT_NE(UnknownFlag("--fromat", client).find("--format?"),
            std::string::npos);
  EXPECT_NE(UnknownFlag("--", client).find("--term?"), std::string::npos);
}

}  // namespace
}  // namespace trivium
