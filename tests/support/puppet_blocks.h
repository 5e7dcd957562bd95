#ifndef TRIVIUM_TESTS_SUPPORT_PUPPET_BLOCKS_H_
#define TRIVIUM_TESTS_SUPPORT_PUPPET_BLOCKS_H_

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace trivium {

// A puppet engine's KV blocks, as engine.h promises them: tokens take a block
// where they cross a block border, and where they write to one that others
// share; full blocks of beginnings stay until others need the room. A block
// holds the tokens that were written to it, so that a hypothesis with a wrong
// block has another history than it should.
class PuppetBlocks {
  // Its use count is the number of those that share it, and one more where it
  // is kept.
  struct Block {
    std::vector<int32_t> tokens;
  };

 public:
  // A hypothesis's tokens; a copy shares their blocks. Gives the blocks back
  // when it goes, so it must not outlive the PuppetBlocks.
  class Tokens {
   public:
    int size() const { return size_; }
    // What is written in the blocks.
    std::vector<int32_t> Read() const;

   private:
    friend PuppetBlocks;
    int size_ = 0;
    std::vector<std::shared_ptr<Block>> blocks_;
  };

  PuppetBlocks(int total, int block_tokens)
      : block_tokens_(block_tokens), free_(total) {}
  PuppetBlocks(const PuppetBlocks&) = delete;
  PuppetBlocks& operator=(const PuppetBlocks&) = delete;

  // The kept blocks that nobody uses are free, too.
  int free() const;

  // Blocks without tokens of this class: a source's.
  void Take(int blocks);
  void Give(int blocks) { free_ += blocks; }

  // Blocks that it takes to append so many tokens to each, in this order.
  int Needed(const std::vector<std::pair<const Tokens*, int>>& appends) const;
  void Append(int32_t token, Tokens* tokens);
  // Gives back the blocks after the first `count` tokens. The last one still
  // holds what was written to it, until it is written to.
  void Truncate(int count, Tokens* tokens);

  // Keeps the full blocks of `tokens`, the first `count` of which are a
  // beginning, under `past`.
  void Cache(const Tokens& tokens, int count, const std::string& past);
  // Tokens with the kept blocks of a beginning; fewer tokens than it has.
  Tokens Find(std::span<const int32_t> beginning, const std::string& past);

 private:
  struct Kept {
    std::string past;
    std::vector<int32_t> tokens;  // to the end of the block
    std::shared_ptr<Block> block;
  };

  int BlocksFor(int tokens) const {
    return (tokens + block_tokens_ - 1) / block_tokens_;
  }
  std::list<Kept>::iterator FindKept(const std::string& past,
                                     std::span<const int32_t> tokens);
  std::shared_ptr<Block> TakeBlock();
  // Gives up kept blocks until so many are really free.
  void Evict(int blocks);

  const int block_tokens_;
  int free_;              // and not kept
  std::list<Kept> kept_;  // the one used last comes last
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_PUPPET_BLOCKS_H_
