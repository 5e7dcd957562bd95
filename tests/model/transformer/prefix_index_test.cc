#include "model/transformer/prefix_index.h"

#include <map>
#include <random>
#include <utility>

#include "gmock/gmock.h"

namespace trivium {
namespace {

using testing::ElementsAre;

using Tokens = std::vector<int32_t>;
using Blocks = std::vector<int>;
constexpr int kNoBlock = PrefixIndex::kNoBlock;

TEST(PrefixIndexTest, EqualTokensAfterAnotherPrefixAreNotFound) {
  PrefixIndex index(8, 1);
  const std::string context_key = PrefixIndex::ContextKey({{1, 2}, {}}, "salt");
  const PrefixIndex::Id first =
      index.Register(PrefixIndex::kNone, context_key, Tokens{5, 6}, Blocks{3});
  const auto* found = index.Find(PrefixIndex::kNone, context_key, Tokens{5, 6});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->id, first);
  EXPECT_THAT(found->blocks, ElementsAre(3));
  EXPECT_EQ(index.Find(PrefixIndex::kNone, context_key, Tokens{5, 7}), nullptr);
  for (const std::string& other :
       {PrefixIndex::ContextKey({{1, 2}, {}}, ""),
        PrefixIndex::ContextKey({{1}, {2}}, "salt"),
        PrefixIndex::ContextKey({{1, 2}, {0, 0}}, "salt")}) {
    EXPECT_EQ(index.Find(PrefixIndex::kNone, other, Tokens{5, 6}), nullptr);
  }
  const PrefixIndex::Id second =
      index.Register(first, context_key, Tokens{5, 6}, Blocks{4});
  found = index.Find(first, context_key, Tokens{5, 6});
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->blocks, ElementsAre(4));
  EXPECT_EQ(index.Find(second, context_key, Tokens{5, 6}), nullptr);
  // Blocks that are already registered stay.
  EXPECT_EQ(index.Register(first, context_key, Tokens{5, 6}, Blocks{5}),
            second);
  EXPECT_FALSE(index.Contains(5));
}

TEST(PrefixIndexTest, SuccessorsOfAForgottenNodeAreNotFound) {
  PrefixIndex index(8, 1);
  const PrefixIndex::Id first =
      index.Register(PrefixIndex::kNone, "", Tokens{1}, Blocks{0});
  index.Register(first, "", Tokens{2}, Blocks{1});
  index.Forget(0);
  EXPECT_EQ(index.Find(PrefixIndex::kNone, "", Tokens{1}), nullptr);
  // An equal node returns with another id, so its successors differ.
  const PrefixIndex::Id again =
      index.Register(PrefixIndex::kNone, "", Tokens{1}, Blocks{0});
  EXPECT_NE(again, first);
  EXPECT_EQ(index.Find(again, "", Tokens{2}), nullptr);
}

TEST(PrefixIndexTest, GroupsOfLayersAreRegisteredSeparately) {
  PrefixIndex index(8, 2);
  const auto blocks = [&] {
    const auto* found = index.Find(PrefixIndex::kNone, "", Tokens{1});
    return found == nullptr ? Blocks() : found->blocks;
  };
  // No block is given, so nothing is registered.
  EXPECT_EQ(index.Register(PrefixIndex::kNone, "", Tokens{1},
                           Blocks{kNoBlock, kNoBlock}),
            PrefixIndex::kNone);
  EXPECT_THAT(blocks(), ElementsAre());
  const PrefixIndex::Id id =
      index.Register(PrefixIndex::kNone, "", Tokens{1}, Blocks{kNoBlock, 3});
  EXPECT_THAT(blocks(), ElementsAre(kNoBlock, 3));
  EXPECT_EQ(index.Register(PrefixIndex::kNone, "", Tokens{1}, Blocks{2, 4}),
            id);
  EXPECT_THAT(blocks(), ElementsAre(2, 3));
  EXPECT_FALSE(index.Contains(4));
  index.Forget(3);
  EXPECT_THAT(blocks(), ElementsAre(2, kNoBlock));
  EXPECT_EQ(index.Register(PrefixIndex::kNone, "", Tokens{1}, Blocks{5, 4}),
            id);
  EXPECT_THAT(blocks(), ElementsAre(2, 4));
  index.Forget(2);
  index.Forget(4);
  EXPECT_THAT(blocks(), ElementsAre());
}

// Compares with a map of all registered prefixes, written out in full.
TEST(PrefixIndexTest, FindsTheSameAsAMapOfWholePrefixes) {
  constexpr int kBlocks = 12;
  std::mt19937 random(3);
  PrefixIndex index(kBlocks, 1);
  std::map<Tokens, int> expected;     // whole prefix -> block
  std::vector<Tokens> held(kBlocks);  // [blocks]; empty: not registered
  for (int step = 0; step < 20000; ++step) {
    // Walks along a random path as far as it is registered, and extends it.
    Tokens path;
    PrefixIndex::Id before = PrefixIndex::kNone;
    for (int depth = 0; depth < 4; ++depth) {
      const Tokens next = {static_cast<int32_t>(random() % 3)};
      path.push_back(next[0]);
      const auto* found = index.Find(before, "", next);
      const auto there = expected.find(path);
      ASSERT_EQ(found == nullptr ? -1 : found->blocks[0],
                there == expected.end() ? -1 : there->second);
      if (found != nullptr) {
        before = found->id;
        continue;
      }
      const int block = random() % kBlocks;
      const Tokens gone = std::exchange(held[block], {});
      // Its successors can no longer be found.
      std::erase_if(expected, [&](const auto& one) {
        if (gone.empty() || one.first.size() < gone.size() ||
            !std::equal(gone.begin(), gone.end(), one.first.begin())) {
          return false;
        }
        held[one.second].clear();
        return true;
      });
      index.Forget(block);
      // The walk's own prefix may have been removed.
      if (path.size() > 1 &&
          !expected.contains(Tokens(path.begin(), path.end() - 1))) {
        break;
      }
      index.Register(before, "", next, Blocks{block});
      expected[path] = block;
      held[block] = path;
      break;
    }
  }
}

}  // namespace
}  // namespace trivium
