// The result of a finished sequence.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/finite.h"
#include "base/status.h"
#include "server/batching/sequence.h"

namespace trivium {

absl::StatusOr<RequestResult> Sequence::TakeResult(absl::Time now) {
  if (decoding_ != nullptr) TRIVIUM_RETURN_IF_ERROR(decoding_->status());
  RequestResult result;
  const auto copy = [](std::span<const float> from, std::vector<float>* to) {
    to->assign(from.begin(), from.end());
  };
  if (request_.states != States::kNone) {
    copy(engine_->EncoderStates(sources_->id(source_slot_)), &result.states);
  }
  if (!request_.hidden_layers.empty()) {
    copy(engine_->HiddenStates(sources_->id(source_slot_)), &result.hidden);
  }
  if (request_.pooled) {
    copy(engine_->PooledOutput(sources_->id(source_slot_)), &result.pooled);
  }
  if (request_.logits_best > 0) {
    const std::span<const BestLogits> best =
        engine_->BestHeadLogits(sources_->id(source_slot_));
    result.best_logits.assign(best.begin(), best.end());
  } else if (request_.logits) {
    copy(engine_->HeadLogits(sources_->id(source_slot_)), &result.logits);
  }
  if (request_.sparse) {
    const std::span<const SparseWeight> sparse =
        engine_->SparseEmbedding(sources_->id(source_slot_));
    result.sparse.assign(sparse.begin(), sparse.end());
  }
  if (request_.encoder_attention) result.encoder_attention = EncoderMap();
  result.hypotheses = std::move(hypotheses_);
  result.trace = std::move(trace_);
  result.scored = std::move(scored_);
  if (request_.traced_head && !request_.decodes()) {
    const HeadTrace* const trace =
        engine_->TracedHead(sources_->id(source_slot_));
    if (trace == nullptr) {
      return absl::InternalError("the engine has no trace of the head");
    }
    result.head_trace = *trace;
  } else if (!passes_.empty()) {
    result.head_trace = passes_.front().TakeTrace();
  }
  for (AttentionPass& pass : passes_) {
    if (request_.cross_attention) {
      result.cross_attention.push_back(pass.TakeCrossMap());
    }
    if (request_.decoder_attention) {
      result.decoder_attention.push_back(pass.TakeDecoderMap());
    }
  }
  if (!AllFinite(result.states) || !AllFinite(result.hidden) ||
      !AllFinite(result.pooled) || !AllFinite(result.logits) ||
      !AllFinite(result.encoder_attention.weights) ||
      (result.head_trace && !AllFinite(result.head_trace->result.values)) ||
      !std::all_of(result.best_logits.begin(), result.best_logits.end(),
                   [](const BestLogits& row) {
                     return std::isfinite(row.log_sum_exp);
                   }) ||
      !std::all_of(
          result.sparse.begin(), result.sparse.end(),
          [](const SparseWeight& one) { return std::isfinite(one.weight); })) {
    return NotFiniteStatus();
  }
  result.source_tokens = request_.source_tokens();
  result.cached_tokens = cached_tokens_.value_or(0);
  result.queue_time = started_ - queued_->submitted;
  result.inference_time = now - started_;
  result.shared_source = shared_source_;
  return result;
}

AttentionMap Sequence::EncoderMap() const {
  const std::span<const float> weights =
      engine_->EncoderAttention(sources_->id(source_slot_));
  const std::vector<int>& layers = request_.encoder_attention->layers;
  AttentionMap map;
  map.layers = layers.empty() ? engine_->limits().encoder_layers
                              : static_cast<int>(layers.size());
  map.queries = map.keys = sources_->tokens(source_slot_);
  map.heads =
      static_cast<int>(weights.size()) / (map.layers * map.queries * map.keys);
  map.weights.assign(weights.begin(), weights.end());
  return map;
}

}  // namespace trivium
