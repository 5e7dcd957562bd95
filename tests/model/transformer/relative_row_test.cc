#include "model/transformer/relative_row.h"

#include "gtest/gtest.h"

namespace trivium {
namespace {

using Buckets = RelativeAttentionDescription::Buckets;

// Sums rows over all distances of a long text to one number that any wrong row
// changes.
int64_t Checksum(Buckets buckets, int span, int max_distance) {
  RelativeAttentionDescription description;
  description.buckets = buckets;
  description.span = span;
  description.max_distance = max_distance;
  int64_t sum = 0;
  for (int distance = -600; distance <= 600; ++distance) {
    sum += int64_t{RelativeRow(description, distance)} * (distance + 2000);
  }
  return sum % 1000003;
}

// The expected sums are those of Transformers (make_log_bucket_position of
// DeBERTa v2, relative_position_bucket of MPNet and T5), computed by torch in
// f32.
TEST(RelativeRowTest, EqualsTransformers) {
  EXPECT_EQ(Checksum(Buckets::kLogarithmic, 256, 512), 932668);
  EXPECT_EQ(Checksum(Buckets::kLogarithmic, 32, 512), 468709);
  EXPECT_EQ(Checksum(Buckets::kLogarithmic, 8, 64), 843624);
  EXPECT_EQ(Checksum(Buckets::kLogarithmic, 6, 20), 232989);
  EXPECT_EQ(Checksum(Buckets::kLogarithmic, 2, 10), 164585);
  EXPECT_EQ(Checksum(Buckets::kT5, 32, 128), 95047);
  EXPECT_EQ(Checksum(Buckets::kT5, 8, 20), 250767);
  EXPECT_EQ(Checksum(Buckets::kT5Past, 32, 128), 957523);
  EXPECT_EQ(Checksum(Buckets::kT5Past, 8, 20), 597921);
}

TEST(RelativeRowTest, EachDistanceHasARowUpToTheSpan) {
  RelativeAttentionDescription description;
  description.span = 4;
  EXPECT_EQ(RelativeRow(description, 0), 4);
  EXPECT_EQ(RelativeRow(description, 3), 7);
  EXPECT_EQ(RelativeRow(description, 4), 7);
  EXPECT_EQ(RelativeRow(description, -4), 0);
  EXPECT_EQ(RelativeRow(description, -500), 0);
}

}  // namespace
}  // namespace trivium
