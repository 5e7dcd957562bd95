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

}  // namespace
}  // namespace trivium
