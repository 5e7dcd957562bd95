#include "model/kernels/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace trivium {
namespace {

// Computes the same by sorting the whole row.
std::vector<Candidate> SortedBest(const std::vector<float>& logits, int top_k,
                                  const std::vector<int32_t>& watched) {
  std::vector<Candidate> all;
  for (int i = 0; i < static_cast<int>(logits.size()); ++i) {
    if (!std::binary_search(watched.begin(), watched.end(), i)) {
      all.push_back({i, logits[i]});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](auto a, auto b) { return a.logit > b.logit; });
  all.resize(std::min<size_t>(all.size(), top_k));
  return all;
}

// Adds a block of an f32 product; returns what `all` receives.
std::vector<float> Add(RowCandidates* row, int first,
                       std::span<const float> logits) {
  const ProductRow product = {.f32 = logits.data(),
                              .n = static_cast<int>(logits.size())};
  std::vector<float> scratch(logits.size()), all(logits.size());
  row->Add(first, product, scratch.data(), all.data());
  return all;
}

// Also in ranges where sums with a far shift would overflow or vanish.
TEST(RowCandidatesTest, EqualsSortingTheRow) {
  std::mt19937 generator(1);
  RowCandidates row;  // reused, as in the decoder
  for (int round = 0; round < 3000; ++round) {
    const int vocabulary = 1 + generator() % 700;
    const int block = 1 + generator() % 200;
    const int top_k = generator() % 20;
    // Few distinct values, so that ties are common.
    const int distinct = round % 2 == 0 ? 5 : 1000000;
    std::vector<float> logits(vocabulary);
    const std::vector<float> centres = {0, 0, -500, 500, 90, -90};
    const float centre = centres[round % centres.size()];
    for (float& x : logits) {
      x = centre + static_cast<float>(generator() % distinct) / distinct * 20 -
          10;
      // Blocks with very different values.
      if (round % 7 == 0 && &x - logits.data() > block) x += 200;
    }
    std::vector<int32_t> watched;
    const int every = 1 + generator() % 50;
    for (int i = 0; i < vocabulary; ++i) {
      if (generator() % every == 0) watched.push_back(i);
    }
    row.Start(top_k, watched);
    RowCandidates later;  // receives the blocks from here on
    const int border = block * static_cast<int>(generator() % 5);
    later.Start(top_k, watched);
    for (int first = 0; first < vocabulary; first += block) {
      const int count = std::min(block, vocabulary - first);
      const std::span<const float> part(logits.data() + first,
                                        static_cast<size_t>(count));
      const std::vector<float> all =
          Add(first < border ? &row : &later, first, part);
      ASSERT_TRUE(std::equal(part.begin(), part.end(), all.begin()));
    }
    row.Append(later);
    row.Finish();

    const std::vector<Candidate> expected = SortedBest(logits, top_k, watched);
    ASSERT_EQ(row.best().size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(row.best()[i].token, expected[i].token) << "rank " << i;
      ASSERT_EQ(row.best()[i].logit, expected[i].logit);
    }
    ASSERT_EQ(row.watched().size(), watched.size());
    const double most = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (int i = 0; i < vocabulary; ++i) {
      if (!std::binary_search(watched.begin(), watched.end(), i)) {
        sum += std::exp(static_cast<double>(logits[i]) - most);
      }
    }
    for (size_t i = 0; i < watched.size(); ++i) {
      ASSERT_EQ(row.watched()[i], logits[watched[i]]);
    }
    if (sum == 0) {
      ASSERT_EQ(row.rest_log_sum_exp(),
                -std::numeric_limits<float>::infinity());
    } else {
      const double expected_sum = most + std::log(sum);
      ASSERT_NEAR(row.rest_log_sum_exp(), expected_sum,
                  1e-5 + 1e-7 * std::fabs(expected_sum));
    }
  }
}

TEST(RowCandidatesTest, MinusInfinityIsNeverACandidate) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {-infinity, 1.0f, -infinity, 0.5f};
  RowCandidates row;
  row.Start(4, {});
  Add(&row, 0, logits);
  row.Finish();
  ASSERT_EQ(row.best().size(), 2u);
  EXPECT_EQ(row.best()[0].token, 1);
  EXPECT_EQ(row.best()[1].token, 3);
}

}  // namespace
}  // namespace trivium
