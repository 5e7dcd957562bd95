#include "model/transformer/transformer_engine.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Sources go through the encoder's layers together while they have fewer rows:
// enough to share the reading of the weights, few enough that what a layer
// leaves for the next is still in the caches.
constexpr int kEncoderRows = 256;

}  // namespace

TransformerEngine::TransformerEngine(
    std::shared_ptr<const TransformerWeights> weights, int blocks)
    : weights_(std::move(weights)), sharers_gone_(blocks, 0) {
  limits_.block_tokens = kTileTokens;
  limits_.total_blocks = blocks;
  if (weights_->encoder().has_value()) {
    const Stack& stack = *weights_->encoder();
    limits_.encoder_layers = static_cast<int>(stack.layers.size());
    limits_.max_source_tokens = stack.max_positions;
    limits_.type_vocabulary = stack.type_vocabulary;
    if (weights_->pooler() != nullptr) {
      limits_.pooled_size = weights_->pooler()->dense.out();
    }
    if (weights_->head() != nullptr) {
      limits_.head_outputs = weights_->head()->outputs;
    }
    encoder_.emplace(*weights_);
  }
  if (weights_->decoder().has_value()) {
    const Stack& stack = *weights_->decoder();
    limits_.decoder_layers = static_cast<int>(stack.layers.size());
    limits_.vocabulary = stack.vocabulary;
    limits_.max_target_tokens = stack.max_positions;
    cache_.emplace(weights_->decoder_kv_shape(), limits_.decoder_layers,
                   blocks);
    decoder_.emplace(*weights_);
  }
}

