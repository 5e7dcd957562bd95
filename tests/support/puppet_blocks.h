#ifndef TRIVIUM_TESTS_SUPPORT_PUPPET_BLOCKS_H_
#define TRIVIUM_TESTS_SUPPORT_PUPPET_BLOCKS_H_

#include <memory>
#include <utility>
#include <vector>

namespace trivium {

// Counts a puppet engine's KV blocks exactly as engine.h promises: tokens take
// a block where they cross a block border, and where they write to one that
// others share.
class PuppetBlocks {
  // A block of KV memory; its use count is the number of those that share it.
  struct Block {};

 public:
  // A hypothesis's tokens; a copy shares their blocks. Gives the blocks back
  // when it goes, so it must not outlive the PuppetBlocks.
  class Tokens {
   public:
    int size() const { return size_; }

   private:
    friend PuppetBlocks;
    int size_ = 0;
    std::vector<std::shared_ptr<Block>> blocks_;
  };

  PuppetBlocks(int total, int block_tokens)
      : block_tokens_(block_tokens), free_(total) {}
  PuppetBlocks(const PuppetBlocks&) = delete;
  PuppetBlocks& operator=(const PuppetBlocks&) = delete;

  int free() const { return free_; }

  // Blocks without tokens of this class: a source's.
  void Take(int blocks) { free_ -= blocks; }
  void Give(int blocks) { free_ += blocks; }

  // Blocks that it takes to append so many tokens to each, in this order.
  int Needed(const std::vector<std::pair<const Tokens*, int>>& appends) const;
  // Appends one token.
  void Append(Tokens* tokens);

 private:
  int BlocksFor(int tokens) const {
    return (tokens + block_tokens_ - 1) / block_tokens_;
  }
  std::shared_ptr<Block> TakeBlock();

  const int block_tokens_;
  int free_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_PUPPET_BLOCKS_H_
