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
  KnownBlocks::Id before = KnownBlocks::kNone;
  while (hypothesis.length + kTileTokens < static_cast<int>(tokens.size())) {
    const int block =
        cache_->known().Find(before, hypothesis.past,
                             tokens.subspan(hypothesis.length, kTileTokens));
    if (block < 0) break;
    cache_->Share(block);
    hypothesis.blocks.push_back(block);
    hypothesis.length += kTileTokens;
    before = cache_->known().id(block);
  }
  return {id, hypothesis.length};
}

void TransformerEngine::Keep(HypothesisId hypothesis,
                             std::span<const int32_t> tokens,
                             std::string_view salt) {
  const HypothesisState& state = hypotheses_[hypothesis];
  Know(state, PastOf(state.source, salt), tokens);
}

void TransformerEngine::Know(const HypothesisState& hypothesis,
                             std::string_view past,
                             std::span<const int32_t> tokens) {
  KnownBlocks& known = cache_->known();
  KnownBlocks::Id before = KnownBlocks::kNone;
  // Where an equal block is known already, it stands for the one here.
  const auto find = [&](int begin) {
    const int block =
        known.Find(before, past, tokens.subspan(begin, kTileTokens));
    return block < 0 ? KnownBlocks::kNone : known.id(block);
  };
  const int full =
      std::min(hypothesis.length, static_cast<int>(tokens.size())) /
      kTileTokens * kTileTokens;
  for (int begin = 0; begin < full; begin += kTileTokens) {
    KnownBlocks::Id id = find(begin);
    if (id == KnownBlocks::kNone) {
      if (begin / kTileTokens < hypothesis.passed) return;
      const int block = hypothesis.blocks[begin / kTileTokens];
      // Known as what follows an equal block that was forgotten.
      if (known.id(block) != KnownBlocks::kNone) known.Forget(block);
      known.Add(block, before, past, tokens.subspan(begin, kTileTokens));
      id = known.id(block);
    }
    before = id;
  }
}

HypothesisId TransformerEngine::Fork(HypothesisId parent) {
  const HypothesisId id = hypotheses_.Add();
  HypothesisState& child = hypotheses_[id];
  child.source = hypotheses_[parent].source;
  child.blocks = hypotheses_[parent].blocks;
  child.passed = hypotheses_[parent].passed;
  child.length = hypotheses_[parent].length;
  for (const int block : child.Held()) cache_->Share(block);
  return id;
}

void TransformerEngine::Truncate(HypothesisId hypothesis, int length) {
  HypothesisState& state = hypotheses_[hypothesis];
  const size_t blocks = static_cast<size_t>(BlocksFor(length));
  assert(static_cast<int>(blocks) >= state.passed);
  while (state.blocks.size() > blocks) {
    cache_->Release(state.blocks.back());
    state.blocks.pop_back();
  }
  state.length = length;
  // It will be written to, so it is no longer what it was known as.
  if (WritesToLastBlock(state)) cache_->known().Forget(state.blocks.back());
}

void TransformerEngine::ReleaseHypothesis(HypothesisId hypothesis) {
  // The last first: of what is kept, an end goes before its beginning.
  const std::span<const int> blocks = hypotheses_[hypothesis].Held();
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    cache_->Release(*block);
  }
  hypotheses_.Release(hypothesis);
}

void TransformerEngine::ReleasePassed(HypothesisState* hypothesis, int length) {
  const int seen = std::max(0, length - farthest_) / kTileTokens;
  for (; hypothesis->passed < seen; ++hypothesis->passed) {
    cache_->Release(hypothesis->blocks[hypothesis->passed]);
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

bool TransformerEngine::NeedsCopy(const HypothesisState& hypothesis) const {
  if (!WritesToLastBlock(hypothesis)) return false;
  const int block = hypothesis.blocks.back();
  return cache_->references(block) - sharers_gone_[block] > 1;
}

int TransformerEngine::BlocksNeeded(const StepPlan& plan) {
  int needed = 0;
  for (const StepPlan::Decode& work : plan.decode) {
    const HypothesisState& hypothesis = hypotheses_[work.hypothesis];
    const int length = hypothesis.length + static_cast<int>(work.tokens.size());
    needed += BlocksFor(length) - static_cast<int>(hypothesis.blocks.size());
    if (NeedsCopy(hypothesis)) {
      ++needed;
      ++sharers_gone_[hypothesis.blocks.back()];
    }
  }
  for (const StepPlan::Decode& work : plan.decode) {
    const BlockTable& blocks = hypotheses_[work.hypothesis].blocks;
    if (!blocks.empty()) sharers_gone_[blocks.back()] = 0;
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
    if (NeedsCopy(hypothesis)) {
      hypothesis.blocks.back() =
          cache_->CopyForWriting(hypothesis.blocks.back());
    }
    const size_t blocks =
        BlocksFor(hypothesis.length + static_cast<int>(work.tokens.size()));
    while (hypothesis.blocks.size() < blocks) {
      hypothesis.blocks.push_back(cache_->Take());
    }
  }
  return absl::OkStatus();
}

}  // namespace trivium
