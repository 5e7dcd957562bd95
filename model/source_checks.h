#ifndef TRIVIUM_MODEL_SOURCE_CHECKS_H_
#define TRIVIUM_MODEL_SOURCE_CHECKS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "model/engine.h"

namespace trivium {

// Returns Engine::AddSource's errors that follow from the limits alone, so that
// every engine, and a scheduler before it asks one, refuses the same sources.
// Token ids are not checked: only the engine knows their vocabulary.
inline absl::Status CheckSource(const EncoderInput& source,
                                const SourceOptions& options,
                                const EngineLimits& limits) {
  if (limits.encoder_layers == 0) {
    return absl::FailedPreconditionError(
        "the model has no encoder: give the text as the decoder's prefix");
  }
  const auto tokens = static_cast<int64_t>(source.ids.size());
  if (tokens == 0) {
    return absl::InvalidArgumentError("the source has no tokens");
  }
  if (tokens > limits.max_source_tokens) {
    return absl::InvalidArgumentError(fmt::format(
        "the source has {} tokens, but the model reads at most {}: shorten or "
        "split it",
        tokens, limits.max_source_tokens));
  }
  if (!source.type_ids.empty() && source.type_ids.size() != source.ids.size()) {
    return absl::InvalidArgumentError(
        fmt::format("the source has {} tokens but {} type ids", tokens,
                    source.type_ids.size()));
  }
  for (const int32_t type : source.type_ids) {
    if (type >= 0 && type < limits.type_vocabulary) continue;
    return absl::InvalidArgumentError(
        limits.type_vocabulary == 0
            ? "the model has no segments: leave the type ids out"
            : fmt::format("the source has type id {}, but the model's are 0 "
                          "to {}",
                          type, limits.type_vocabulary - 1));
  }
  if (source.unattended < 0 || source.unattended >= tokens) {
    return absl::InvalidArgumentError(
        fmt::format("{} of the source's {} tokens are seen by none; give 0 .. "
                    "{}",
                    source.unattended, tokens, tokens - 1));
  }
  int after = -1;
  for (const int layer : options.hidden_layers) {
    if (layer <= after || layer > limits.encoder_layers) {
      return absl::InvalidArgumentError(
          fmt::format("hidden states of layer {} after {}; give 0 .. {}, "
                      "ascending",
                      layer, after, limits.encoder_layers));
    }
    after = layer;
  }
  if (options.pooled && limits.pooled_size == 0) {
    return absl::FailedPreconditionError("the model has no pooler");
  }
  if (options.logits && limits.head_outputs == 0) {
    return absl::FailedPreconditionError("the model has no head");
  }
  if (options.sparse && limits.sparse_size == 0) {
    return absl::FailedPreconditionError("the model has no sparse embedding");
  }
  if (options.logits_best < 0 || options.logits_best > 1024) {
    return absl::InvalidArgumentError(fmt::format(
        "the best {} logits of a row: give 0 .. 1024", options.logits_best));
  }
  for (const int position : options.logits_positions) {
    if (position >= 0 && position < tokens) continue;
    return absl::InvalidArgumentError(
        fmt::format("logits of token {} of a source of {}", position, tokens));
  }
  return absl::OkStatus();
}

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SOURCE_CHECKS_H_
