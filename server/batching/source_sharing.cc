#include "server/batching/source_sharing.h"

#include "absl/hash/hash.h"

namespace trivium {

SourceOptions SourceOptionsOf(const Request& request) {
  SourceOptions options;
  options.cross_attention = request.decodes();
  options.states = request.states;
  options.hidden_layers = request.hidden_layers;
  options.pooled = request.pooled;
  options.logits = request.logits;
  options.logits_positions = request.logits_positions;
  options.logits_best = request.logits_best;
  options.sparse = request.sparse;
  options.attention = request.encoder_attention.has_value();
  if (options.attention) options.selection = *request.encoder_attention;
  if (!request.decodes()) options.traced_head = request.traced_head;
  return options;
}

bool Covers(const SourceOptions& have, const SourceOptions& want) {
  if (want.cross_attention && !have.cross_attention) return false;
  if (want.states != States::kNone && have.states != want.states &&
      have.states != States::kAll) {
    return false;
  }
  if (!want.hidden_layers.empty() && want.hidden_layers != have.hidden_layers) {
    return false;
  }
  if (want.pooled && !have.pooled) return false;
  if (want.sparse && !have.sparse) return false;
  if (want.logits &&
      (!have.logits || have.logits_positions != want.logits_positions ||
       have.logits_best != want.logits_best)) {
    return false;
  }
  if (want.traced_head && have.traced_head != want.traced_head) return false;
  if (!want.attention) return true;
  return have.attention && have.selection.layers == want.selection.layers &&
         have.selection.heads == want.selection.heads;
}

uint64_t SourceKey(const Request& request) {
  const EncoderInput& source = request.source;
  if (source.ids.empty()) return kNoSourceKey;
  const uint64_t hash =
      absl::HashOf(request.model->id, request.salt, source.ids, source.type_ids,
                   source.route, source.unattended);
  return hash == kNoSourceKey ? 1 : hash;
}

}  // namespace trivium
