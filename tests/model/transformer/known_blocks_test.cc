#include "model/transformer/known_blocks.h"

#include <map>
#include <random>
#include <utility>

#include "gtest/gtest.h"

namespace trivium {
namespace {

using Tokens = std::vector<int32_t>;

TEST(KnownBlocksTest, TheSameTokensAfterAnotherPastAreAnotherBlock) {
  KnownBlocks known(8);
  const std::string past = KnownBlocks::Past({{1, 2}, {}}, "salt");
  known.Add(3, KnownBlocks::kNone, past, Tokens{5, 6});
  EXPECT_EQ(known.Find(KnownBlocks::kNone, past, Tokens{5, 6}), 3);
  EXPECT_EQ(known.Find(KnownBlocks::kNone, past, Tokens{5, 7}), -1);
  for (const std::string& other :
       {KnownBlocks::Past({{1, 2}, {}}, ""),
        KnownBlocks::Past({{1}, {2}}, "salt"),
        KnownBlocks::Past({{1, 2}, {0, 0}}, "salt")}) {
    EXPECT_EQ(known.Find(KnownBlocks::kNone, other, Tokens{5, 6}), -1);
  }
  known.Add(4, known.id(3), past, Tokens{5, 6});
  EXPECT_EQ(known.Find(known.id(3), past, Tokens{5, 6}), 4);
  EXPECT_EQ(known.Find(known.id(4), past, Tokens{5, 6}), -1);
}

TEST(KnownBlocksTest, WhatFollowedAForgottenBlockIsNotFoundAgain) {
  KnownBlocks known(8);
  known.Add(0, KnownBlocks::kNone, "", Tokens{1});
  known.Add(1, known.id(0), "", Tokens{2});
  const KnownBlocks::Id before = known.id(0);
  known.Forget(0);
  EXPECT_EQ(known.Find(KnownBlocks::kNone, "", Tokens{1}), -1);
  // An equal block comes back: another id, so another past.
  known.Add(0, KnownBlocks::kNone, "", Tokens{1});
  EXPECT_NE(known.id(0), before);
  EXPECT_EQ(known.Find(known.id(0), "", Tokens{2}), -1);
}

// Against all that was ever added, written out.
TEST(KnownBlocksTest, FindsWhatAMapOfWholePastsFinds) {
  constexpr int kBlocks = 12;
  std::mt19937 random(3);
  KnownBlocks known(kBlocks);
  std::map<Tokens, int> expected;     // whole past -> block
  std::vector<Tokens> held(kBlocks);  // [blocks]; empty: not known
  for (int step = 0; step < 20000; ++step) {
    // Walks along a random path as far as it is known, and extends it.
    Tokens path;
    KnownBlocks::Id before = KnownBlocks::kNone;
    for (int depth = 0; depth < 4; ++depth) {
      const Tokens next = {static_cast<int32_t>(random() % 3)};
      path.push_back(next[0]);
      const int found = known.Find(before, "", next);
      const auto there = expected.find(path);
      ASSERT_EQ(found, there == expected.end() ? -1 : there->second);
      if (found >= 0) {
        before = known.id(found);
        continue;
      }
      const int block = random() % kBlocks;
      const Tokens gone = std::exchange(held[block], {});
      // What follows it can no longer be found.
      std::erase_if(expected, [&](const auto& one) {
        if (gone.empty() || one.first.size() < gone.size() ||
            !std::equal(gone.begin(), gone.end(), one.first.begin())) {
          return false;
        }
        held[one.second].clear();
        return true;
      });
      known.Forget(block);
      // The walk's own past may have gone with it.
      if (path.size() > 1 &&
          !expected.contains(Tokens(path.begin(), path.end() - 1))) {
        break;
      }
      known.Add(block, before, "", next);
      expected[path] = block;
      held[block] = path;
      break;
    }
  }
}

}  // namespace
}  // namespace trivium
