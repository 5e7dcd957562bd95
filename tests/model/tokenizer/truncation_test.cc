// Compares truncation with removing tokens one by one.
#include "model/tokenizer/truncation.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace trivium {
namespace {

std::vector<Token> Numbered(int first, int count) {
  std::vector<Token> tokens(count);
  for (int i = 0; i < count; ++i) tokens[i].id = first + i;
  return tokens;
}

std::vector<int32_t> IdsOf(const std::vector<Token>& tokens) {
  std::vector<int32_t> ids;
  for (const Token& token : tokens) ids.push_back(token.id);
  return ids;
}

// Removes one token after another from the longer text, at the given side; if
// both are equal, from the first, since the second keeps the odd one.
void CutSlowly(size_t room, bool left, std::vector<int32_t>* first,
               std::vector<int32_t>* second) {
  while (first->size() + second->size() > room) {
    auto* longer = first->size() >= second->size() ? first : second;
    longer->erase(left ? longer->begin() : longer->end() - 1);
  }
}

TEST(TruncationTest, EqualsRemovingOneTokenAfterAnother) {
  constexpr int kAdded = 3;
  for (const bool left : {false, true}) {
    for (int first = 0; first < 9; ++first) {
      for (int second = -1; second < 9; ++second) {
        for (int most = kAdded; most < kAdded + 20; ++most) {
          std::vector<Token> a = Numbered(100, first);
          std::optional<std::vector<Token>> b;
          if (second >= 0) b = Numbered(200, second);
          std::vector<int32_t> slow_a = IdsOf(a);
          std::vector<int32_t> slow_b = b ? IdsOf(*b) : std::vector<int32_t>();
          const size_t all = slow_a.size() + slow_b.size();
          CutSlowly(most - kAdded, left, &slow_a, &slow_b);
          EncodeOptions options;
          options.max_tokens = most;
          options.truncate_left = left;
          const absl::StatusOr<int> cut = Truncate(options, kAdded, &a, &b);
          ASSERT_TRUE(cut.ok()) << cut.status();
          EXPECT_EQ(*cut,
                    static_cast<int>(all - slow_a.size() - slow_b.size()));
          if (!b) {
            EXPECT_EQ(IdsOf(a), slow_a);
            continue;
          }
          // If the room is odd and the first text is longer, it gets the odd
          // token. That is Hugging Face's rule, which the slow loop does not
          // have.
          const bool odd = first > second && second > (most - kAdded) / 2 &&
                           (most - kAdded) % 2 == 1;
          if (odd) {
            EXPECT_EQ(a.size(), b->size() + 1);
            EXPECT_EQ(a.front().id,
                      left ? 100 + first - static_cast<int>(a.size()) : 100);
            if (b->empty()) continue;
            EXPECT_EQ(b->front().id,
                      left ? 200 + second - static_cast<int>(b->size()) : 200);
            continue;
          }
          EXPECT_EQ(IdsOf(a), slow_a) << first << " " << second << " " << most;
          EXPECT_EQ(IdsOf(*b), slow_b);
        }
      }
    }
  }
}

}  // namespace
}  // namespace trivium
