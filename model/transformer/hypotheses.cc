// The hypotheses of TransformerEngine and their blocks. What always holds:
// - In each group of layers, a hypothesis of `length` tokens holds the blocks
//   of its BlockTable, except the first `passed` ones, which its window no
//   longer sees. Their numbers stay in the table but may belong to others.
// - Forks share all blocks. Of the blocks that a step finds in a table, only
//   the last may be written, and only through its sole reference: MakeRoom
//   copies a shared last block first, for all but the last sharer that writes
//   to it in a step (NeedsCopy).
// - A block in the prefix index is full and never written; Truncate removes it
//   from the index before it can be.
// - BlocksNeeded predicts exactly what MakeRoom must allocate, so a step either
//   has all its blocks or changes nothing.
// - A hypothesis's state, if layers have one, takes a fixed number of blocks,
//   all of which every step writes. Forks share them until the next step, whose
//   MakeRoom copies them for all but the last sharer. So a hypothesis alone
//   never needs more than limits().state_blocks of them.
// - A state is saved for the prefix index only while a prefix is read, at
//   multiples of SavedEvery() tokens and at the prefix's last block border. It
//   is the state after so many tokens, whatever request they belong to, bit for
//   bit. Saving uses only blocks that the step leaves free; and a found state
//   whose blocks the hypothesis must write to is copied if there is room, else
//   it leaves the index. So what is saved never makes a step fail.
#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "model/transformer/transformer_engine.h"

