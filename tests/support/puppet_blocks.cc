#include "tests/support/puppet_blocks.h"

#include <algorithm>
#include <map>

namespace trivium {

std::vector<int32_t> PuppetBlocks::Tokens::Read() const {
  std::vector<int32_t> all;
  for (const std::shared_ptr<Block>& block : blocks_) {
    all.insert(all.end(), block->tokens.begin(), block->tokens.end());
  }
  all.resize(size_);  // what was taken back may still stand there
  return all;
}

int PuppetBlocks::free() const {
  return free_ + static_cast<int>(std::count_if(
                     kept_.begin(), kept_.end(), [](const Kept& kept) {
                       return kept.block.use_count() == 1;
                     }));
}

void PuppetBlocks::Take(int blocks) {
  Evict(blocks);
  free_ -= blocks;
}

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

void PuppetBlocks::Append(int32_t token, Tokens* tokens) {
  if (tokens->size_ % block_tokens_ == 0) {
    tokens->blocks_.push_back(TakeBlock());
  } else if (tokens->blocks_.back().use_count() > 1) {
    std::shared_ptr<Block> copy = TakeBlock();
    copy->tokens = tokens->blocks_.back()->tokens;
    tokens->blocks_.back() = std::move(copy);
  }
  tokens->blocks_.back()->tokens.resize(tokens->size_ % block_tokens_);
  tokens->blocks_.back()->tokens.push_back(token);
  ++tokens->size_;
}

void PuppetBlocks::Truncate(int count, Tokens* tokens) {
  tokens->blocks_.resize(BlocksFor(count));
  tokens->size_ = count;
}

std::list<PuppetBlocks::Kept>::iterator PuppetBlocks::FindKept(
    const std::string& past, std::span<const int32_t> tokens) {
  return std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
    // What differs most often first: most of a simulation's time is spent here.
    return kept.tokens.back() == tokens.back() && kept.past == past &&
           std::equal(kept.tokens.begin(), kept.tokens.end(), tokens.begin(),
                      tokens.end());
  });
}

void PuppetBlocks::Cache(const Tokens& tokens, int count,
                         const std::string& past) {
  const std::vector<int32_t> read = tokens.Read();
  count = std::min(count, tokens.size_) / block_tokens_ * block_tokens_;
  // The last first: an end goes before its beginning.
  for (int end = count; end > 0; end -= block_tokens_) {
    const std::span<const int32_t> until = std::span(read).first(end);
    if (FindKept(past, until) != kept_.end()) continue;
    kept_.push_back({past,
                     {until.begin(), until.end()},
                     tokens.blocks_[end / block_tokens_ - 1]});
  }
}

PuppetBlocks::Tokens PuppetBlocks::Find(std::span<const int32_t> beginning,
                                        const std::string& past) {
  Tokens tokens;
  const int size = static_cast<int>(beginning.size());
  while (tokens.size_ + block_tokens_ < size) {
    const int end = tokens.size_ + block_tokens_;
    const auto kept = FindKept(past, beginning.first(end));
    if (kept == kept_.end()) break;
    tokens.blocks_.push_back(kept->block);
    tokens.size_ = end;
  }
  for (int end = tokens.size_; end > 0; end -= block_tokens_) {
    kept_.splice(kept_.end(), kept_, FindKept(past, beginning.first(end)));
  }
  return tokens;
}

void PuppetBlocks::Evict(int blocks) {
  for (auto kept = kept_.begin(); kept != kept_.end() && free_ < blocks;) {
    kept = kept->block.use_count() == 1 ? kept_.erase(kept) : std::next(kept);
  }
}

std::shared_ptr<PuppetBlocks::Block> PuppetBlocks::TakeBlock() {
  Evict(1);
  --free_;
  return std::shared_ptr<Block>(new Block, [this](Block* block) {
    ++free_;
    delete block;
  });
}

}  // namespace trivium
