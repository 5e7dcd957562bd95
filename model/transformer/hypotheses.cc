// The engine's hypotheses and their blocks.
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
  if (cache_.has_value()) {
    hypotheses_[id].tables.resize(cache_->layout().groups());
  }
  return id;
}

std::string TransformerEngine::PastOf(SourceId source,
                                      std::string_view salt) const {
  return KnownBlocks::Past(
      source == kNoSource ? EncoderInput() : sources_[source].input, salt);
}

Engine::Beginning TransformerEngine::Begin(SourceId source,
                                           std::span<const int32_t> tokens,
                                           std::string_view salt) {
  const HypothesisId id = AddHypothesis(source);
  HypothesisState& hypothesis = hypotheses_[id];
  // A beginning without a full block has nothing to find or to keep. The last
  // token is always read: its logits are wanted.
  if (!cache_.has_value() || tokens.size() <= kTileTokens) return {id, 0};
  hypothesis.beginning.assign(tokens.begin(), tokens.end());
  hypothesis.past = PastOf(source, salt);
  const std::vector<const KnownBlocks::Stretch*> found =
      FindBeginning(hypothesis);
  const int end = static_cast<int>(found.size());
  hypothesis.length = end * kTileTokens;
  for (size_t group = 0; group < hypothesis.tables.size(); ++group) {
    BlockTable& table = hypothesis.tables[group];
    table.passed = cache_->layout().FirstSeen(group, hypothesis.length);
    table.blocks.resize(table.passed);  // any: they are not read
    for (int i = table.passed; i < end; ++i) {
      table.blocks.push_back(found[i]->blocks[group]);
      cache_->Share(table.blocks.back());
    }
  }
  return {id, hypothesis.length};
}

// As much as has, in each group of layers, all blocks that the next token sees.
std::vector<const KnownBlocks::Stretch*> TransformerEngine::FindBeginning(
    const HypothesisState& hypothesis) {
  const KvLayout& layout = cache_->layout();
  const std::span<const int32_t> tokens = hypothesis.beginning;
  std::vector<const KnownBlocks::Stretch*> found;
  size_t most = 0;
  // Of each group, the first block from which on none is missing.
  std::vector<int> first(layout.groups(), 0);
  KnownBlocks::Id before = KnownBlocks::kNone;
  for (size_t at = 0; at + kTileTokens < tokens.size(); at += kTileTokens) {
    const KnownBlocks::Stretch* stretch = cache_->known().Find(
        before, hypothesis.past, tokens.subspan(at, kTileTokens));
    if (stretch == nullptr) break;
    found.push_back(stretch);
    before = stretch->id;
    const int end = static_cast<int>(found.size());
    bool whole = true;
    for (int group = 0; group < layout.groups(); ++group) {
      if (stretch->blocks[group] == KnownBlocks::kNoBlock) first[group] = end;
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
  Know(state, PastOf(state.source, salt), tokens);
}

void TransformerEngine::Know(const HypothesisState& hypothesis,
                             std::string_view past,
                             std::span<const int32_t> tokens) {
  const int full =
      std::min(hypothesis.length, static_cast<int>(tokens.size())) /
      kTileTokens;
  KnownBlocks::Id before = KnownBlocks::kNone;
  for (int i = 0; i < full; ++i) {
    stretch_.clear();
    for (const BlockTable& table : hypothesis.tables) {
      stretch_.push_back(i < table.passed ? KnownBlocks::kNoBlock
                                          : table.blocks[i]);
    }
    before = cache_->known().Add(
        before, past, tokens.subspan(i * kTileTokens, kTileTokens), stretch_);
    if (before == KnownBlocks::kNone) return;
  }
}

HypothesisId TransformerEngine::Fork(HypothesisId parent) {
  const HypothesisId id = hypotheses_.Add();
  HypothesisState& child = hypotheses_[id];
  child.source = hypotheses_[parent].source;
  child.tables = hypotheses_[parent].tables;
  child.length = hypotheses_[parent].length;
  for (const BlockTable& table : child.tables) {
    for (const int block : table.held()) cache_->Share(block);
  }
  return id;
}

void TransformerEngine::Truncate(HypothesisId hypothesis, int length) {
  HypothesisState& state = hypotheses_[hypothesis];
  const auto blocks = static_cast<size_t>(BlocksOf(length));
  state.length = length;
  for (BlockTable& table : state.tables) {
    assert(static_cast<int>(blocks) >= table.passed);
    while (table.blocks.size() > blocks) {
      cache_->Release(table.blocks.back());
      table.blocks.pop_back();
    }
    // It will be written to, so it is no longer what it was known as.
    if (WritesToLastBlock(state)) cache_->known().Forget(table.blocks.back());
  }
}

void TransformerEngine::ReleaseHypothesis(HypothesisId hypothesis) {
  // The last first: of what is kept, an end goes before its beginning.
  const std::vector<BlockTable>& tables = hypotheses_[hypothesis].tables;
  const int blocks =
      tables.empty() ? 0 : static_cast<int>(tables[0].blocks.size());
  for (int i = blocks - 1; i >= 0; --i) {
    for (const BlockTable& table : tables) {
      if (i >= table.passed) cache_->Release(table.blocks[i]);
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

void TransformerEngine::KnowBeginning(HypothesisState* hypothesis) {
  if (hypothesis->beginning.empty()) return;
  Know(*hypothesis, hypothesis->past, hypothesis->beginning);
  if (hypothesis->length < static_cast<int>(hypothesis->beginning.size())) {
    return;
  }
  hypothesis->beginning.clear();
  hypothesis->past.clear();
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
  }
  for (const StepPlan::Decode& work : plan.decode) {
    for (const BlockTable& table : hypotheses_[work.hypothesis].tables) {
      if (!table.blocks.empty()) sharers_gone_[table.blocks.back()] = 0;
    }
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
      while (table.blocks.size() < blocks) {
        table.blocks.push_back(cache_->Take());
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace trivium
