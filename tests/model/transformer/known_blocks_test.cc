#include "model/transformer/known_blocks.h"

#include <map>
#include <random>
#include <utility>

#include "gmock/gmock.h"

namespace trivium {
namespace {

using testing::ElementsAre;

using Tokens = std::vector<int32_t>;
using Blocks = std::vector<int>;
constexpr int kNoBlock = KnownBlocks::kNoBlock;

TEST(KnownBlocksTest, TheSameTokensAfterAnotherPastAreOthers) {
  KnownBlocks known(8, 1);
  const std::string past = KnownBlocks::Past({{1, 2}, {}}, "salt");
  const KnownBlocks::Id first =
      known.Add(KnownBlocks::kNone, past, Tokens{5, 6}, Blocks{3});
  const auto* found = known.Find(KnownBlocks::kNone, past, Tokens{5, 6});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->id, first);
  EXPECT_THAT(found->blocks, ElementsAre(3));
  EXPECT_EQ(known.Find(KnownBlocks::kNone, past, Tokens{5, 7}), nullptr);
  for (const std::string& other :
       {KnownBlocks::Past({{1, 2}, {}}, ""),
        KnownBlocks::Past({{1}, {2}}, "salt"),
        KnownBlocks::Past({{1, 2}, {0, 0}}, "salt")}) {
    EXPECT_EQ(known.Find(KnownBlocks::kNone, other, Tokens{5, 6}), nullptr);
  }
  const KnownBlocks::Id second =
      known.Add(first, past, Tokens{5, 6}, Blocks{4});
  found = known.Find(first, past, Tokens{5, 6});
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->blocks, ElementsAre(4));
  EXPECT_EQ(known.Find(second, past, Tokens{5, 6}), nullptr);
  // Where others are known, they stay.
  EXPECT_EQ(known.Add(first, past, Tokens{5, 6}, Blocks{5}), second);
  EXPECT_FALSE(known.Knows(5));
}

TEST(KnownBlocksTest, WhatFollowedAForgottenBlockIsNotFoundAgain) {
  KnownBlocks known(8, 1);
  const KnownBlocks::Id first =
      known.Add(KnownBlocks::kNone, "", Tokens{1}, Blocks{0});
  known.Add(first, "", Tokens{2}, Blocks{1});
  known.Forget(0);
  EXPECT_EQ(known.Find(KnownBlocks::kNone, "", Tokens{1}), nullptr);
  // An equal block comes back: another id, so another past.
  const KnownBlocks::Id again =
      known.Add(KnownBlocks::kNone, "", Tokens{1}, Blocks{0});
  EXPECT_NE(again, first);
  EXPECT_EQ(known.Find(again, "", Tokens{2}), nullptr);
}

TEST(KnownBlocksTest, GroupsOfLayersComeAndGoApart) {
  KnownBlocks known(8, 2);
  const auto blocks = [&] {
    const auto* found = known.Find(KnownBlocks::kNone, "", Tokens{1});
    return found == nullptr ? Blocks() : found->blocks;
  };
  // Nothing of it is known.
  EXPECT_EQ(
      known.Add(KnownBlocks::kNone, "", Tokens{1}, Blocks{kNoBlock, kNoBlock}),
      KnownBlocks::kNone);
  EXPECT_THAT(blocks(), ElementsAre());
  const KnownBlocks::Id id =
      known.Add(KnownBlocks::kNone, "", Tokens{1}, Blocks{kNoBlock, 3});
  EXPECT_THAT(blocks(), ElementsAre(kNoBlock, 3));
  EXPECT_EQ(known.Add(KnownBlocks::kNone, "", Tokens{1}, Blocks{2, 4}), id);
  EXPECT_THAT(blocks(), ElementsAre(2, 3));
  EXPECT_FALSE(known.Knows(4));
  known.Forget(3);
  EXPECT_THAT(blocks(), ElementsAre(2, kNoBlock));
  EXPECT_EQ(known.Add(KnownBlocks::kNone, "", Tokens{1}, Blocks{5, 4}), id);
  EXPECT_THAT(blocks(), ElementsAre(2, 4));
  known.Forget(2);
  known.Forget(4);
  EXPECT_THAT(blocks(), ElementsAre());
}

// Against all that was ever added, written out.
TEST(KnownBlocksTest, FindsWhatAMapOfWholePastsFinds) {
  constexpr int kBlocks = 12;
  std::mt19937 random(3);
  KnownBlocks known(kBlocks, 1);
  std::map<Tokens, int> expected;     // whole past -> block
  std::vector<Tokens> held(kBlocks);  // [blocks]; empty: not known
  for (int step = 0; step < 20000; ++step) {
    // Walks along a random path as far as it is known, and extends it.
    Tokens path;
    KnownBlocks::Id before = KnownBlocks::kNone;
    for (int depth = 0; depth < 4; ++depth) {
      const Tokens next = {static_cast<int32_t>(random() % 3)};
      path.push_back(next[0]);
      const auto* found = known.Find(before, "", next);
      const auto there = expected.find(path);
      ASSERT_EQ(found == nullptr ? -1 : found->blocks[0],
                there == expected.end() ? -1 : there->second);
      if (found != nullptr) {
        before = found->id;
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
      known.Add(before, "", next, Blocks{block});
      expected[path] = block;
      held[block] = path;
      break;
    }
  }
}

}  // namespace
}  // namespace trivium
