#include "server/batching/request_checks.h"

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "fmt/format.h"
#include "model/source_checks.h"
#include "server/batching/request_cost.h"
#include "server/batching/source_sharing.h"

namespace trivium {
namespace {

absl::Status CheckPrefix(std::span<const int32_t> prefix,
                         const EngineLimits& limits) {
  if (prefix.empty()) {
    return absl::InvalidArgumentError(
        "the decoder's prefix is empty: give at least a start token");
  }
  for (const int32_t id : prefix) {
    if (id < 0 || id >= limits.vocabulary) {
      return absl::InvalidArgumentError(fmt::format(
          "the prefix has token id {}, but the model's ids are 0 to {}", id,
          limits.vocabulary - 1));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSelection(std::string_view name,
                            const AttentionSelection& selection, int layers) {
  for (const int layer : selection.layers) {
    if (layer < 0 || layer >= layers) {
      return absl::InvalidArgumentError(
          fmt::format("{} names layer {}, but the layers are 0 to {}", name,
                      layer, layers - 1));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTraceLength(int64_t tokens) {
  if (tokens <= kMostTracedTokens) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "a head is traced for at most {} tokens, not {}; send shorter "
      "text, or ask for fewer new tokens",
      kMostTracedTokens, tokens));
}

absl::Status CheckSourceOf(const Request& request, const EngineLimits& limits) {
  if (limits.encoder_layers == 0 && request.source.ids.empty() &&
      request.decodes()) {
    return absl::OkStatus();
  }
  const absl::Status checked =
      CheckSource(request.source, SourceOptionsOf(request), limits);
  // A feature that the model lacks is a mistake of the request, like any other.
  if (!checked.ok()) return absl::InvalidArgumentError(checked.message());
  if (!request.encoder_attention) return absl::OkStatus();
  return CheckSelection("encoder_attention", *request.encoder_attention,
                        limits.encoder_layers);
}

absl::Status CheckScoring(const Request& request, const EngineLimits& limits) {
  const Scoring& scoring = *request.scoring;
  TRIVIUM_RETURN_IF_ERROR(CheckPrefix(request.prefix, limits));
  const int last = static_cast<int>(request.prefix.size()) - 1;
  if (scoring.first < 1 || scoring.first > last) {
    return absl::InvalidArgumentError(
        fmt::format("of {} tokens none can be scored from {} on: give 1 to {}",
                    last + 1, scoring.first, last));
  }
  if (scoring.top_logprobs < 0 || scoring.top_logprobs > kMaxTopLogprobs) {
    return absl::InvalidArgumentError(
        fmt::format("top_logprobs: {} is out of range, give 0 to {}",
                    scoring.top_logprobs, kMaxTopLogprobs));
  }
  if (PositionsOf(request) <= limits.max_target_tokens) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{} tokens need {} positions, but the model has {}: send fewer", last + 1,
      PositionsOf(request), limits.max_target_tokens));
}

absl::Status CheckDecoding(const Request& request, const EngineLimits& limits) {
  TRIVIUM_RETURN_IF_ERROR(
      ValidateDecodingOptions(*request.decoding, limits.vocabulary));
  TRIVIUM_RETURN_IF_ERROR(CheckPrefix(request.prefix, limits));
  if (PositionsOf(request) > limits.max_target_tokens) {
    return absl::InvalidArgumentError(fmt::format(
        "a prefix of {} tokens and max_new_tokens {} need {} positions, but "
        "the model has {}: lower max_new_tokens or shorten the prefix",
        request.prefix.size(), request.decoding->max_new_tokens,
        PositionsOf(request), limits.max_target_tokens));
  }
  if (request.decoder_attention) {
    if (limits.state_blocks > 0) {
      return absl::InvalidArgumentError(
          "decoder_attention is asked for, but layers of the model keep a "
          "state instead of attending to earlier tokens; ask a model whose "
          "layers all have attention");
    }
    TRIVIUM_RETURN_IF_ERROR(CheckSelection("decoder_attention",
                                           *request.decoder_attention,
                                           limits.decoder_layers));
  }
  if (!request.cross_attention) return absl::OkStatus();
  if (limits.encoder_layers == 0) {
    return absl::InvalidArgumentError(
        "cross_attention is asked for, but the model has no encoder");
  }
  return CheckSelection("cross_attention", *request.cross_attention,
                        limits.decoder_layers);
}

}  // namespace

absl::Status CheckRequest(const Request& request, const EngineLimits& limits,
                          int max_rows) {
  TRIVIUM_RETURN_IF_ERROR(CheckSourceOf(request, limits));
  if (request.traced_head) {
    TRIVIUM_RETURN_IF_ERROR(
        CheckTraceLength(static_cast<int64_t>(request.source.ids.size())));
    if (request.decodes()) {
      TRIVIUM_RETURN_IF_ERROR(CheckTraceLength(PositionsOf(request)));
    }
  }
  if (!request.decodes()) return absl::OkStatus();
  if (limits.decoder_layers == 0) {
    return absl::InvalidArgumentError(
        "the model has no decoder: it can only encode");
  }
  if (request.decoding) {
    TRIVIUM_RETURN_IF_ERROR(CheckDecoding(request, limits));
  }
  if (request.scoring) TRIVIUM_RETURN_IF_ERROR(CheckScoring(request, limits));
  const RequestCost cost = CostOf(request, limits);
  if (cost.rows > max_rows) {
    return absl::InvalidArgumentError(
        fmt::format("{} hypotheses run at once, but a worker runs at most {}",
                    cost.rows, max_rows));
  }
  const int64_t blocks = cost.source_blocks + cost.decoder_blocks();
  if (blocks > limits.total_blocks) {
    return absl::InvalidArgumentError(fmt::format(
        "it may need {} KV blocks of {} tokens, but a worker has {}: lower "
        "the beam size, the hypotheses or max_new_tokens, or give the server "
        "a larger KV cache",
        blocks, limits.block_tokens, limits.total_blocks));
  }
  return absl::OkStatus();
}

}  // namespace trivium