absl::Status TransformerEngine::CheckSource(
    const EncoderInput& input, const SourceOptions& options) const {
  if (!encoder_.has_value()) {
    return absl::FailedPreconditionError("the model has no encoder");
  }
  const int tokens = static_cast<int>(input.ids.size());
  if (tokens == 0 || tokens > limits_.max_source_tokens) {
    return absl::InvalidArgumentError(
        fmt::format("a source of {} tokens; the model takes 1 to {}", tokens,
                    limits_.max_source_tokens));
  }
  for (const int32_t id : input.ids) {
    if (id < 0 || id >= weights_->encoder()->vocabulary) {
      return absl::InvalidArgumentError(
          fmt::format("token id {} is outside the source vocabulary of {}", id,
                      weights_->encoder()->vocabulary));
    }
  }
  const int types = limits_.type_vocabulary;
  if (!input.type_ids.empty() && types == 0) {
    return absl::InvalidArgumentError(
        "the model has no segment embeddings; leave type_ids empty");
  }
  if (!input.type_ids.empty() && input.type_ids.size() != input.ids.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} type ids for {} token ids; give one for each",
                    input.type_ids.size(), tokens));
  }
  for (const int32_t type : input.type_ids) {
    if (type < 0 || type >= types) {
      return absl::InvalidArgumentError(fmt::format(
          "type id {} is outside the model's {} segments", type, types));
    }
  }
  if (options.pooled && limits_.pooled_size == 0) {
    return absl::FailedPreconditionError("the model has no pooler");
  }
  if (options.logits && limits_.head_outputs == 0) {
    return absl::FailedPreconditionError("the model has no head");
  }
  for (const int position : options.logits_positions) {
    if (position < 0 || position >= tokens) {
      return absl::InvalidArgumentError(fmt::format(
          "logits of token {} of a source of {}", position, tokens));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<SourceId> TransformerEngine::AddSource(
    const EncoderInput& input, const SourceOptions& options) {
  TRIVIUM_RETURN_IF_ERROR(CheckSource(input, options));
  const int tokens = static_cast<int>(input.ids.size());
  SourceOptions kept = options;
  kept.cross_attention &= cache_.has_value();
  const int blocks = kept.cross_attention ? BlocksFor(tokens) : 0;
  if (blocks > free_blocks()) {
    return absl::ResourceExhaustedError(
        fmt::format("a source of {} tokens needs {} KV blocks; {} are free",
                    tokens, blocks, free_blocks()));
  }
  const SourceId id = sources_.Add();
  SourceState& source = sources_[id];
  source.input = input;
  source.options = std::move(kept);
  if (source.options.cross_attention && weights_->shortlist() != nullptr) {
    source.allowed = weights_->shortlist()->Allow(input.ids);
  }
  for (int i = 0; i < blocks; ++i) {
    source.cross_blocks.push_back(cache_->Take());
  }
  return id;
}

void TransformerEngine::ReleaseSource(SourceId source) {
  for (const int block : sources_[source].cross_blocks) {
    cache_->Release(block);
  }
  sources_.Release(source);
}

std::span<const float> TransformerEngine::EncoderStates(SourceId source) const {
  return sources_[source].states;
}

std::span<const float> TransformerEngine::PooledOutput(SourceId source) const {
  return sources_[source].pooled;
}

std::span<const float> TransformerEngine::HeadLogits(SourceId source) const {
  return sources_[source].logits;
}

std::span<const float> TransformerEngine::EncoderAttention(
    SourceId source) const {
  return sources_[source].attention;
}

HypothesisId TransformerEngine::AddHypothesis(SourceId source) {
  const HypothesisId id = hypotheses_.Add();
  hypotheses_[id].source = source;
  return id;
}

HypothesisId TransformerEngine::Fork(HypothesisId parent) {
  const HypothesisId id = hypotheses_.Add();
  hypotheses_[id] = hypotheses_[parent];
  for (const int block : hypotheses_[id].blocks) cache_->Share(block);
  return id;
}

void TransformerEngine::ReleaseHypothesis(HypothesisId hypothesis) {
  for (const int block : hypotheses_[hypothesis].blocks) {
    cache_->Release(block);
  }
  hypotheses_.Release(hypothesis);
}

absl::Status TransformerEngine::Step(const StepPlan& plan, StepResult* result) {
  timer_.Start();
  result->encoder_rows = result->decoder_rows = result->padding_rows = 0;
  result->rows.clear();
  scratch_.padding_rows = 0;
  TRIVIUM_RETURN_IF_ERROR(Check(plan));
  TRIVIUM_RETURN_IF_ERROR(MakeRoom(plan));
  TRIVIUM_RETURN_IF_ERROR(Encode(plan, result));
  timer_.End(&PhaseSeconds::encode);
  if (!plan.decode.empty()) {
    items_.clear();
    for (const StepPlan::Decode& work : plan.decode) {
      HypothesisState& hypothesis = hypotheses_[work.hypothesis];
      const SourceState* source = hypothesis.source == kNoSource
                                      ? nullptr
                                      : &sources_[hypothesis.source];
      if (source != nullptr && !source->ready) {
        return absl::InternalError("decode work on a source not yet encoded");
      }
      items_.push_back({&work, &hypothesis, source});
    }
    TRIVIUM_RETURN_IF_ERROR(
        decoder_->Run(items_, &*cache_, &scratch_, &timer_, result));
  }
  result->padding_rows = static_cast<int>(scratch_.padding_rows);
  timer_.End(&PhaseSeconds::other);
  result->seconds = timer_.seconds();
  return absl::OkStatus();
}

absl::Status TransformerEngine::Check(const StepPlan& plan) const {
  for (const StepPlan::Encode& work : plan.encode) {
    if (!sources_.valid(work.source) || sources_[work.source].ready ||
        work.layers < 1) {
      return absl::InternalError("encode work on a source that has none left");
    }
  }
  for (const StepPlan::Decode& work : plan.decode) {
    if (!decoder_.has_value() || !hypotheses_.valid(work.hypothesis)) {
      return absl::InternalError("decode work on an unknown hypothesis");
    }
    const HypothesisState& hypothesis = hypotheses_[work.hypothesis];
    if (hypothesis.source != kNoSource && !sources_.valid(hypothesis.source)) {
      return absl::InternalError("decode work on a released source");
    }
    const int length = hypothesis.length + static_cast<int>(work.tokens.size());
    if (work.tokens.empty() || length > limits_.max_target_tokens) {
      return absl::InvalidArgumentError(
          fmt::format("a target of {} tokens; the model takes 1 to {}", length,
                      limits_.max_target_tokens));
    }
    for (const int32_t id : work.tokens) {
      if (id < 0 || id >= limits_.vocabulary) {
        return absl::InvalidArgumentError(
            fmt::format("token id {} is outside the target vocabulary of {}",
                        id, limits_.vocabulary));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status TransformerEngine::Encode(const StepPlan& plan,
                                       StepResult* result) {
  encode_order_ = plan.encode;
  const auto key = [this](const StepPlan::Encode& work) {
    return std::pair(sources_[work.source].layers_done, work.layers);
  };
  std::stable_sort(
      encode_order_.begin(), encode_order_.end(),
      [&](const auto& a, const auto& b) { return key(a) < key(b); });
  for (size_t first = 0, last; first < encode_order_.size(); first = last) {
    encode_group_.clear();
    const auto group = key(encode_order_[first]);
    int rows = 0;
    for (last = first; last < encode_order_.size() && rows < kEncoderRows &&
                       key(encode_order_[last]) == group;
         ++last) {
      encode_group_.push_back(&sources_[encode_order_[last].source]);
      rows += encode_group_.back()->tokens();
    }
    result->encoder_rows += rows;
    TRIVIUM_RETURN_IF_ERROR(
        encoder_->Run(encode_group_, group.second,
                      cache_.has_value() ? &*cache_ : nullptr, &scratch_));
  }
  return absl::OkStatus();
}

absl::Status TransformerEngine::MakeRoom(const StepPlan& plan) {
  int needed = 0;
  // Of hypotheses that share their last block, all but the last one to write
  // need a copy of it.
  const auto needs_copy = [this](const HypothesisState& hypothesis) {
    if (!WritesToLastBlock(hypothesis)) return false;
    const int block = hypothesis.blocks.back();
    return cache_->references(block) - sharers_gone_[block] > 1;
  };
  for (const StepPlan::Decode& work : plan.decode) {
    const HypothesisState& hypothesis = hypotheses_[work.hypothesis];
    const int length = hypothesis.length + static_cast<int>(work.tokens.size());
    needed += BlocksFor(length) - static_cast<int>(hypothesis.blocks.size());
    if (needs_copy(hypothesis)) {
      ++needed;
      ++sharers_gone_[hypothesis.blocks.back()];
    }
  }
  for (const StepPlan::Decode& work : plan.decode) {
    const BlockTable& blocks = hypotheses_[work.hypothesis].blocks;
    if (!blocks.empty()) sharers_gone_[blocks.back()] = 0;
  }
  if (needed > free_blocks()) {
    return absl::ResourceExhaustedError(
        fmt::format("the iteration needs {} KV blocks; {} are free", needed,
                    free_blocks()));
  }
  for (const StepPlan::Decode& work : plan.decode) {
    HypothesisState& hypothesis = hypotheses_[work.hypothesis];
    if (needs_copy(hypothesis)) {
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
