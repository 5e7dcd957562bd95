#include "tests/support/puppet_blocks.h"

#include <map>

namespace trivium {

int PuppetBlocks::Needed(
    const std::vector<std::pair<const Tokens*, int>>& appends) const {
  int needed = 0;
  std::map<const Block*, long> left;  // users that have not copied the block
  for (const auto& [tokens, count] : appends) {
    const int begin = tokens->size_;
    if (begin % block_tokens_ != 0) {
      const std::shared_ptr<Block>& last = tokens->blocks_.back();
      const auto users = left.try_emplace(last.get(), last.use_count()).first;
      if (users->second > 1) {
        ++needed;
        --users->second;
      }
    }
    needed += BlocksFor(begin + count) - BlocksFor(begin);
  }
  return needed;
}

void PuppetBlocks::Append(Tokens* tokens) {
  if (tokens->size_ % block_tokens_ == 0) {
    tokens->blocks_.push_back(TakeBlock());
  } else if (tokens->blocks_.back().use_count() > 1) {
    tokens->blocks_.back() = TakeBlock();
  }
  ++tokens->size_;
}

std::shared_ptr<PuppetBlocks::Block> PuppetBlocks::TakeBlock() {
  --free_;
  return std::shared_ptr<Block>(new Block, [this](Block* block) {
    ++free_;
    delete block;
  });
}

}  // namespace trivium
