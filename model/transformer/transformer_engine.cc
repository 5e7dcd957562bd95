// A step runs in this order; each part relies on those before it:
//
//   1. Check refuses a plan with unknown handles or unexpected tokens, before
//      anything has changed.
//   2. MakeRoom allocates all blocks of the step or, if too few are free,
//      fails with RESOURCE_EXHAUSTED and changes nothing (hypotheses.cc).
//   3. Encode advances sources. Those that finish the last layer have written
//      their cross keys and values: decode work of the same plan may use them.
//   4. The decoder runs all hypotheses as one batch.
//   5. Full blocks of announced prefixes, and the states that the decoder
//      saved on the way, are registered in the prefix index, but only for rows
//      whose numbers are finite.
//   6. Blocks that no later token sees are released. This step's tokens may
//      still be truncated, so only what earlier steps have passed is.
//
// Every float of a result is independent of the other rows of the step.
#include "model/transformer/transformer_engine.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "model/kernels/runtime.h"
#include "model/source_checks.h"
#include "model/transformer/head_tap.h"

namespace trivium {
namespace {

// Sources are encoded together while they have fewer rows than this: enough to
// share the reading of the weights, few enough that a layer's output is still
// in the caches when the next layer reads it.
constexpr int kEncoderRows = 256;

KvLayout LayoutOf(const Stack& decoder, KvType type) {
  std::vector<KvLayout::Layer> layers;
  for (size_t i = 0; i < decoder.layers.size(); ++i) {
    const Layer& layer = decoder.layers[i];
    layers.push_back(
        KvLayout::LayerOf(layer.self_attention.geometry, layer.attends, type));
  }
  return KvLayout(layers);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TransformerEngine>> TransformerEngine::Create(
    std::shared_ptr<const Transformer> weights, int64_t kv_cache_bytes,
    int threads, std::optional<int64_t> prefix_cache_bytes) {
  int64_t blocks = 0;
  int64_t max_cached = 0;
  std::optional<KvLayout> layout;
  if (weights->decoder().has_value()) {
    layout = LayoutOf(*weights->decoder(), weights->formats().decoder_kv);
    const std::vector<StateShape> shapes = weights->decoder_states();
    const auto block_bytes =
        static_cast<int64_t>(KvCache::BlockBytes(*layout, shapes));
    // Blocks of the shortest sequence.
    const int64_t least =
        (weights->encoder().has_value() ? 2 : 1) * layout->groups() +
        StateLayout(shapes, static_cast<size_t>(block_bytes)).blocks();
    blocks = std::min<int64_t>(kv_cache_bytes / block_bytes, 1 << 20);
    if (blocks < least) {
      return absl::ResourceExhaustedError(fmt::format(
          "a KV cache of {} bytes holds {} blocks of {} bytes, but a sequence "
          "needs at least {}; raise --kv-cache-bytes",
          kv_cache_bytes, blocks, block_bytes, least));
    }
    max_cached = std::min(
        blocks, prefix_cache_bytes.value_or(kv_cache_bytes) / block_bytes);
  }
  const ScopedFlushDenormals on_its_threads;
  try {
    return std::unique_ptr<TransformerEngine>(new TransformerEngine(
        std::move(weights), std::move(layout), static_cast<int>(blocks),
        static_cast<int>(max_cached), threads));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(fmt::format(
        "out of memory for a KV cache of {} bytes", kv_cache_bytes));
  }
}

TransformerEngine::TransformerEngine(std::shared_ptr<const Transformer> weights,
                                     std::optional<KvLayout> layout, int blocks,
                                     int max_cached, int threads)
    : weights_(std::move(weights)),
      workspace_(threads),
      sharers_gone_(blocks, 0) {
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
      if (weights_->head()->sparse) {
        limits_.sparse_size = weights_->head()->outputs;
      }
    }
    encoder_.emplace(*weights_);
  }
  if (weights_->decoder().has_value()) {
    const Stack& stack = *weights_->decoder();
    limits_.decoder_layers = static_cast<int>(stack.layers.size());
    limits_.vocabulary = stack.vocabulary;
    limits_.max_target_tokens = stack.max_positions;
    const std::vector<StateShape> states = weights_->decoder_states();
    limits_.block_bytes =
        static_cast<int64_t>(KvCache::BlockBytes(*layout, states));
    limits_.windows = layout->windows();
    cache_.emplace(weights_->decoder_kv_shapes(), *std::move(layout), states,
                   blocks, max_cached);
    limits_.state_blocks = cache_->states().blocks();
    decoder_.emplace(*weights_);
  }
}

absl::StatusOr<SourceId> TransformerEngine::AddSource(
    const EncoderInput& input, const SourceOptions& options) {
  TRIVIUM_RETURN_IF_ERROR(CheckSource(input, options, limits_));
  const int vocabulary = weights_->encoder()->vocabulary;
  for (const int32_t id : input.ids) {
    if (id >= 0 && id < vocabulary) continue;
    return absl::InvalidArgumentError(
        fmt::format("the source has token id {}, but the model's ids are 0 to "
                    "{}",
                    id, vocabulary - 1));
  }
  TRIVIUM_RETURN_IF_ERROR(CheckUnattended(input));
  if (options.traced_head.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(
        CheckTracedHead(*weights_, /*decoder=*/false, *options.traced_head));
  }
  const int tokens = static_cast<int>(input.ids.size());
  SourceOptions kept = options;
  kept.cross_attention &= cache_.has_value();
  const int groups = kept.cross_attention ? cache_->layout().groups() : 0;
  const int blocks = groups * BlocksOf(tokens);
  if (blocks > free_blocks()) {
    return absl::ResourceExhaustedError(
        fmt::format("a source of {} tokens needs {} KV blocks; {} are free",
                    tokens, blocks, free_blocks()));
  }
  const SourceId id = sources_.Add();
  SourceState& source = sources_[id];
  try {
    source.input = input;
    source.options = std::move(kept);
    if (source.options.traced_head.has_value()) {
      source.trace.choice = *source.options.traced_head;
      source.trace.queries = tokens;
      source.trace.keys = tokens - input.unattended;
    }
    if (source.options.cross_attention && weights_->shortlist() != nullptr) {
      source.allowed = weights_->shortlist()->Allow(input.ids);
    }
    source.cross_tables.resize(groups);
    for (BlockTable& table : source.cross_tables) {
      table.blocks.reserve(BlocksOf(tokens));
      for (int i = 0; i < BlocksOf(tokens); ++i) {
        table.blocks.push_back(cache_->Allocate());
      }
    }
  } catch (...) {
    ReleaseSource(id);
    throw;
  }
  return id;
}

absl::Status TransformerEngine::CheckUnattended(
    const EncoderInput& input) const {
  if (input.unattended == 0) return absl::OkStatus();
  const Stack& stack = *weights_->encoder();
  if (stack.relative_attention && stack.relative_attention->disentangled()) {
    return absl::FailedPreconditionError(
        "the model's attention (DeBERTa) has no tokens that none sees");
  }
  for (size_t layer = 0; layer < stack.layers.size(); ++layer) {
    const int look_back = stack.layers[layer].self_attention.geometry.look_back;
    if (input.unattended <= look_back) continue;
    return absl::FailedPreconditionError(
        fmt::format("{} of the source's last tokens are seen by none, and the "
                    "last of them sees only {} before it, none of which "
                    "counts; give at most {}",
                    input.unattended, look_back, look_back));
  }
  return absl::OkStatus();
}

void TransformerEngine::ReleaseSource(SourceId source) {
  for (const BlockTable& table : sources_[source].cross_tables) {
    for (const int block : table.blocks) cache_->Release(block);
  }
  sources_.Release(source);
}

std::span<const float> TransformerEngine::EncoderStates(SourceId source) const {
  return sources_[source].states;
}

std::span<const float> TransformerEngine::HiddenStates(SourceId source) const {
  return sources_[source].hidden;
}

std::span<const float> TransformerEngine::PooledOutput(SourceId source) const {
  return sources_[source].pooled;
}

std::span<const float> TransformerEngine::HeadLogits(SourceId source) const {
  return sources_[source].logits;
}

std::span<const BestLogits> TransformerEngine::BestHeadLogits(
    SourceId source) const {
  return sources_[source].best_logits;
}

std::span<const SparseWeight> TransformerEngine::SparseEmbedding(
    SourceId source) const {
  return sources_[source].sparse;
}

std::span<const float> TransformerEngine::EncoderAttention(
    SourceId source) const {
  return sources_[source].attention;
}

const HeadTrace* TransformerEngine::TracedHead(SourceId source) const {
  const SourceState& state = sources_[source];
  return state.options.traced_head.has_value() ? &state.trace : nullptr;
}

absl::Status TransformerEngine::Step(const StepPlan& plan, StepResult* result) {
  const ScopedFlushDenormals on_this_thread;
  timer_.Start();
  result->encoder_rows = result->decoder_rows = result->padding_rows = 0;
  result->projected_rows = 0;
  result->rows.clear();
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
        decoder_->Run(items_, &*cache_, &workspace_, &timer_, result));
    for (size_t i = 0; i < items_.size(); ++i) {
      HypothesisState* hypothesis = items_[i].hypothesis;
      if (result->rows[i].finite) RegisterPrefix(hypothesis);
      ReleaseSaved(hypothesis);
      // This step's tokens may still be truncated.
      const int read = static_cast<int>(items_[i].work->tokens.size());
      ReleasePassed(hypothesis, hypothesis->length - read);
    }
  }
  // A mapped file that was changed meanwhile has other weights, or zeros.
  TRIVIUM_RETURN_IF_ERROR(weights_->CheckUnchanged());
  result->padding_rows = static_cast<int>(workspace_.ConsumePaddingRows());
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
    if (work.trace != nullptr && hypothesis.source == kNoSource &&
        work.trace->choice.cross) {
      return absl::InternalError("a trace of cross-attention without a source");
    }
    if (work.trace != nullptr) {
      TRIVIUM_RETURN_IF_ERROR(
          CheckTracedHead(*weights_, /*decoder=*/true, work.trace->choice));
      const int keys = work.trace->choice.cross
                           ? sources_[hypothesis.source].tokens()
                           : length;
      if (length > work.trace->queries || keys > work.trace->keys) {
        return absl::InternalError("a trace has too few rows for its tokens");
      }
    }
    if (work.tokens.empty() || length > limits_.max_target_tokens) {
      return absl::InvalidArgumentError(
          fmt::format("a target has {} tokens, but the model supports 1 to {}",
                      length, limits_.max_target_tokens));
    }
    if (work.queries.size() > work.tokens.size()) {
      return absl::InternalError("more queries than tokens");
    }
    // Other tokens would register the blocks under a wrong key.
    std::span<const int32_t> announced = hypothesis.prefix;
    if (!announced.empty()) announced = announced.subspan(hypothesis.length);
    announced = announced.first(std::min(announced.size(), work.tokens.size()));
    if (!std::equal(announced.begin(), announced.end(), work.tokens.begin())) {
      return absl::InternalError(
          "decode work differs from the announced tokens");
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
                      cache_.has_value() ? &*cache_ : nullptr, &workspace_));
  }
  return absl::OkStatus();
}

}  // namespace trivium
