#include "server/batching/attention_pass.h"

#include <algorithm>

namespace trivium {

AttentionPass::AttentionPass(Engine* engine, SourceId source, int source_tokens,
                             std::span<const int32_t> prefix,
                             std::span<const int32_t> ids)
    : hypothesis_(engine->AddHypothesis(source)),
      first_row_(static_cast<int>(prefix.size()) - 1),
      tokens_(prefix.begin(), prefix.end()) {
  // The last token is never read.
  if (!ids.empty()) tokens_.insert(tokens_.end(), ids.begin(), ids.end() - 1);
  map_.queries = static_cast<int>(ids.size());
  map_.keys = source_tokens;
}

void AttentionPass::Plan(int count, const AttentionSelection* selection,
                         StepPlan* plan) {
  planned_ = count;
  plan->decode.push_back({.hypothesis = hypothesis_,
                          .tokens = std::span(tokens_).subspan(fed_, count),
                          .query = {},
                          .self_attention = nullptr,
                          .cross_attention = selection});
}

void AttentionPass::Apply(const StepResult::Row& row, int layers) {
  const size_t keys = map_.keys;
  // row.cross_attention: [layers, heads, planned, keys]
  const size_t planes = row.cross_attention.size() / (planned_ * keys);
  if (map_.weights.empty()) {
    map_.layers = layers;
    map_.heads = static_cast<int>(planes) / layers;
    map_.weights.resize(planes * map_.queries * keys);
  }
  const int begin = std::max(fed_, first_row_);
  const int end = std::min(fed_ + planned_, first_row_ + map_.queries);
  if (begin < end) {
    for (size_t plane = 0; plane < planes; ++plane) {
      const float* from = row.cross_attention.data() +
                          (plane * planned_ + (begin - fed_)) * keys;
      float* to = map_.weights.data() +
                  (plane * map_.queries + (begin - first_row_)) * keys;
      std::copy_n(from, (end - begin) * keys, to);
    }
  }
  fed_ += planned_;
  planned_ = 0;
}

}  // namespace trivium