namespace trivium {

HypothesisId TransformerEngine::AddHypothesis(SourceId source) {
  const HypothesisId id = hypotheses_.Add();
  hypotheses_[id].source = source;
  try {
    if (cache_.has_value()) {
      hypotheses_[id].tables.resize(cache_->layout().groups());
    }
  } catch (...) {
    hypotheses_.Release(id);
    throw;
  }
  return id;
}

std::string TransformerEngine::ContextKeyOf(SourceId source,
                                            std::string_view salt) const {
  return PrefixIndex::ContextKey(
      source == kNoSource ? EncoderInput() : sources_[source].input, salt);
}

Engine::Beginning TransformerEngine::Begin(SourceId source,
                                           std::span<const int32_t> tokens,
                                           std::string_view salt) {
  const HypothesisId id = AddHypothesis(source);
  HypothesisState& hypothesis = hypotheses_[id];
  // A prefix without a full block can neither be found nor be cached. The last
  // token is always computed, because its logits are needed.
  if (!cache_.has_value() || tokens.size() <= kTileTokens) return {id, 0};
  // All memory comes first, as the hypothesis shares blocks afterwards.
  std::vector<const PrefixIndex::Node*> found;
  try {
    hypothesis.prefix.assign(tokens.begin(), tokens.end());
    hypothesis.context_key = ContextKeyOf(source, salt);
    found = FindPrefix(hypothesis);
    for (BlockTable& table : hypothesis.tables) {
      table.blocks.reserve(found.size());
    }
    if (!found.empty()) hypothesis.state.reserve(found.back()->state.size());
  } catch (...) {
    hypotheses_.Release(id);
    throw;
  }
  const int end = static_cast<int>(found.size());
  hypothesis.length = end * kTileTokens;
  for (size_t group = 0; group < hypothesis.tables.size(); ++group) {
    BlockTable& table = hypothesis.tables[group];
    table.passed = cache_->layout().FirstSeen(group, hypothesis.length);
    table.blocks.resize(table.passed);  // any numbers: they are not read
    for (int i = table.passed; i < end; ++i) {
      table.blocks.push_back(found[i]->blocks[group]);
      cache_->Share(table.blocks.back());
    }
  }
  if (end > 0) hypothesis.state = found.back()->state;
  for (const int block : hypothesis.state) cache_->Share(block);
  return {id, hypothesis.length};
}

// Returns the longest known prefix for which every group of layers still has
// all blocks that the next token sees, and whose state is known.
std::vector<const PrefixIndex::Node*> TransformerEngine::FindPrefix(
    const HypothesisState& hypothesis) {
  const KvLayout& layout = cache_->layout();
  const std::span<const int32_t> tokens = hypothesis.prefix;
  std::vector<const PrefixIndex::Node*> found;
  size_t most = 0;
  // For each group, the first block after which none is missing.
  std::vector<int> first(layout.groups(), 0);
  PrefixIndex::Id before = PrefixIndex::kNone;
  for (size_t at = 0; at + kTileTokens < tokens.size(); at += kTileTokens) {
    const PrefixIndex::Node* node = cache_->prefix_index().Find(
        before, hypothesis.context_key, tokens.subspan(at, kTileTokens));
    if (node == nullptr) break;
    found.push_back(node);
    before = node->id;
    const int end = static_cast<int>(found.size());
    bool whole = node->state_complete();
    for (int group = 0; group < layout.groups(); ++group) {
      if (node->blocks[group] == PrefixIndex::kNoBlock) first[group] = end;
      whole &= first[group] <= layout.FirstSeen(group, end * kTileTokens);
    }
    if (whole) most = found.size();
  }
  found.resize(most);
  return found;
}

void TransformerEngine::CacheBlocks(HypothesisId hypothesis,
                                    std::span<const int32_t> tokens,
                                    std::string_view salt) {
  const HypothesisState& state = hypotheses_[hypothesis];
  const SavedState now = {.length = state.length, .blocks = state.state};
  const bool has_state = !state.state.empty();
  RegisterBlocks(state, ContextKeyOf(state.source, salt), tokens,
                 std::span(&now, has_state ? 1 : 0));
}

void TransformerEngine::RegisterBlocks(const HypothesisState& hypothesis,
                                       std::string_view context_key,
                                       std::span<const int32_t> tokens,
                                       std::span<const SavedState> saved) {
  const int full =
      std::min(hypothesis.length, static_cast<int>(tokens.size())) /
      kTileTokens;
  PrefixIndex::Id before = PrefixIndex::kNone;
  for (int i = 0; i < full; ++i) {
    node_blocks_.clear();
    for (const BlockTable& table : hypothesis.tables) {
      node_blocks_.push_back(i < table.passed ? PrefixIndex::kNoBlock
                                              : table.blocks[i]);
    }
    const auto state =
        std::find_if(saved.begin(), saved.end(), [&](const SavedState& one) {
          return one.length == (i + 1) * kTileTokens;
        });
    before = cache_->prefix_index().Register(
        before, context_key, tokens.subspan(i * kTileTokens, kTileTokens),
        node_blocks_,
        state == saved.end() ? std::span<const int>() : state->blocks);
    if (before == PrefixIndex::kNone) return;
  }
}

HypothesisId TransformerEngine::Fork(HypothesisId parent) {
  const HypothesisId id = hypotheses_.Add();
  HypothesisState& child = hypotheses_[id];
  child.source = hypotheses_[parent].source;
  child.length = hypotheses_[parent].length;
  try {
    child.tables = hypotheses_[parent].tables;
    child.state = hypotheses_[parent].state;
  } catch (...) {
    child.tables.clear();
    hypotheses_.Release(id);
    throw;
  }
  for (const int block : child.state) cache_->Share(block);
  for (const BlockTable& table : child.tables) {
    for (const int block : table.held()) cache_->Share(block);
  }
  return id;
}

void TransformerEngine::Truncate(HypothesisId hypothesis, int length) {
  HypothesisState& state = hypotheses_[hypothesis];
  const auto blocks = static_cast<size_t>(BlocksOf(length));
  // A state cannot go back.
  assert(state.state.empty() || length == state.length);
  state.length = length;
  for (BlockTable& table : state.tables) {
    assert(static_cast<int>(blocks) >= table.passed);
    while (table.blocks.size() > blocks) {
      cache_->Release(table.blocks.back());
      table.blocks.pop_back();
    }
    // The last block will be overwritten, so it must leave the index.
    if (WritesToLastBlock(state))
      cache_->prefix_index().Forget(table.blocks.back());
  }
}

void TransformerEngine::ReleaseHypothesis(HypothesisId hypothesis) {
  // Release the last blocks first: cached blocks are evicted in the order of
  // their release, and a prefix is useless without its beginning.
  const std::vector<BlockTable>& tables = hypotheses_[hypothesis].tables;
  ReleaseSaved(&hypotheses_[hypothesis]);
  for (const int block : hypotheses_[hypothesis].state) cache_->Release(block);
  // A step for which there was no memory may leave tables of unlike sizes.
  int blocks = 0;
  for (const BlockTable& table : tables) {
    blocks = std::max(blocks, static_cast<int>(table.blocks.size()));
  }
  for (int i = blocks - 1; i >= 0; --i) {
    for (const BlockTable& table : tables) {
      if (i >= table.passed && i < static_cast<int>(table.blocks.size())) {
        cache_->Release(table.blocks[i]);
      }
    }
  }
  hypotheses_.Release(hypothesis);
}

void TransformerEngine::ReleasePassed(HypothesisState* hypothesis, int length) {
  for (size_t group = 0; group < hypothesis->tables.size(); ++group) {
    BlockTable& table = hypothesis->tables[group];
    const int seen = cache_->layout().FirstSeen(group, length);
    for (; table.passed < seen; ++table.passed) {
      cache_->Release(table.blocks[table.passed]);
    }
  }
}

void TransformerEngine::RegisterPrefix(HypothesisState* hypothesis) {
  if (hypothesis->prefix.empty()) return;
  RegisterBlocks(*hypothesis, hypothesis->context_key, hypothesis->prefix,
                 hypothesis->saved);
  if (hypothesis->length < static_cast<int>(hypothesis->prefix.size())) {
    return;
  }
  hypothesis->prefix.clear();
  hypothesis->context_key.clear();
}

bool TransformerEngine::NeedsCopy(const HypothesisState& hypothesis,
                                  const BlockTable& table) const {
  if (!WritesToLastBlock(hypothesis)) return false;
  const int block = table.blocks.back();
  return cache_->references(block) - sharers_gone_[block] > 1;
}

int TransformerEngine::BlocksNeeded(const StepPlan& plan) {
  int needed = 0;
  for (const StepPlan::Decode& work : plan.decode) {
    const HypothesisState& hypothesis = hypotheses_[work.hypothesis];
    const int blocks =
        BlocksOf(hypothesis.length + static_cast<int>(work.tokens.size()));
    for (const BlockTable& table : hypothesis.tables) {
      needed += blocks - static_cast<int>(table.blocks.size());
      if (NeedsCopy(hypothesis, table)) {
        ++needed;
        ++sharers_gone_[table.blocks.back()];
      }
    }
    if (hypothesis.state.empty()) needed += cache_->states().blocks();
    for (const int block : hypothesis.state) {
      if (cache_->references(block) - sharers_gone_[block] > 1) {
        ++needed;
        ++sharers_gone_[block];
      }
    }
  }
  for (const StepPlan::Decode& work : plan.decode) {
    const HypothesisState& hypothesis = hypotheses_[work.hypothesis];
    for (const BlockTable& table : hypothesis.tables) {
      if (!table.blocks.empty()) sharers_gone_[table.blocks.back()] = 0;
    }
    for (const int block : hypothesis.state) sharers_gone_[block] = 0;
  }
  return needed;
}

absl::Status TransformerEngine::MakeRoom(const StepPlan& plan) {
  if (const int needed = BlocksNeeded(plan); needed > free_blocks()) {
    return absl::ResourceExhaustedError(
        fmt::format("the iteration needs {} KV blocks; {} are free", needed,
                    free_blocks()));
  }
  for (const StepPlan::Decode& work : plan.decode) {
    HypothesisState& hypothesis = hypotheses_[work.hypothesis];
    const auto blocks = static_cast<size_t>(
        BlocksOf(hypothesis.length + static_cast<int>(work.tokens.size())));
    for (BlockTable& table : hypothesis.tables) {
      if (NeedsCopy(hypothesis, table)) {
        table.blocks.back() = cache_->CopyForWriting(table.blocks.back());
      }
      if (table.blocks.capacity() < blocks) {
        table.blocks.reserve(std::max(blocks, 2 * table.blocks.size()));
      }
      while (table.blocks.size() < blocks) {
        table.blocks.push_back(cache_->Allocate());
      }
    }
    if (hypothesis.state.empty()) {
      hypothesis.state.reserve(cache_->states().blocks());
      for (int i = 0; i < cache_->states().blocks(); ++i) {
        hypothesis.state.push_back(cache_->Allocate());
      }
    }
    for (int& block : hypothesis.state) {
      if (cache_->shared(block)) block = cache_->CopyForWriting(block);
    }
  }
  if (limits_.state_blocks == 0) return absl::OkStatus();
  for (const StepPlan::Decode& work : plan.decode) {
    OwnState(&hypotheses_[work.hypothesis]);
  }
  for (const StepPlan::Decode& work : plan.decode) {
    PlanSaved(work, &hypotheses_[work.hypothesis]);
  }
  return absl::OkStatus();
}

void TransformerEngine::OwnState(HypothesisState* hypothesis) {
  PrefixIndex& index = cache_->prefix_index();
  for (int& block : hypothesis->state) {
    if (!index.Contains(block)) continue;
    if (cache_->free_blocks() > 0) {
      block = cache_->CopyForWriting(block);
    } else {
      index.Forget(block);
    }
  }
}

int TransformerEngine::SavedEvery() const {
  constexpr int kLeast = 64, kMost = 1024;
  const int groups = std::max(cache_->layout().groups(), 1);
  int tokens = kLeast;
  while (tokens < kMost &&
         tokens / kTileTokens * groups < cache_->states().blocks()) {
    tokens *= 2;
  }
  return tokens;
}

void TransformerEngine::PlanSaved(const StepPlan::Decode& work,
                                  HypothesisState* hypothesis) {
  const int blocks = cache_->states().blocks();
  const int prefix = static_cast<int>(hypothesis->prefix.size());
  if (prefix == 0 || cache_->max_cached() < blocks) return;
  // The last token is always read anew.
  const int last = (prefix - 1) / kTileTokens * kTileTokens;
  const int end =
      std::min(hypothesis->length + static_cast<int>(work.tokens.size()), last);
  const int every = SavedEvery();
  for (int at = hypothesis->length / kTileTokens * kTileTokens + kTileTokens;
       at <= end; at += kTileTokens) {
    if (at != last && at % every != 0) continue;
    if (cache_->free_blocks() < blocks) return;
    SavedState& saved = hypothesis->saved.emplace_back();
    saved.length = at;
    saved.blocks.reserve(blocks);
    for (int i = 0; i < blocks; ++i) {
      saved.blocks.push_back(cache_->Allocate());
    }
  }
}

void TransformerEngine::ReleaseSaved(HypothesisState* hypothesis) {
  for (const SavedState& saved : hypothesis->saved) {
    for (const int block : saved.blocks) cache_->Release(block);
  }
  hypothesis->saved.clear();
}

}  // namespace trivium
