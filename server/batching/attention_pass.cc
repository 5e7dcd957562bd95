#include "server/batching/attention_pass.h"

#include <algorithm>

namespace trivium {
namespace {

void Shape(const AttentionSelection* selection, int all_layers, size_t queries,
           size_t keys, AttentionMap* map) {
  if (selection == nullptr) return;
  map->layers = selection->layers.empty()
                    ? all_layers
                    : static_cast<int>(selection->layers.size());
  map->queries = static_cast<int>(queries);
  map->keys = static_cast<int>(keys);
}

}  // namespace

AttentionPass::AttentionPass(Engine* engine, SourceId source, int source_tokens,
                             std::span<const int32_t> prefix,
                             std::span<const int32_t> ids,
                             const Selections& selections)
    : selections_(selections),
      decoder_layers_(engine->limits().decoder_layers),
      first_new_(static_cast<int>(prefix.size()) - 1),
      tokens_(prefix.begin(), prefix.end()),
      source_tokens_(source_tokens) {
  // The last token is never read.
  if (!ids.empty()) tokens_.insert(tokens_.end(), ids.begin(), ids.end() - 1);
  Shape(selections.cross, decoder_layers_, ids.size(), source_tokens, &cross_);
  Shape(selections.decoder, decoder_layers_,
        selections.prefix ? tokens_.size() : ids.size(), tokens_.size(),
        &decoder_);
  // Last, since nobody releases it if this throws.
  hypothesis_ = engine->AddHypothesis(source);
}

void AttentionPass::Trace(const HeadChoice& choice) {
  trace_ = std::make_unique<HeadTrace>();
  trace_->choice = choice;
  trace_->queries = static_cast<int>(tokens_.size());
  trace_->keys = choice.cross ? source_tokens_ : trace_->queries;
}

std::optional<HeadTrace> AttentionPass::TakeTrace() {
  if (trace_ == nullptr) return std::nullopt;
  return std::move(*trace_);
}

void AttentionPass::Plan(int count, StepPlan* plan) {
  planned_ = count;
  plan->decode.push_back({.hypothesis = hypothesis_,
                          .tokens = std::span(tokens_).subspan(fed_, count),
                          .self_attention = selections_.decoder,
                          .cross_attention = selections_.cross,
                          .trace = trace_.get()});
}

void AttentionPass::Apply(const StepResult::Row& row) {
  Copy(row.cross_attention, cross_.keys, first_new_, selections_.mean_cross,
       &cross_);
  Copy(row.self_attention, fed_ + planned_, selections_.prefix ? 0 : first_new_,
       selections_.mean_decoder, &decoder_);
  fed_ += planned_;
  planned_ = 0;
}

void AttentionPass::Copy(std::span<const float> weights, int keys,
                         int first_query, bool mean, AttentionMap* map) const {
  if (weights.empty()) return;
  const size_t planes = weights.size() / (static_cast<size_t>(planned_) * keys);
  if (map->weights.empty()) {
    map->heads = static_cast<int>(planes) / map->layers;
    if (mean) map->layers = map->heads = 1;
    map->weights.resize(static_cast<size_t>(map->layers) * map->heads *
                        map->queries * map->keys);
  }
  const float part = 1.0f / static_cast<float>(planes);
  const int begin = std::max(fed_, first_query);
  const int end = std::min(fed_ + planned_, first_query + map->queries);
  for (size_t plane = 0; plane < planes; ++plane) {
    for (int position = begin; position < end; ++position) {
      const size_t from = plane * planned_ + (position - fed_);
      const size_t to =
          (mean ? 0 : plane * map->queries) + (position - first_query);
      const float* const row = weights.data() + from * keys;
      float* const out = map->weights.data() + to * map->keys;
      if (!mean) {
        std::copy_n(row, keys, out);
        continue;
      }
      for (int key = 0; key < keys; ++key) out[key] += part * row[key];
    }
  }
}

}  // namespace trivium
