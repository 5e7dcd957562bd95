#include "server/batching/request_cost.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "absl/hash/hash.h"
#include "base/status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

int64_t Positions(const Request& request) {
  return static_cast<int64_t>(request.prefix.size()) +
         request.decoding->max_new_tokens - 1;
}

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

absl::Status CheckHeads(const Request& request, const EngineLimits& limits) {
  if (request.pooled && limits.pooled_size == 0) {
    return absl::InvalidArgumentError("the model has no pooler");
  }
  if (request.logits && limits.head_outputs == 0) {
    return absl::InvalidArgumentError("the model has no head");
  }
  for (const int position : request.logits_positions) {
    if (position < 0 ||
        position >= static_cast<int>(request.source.ids.size())) {
      return absl::InvalidArgumentError(
          fmt::format("logits of token {} of a source of {}", position,
                      request.source.ids.size()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSource(const Request& request, const EngineLimits& limits) {
  const int64_t tokens = request.source.ids.size();
  if (limits.encoder_layers == 0) {
    if (tokens == 0 && request.decoding) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "the model has no encoder: give the text as the decoder's prefix");
  }
  if (tokens == 0) {
    return absl::InvalidArgumentError("the source has no tokens");
  }
  if (tokens > limits.max_source_tokens) {
    return absl::InvalidArgumentError(fmt::format(
        "the source has {} tokens, but the model reads at most {}: shorten or "
        "split it",
        tokens, limits.max_source_tokens));
  }
  if (!request.source.type_ids.empty() &&
      request.source.type_ids.size() != request.source.ids.size()) {
    return absl::InvalidArgumentError(
        fmt::format("the source has {} tokens but {} type ids", tokens,
                    request.source.type_ids.size()));
  }
  for (const int32_t type : request.source.type_ids) {
    if (type < 0 || type >= limits.type_vocabulary) {
      return absl::InvalidArgumentError(
          limits.type_vocabulary == 0
              ? "the model has no segments: leave the type ids out"
              : fmt::format("the source has type id {}, but the model's are 0 "
                            "to {}",
                            type, limits.type_vocabulary - 1));
    }
  }
  TRIVIUM_RETURN_IF_ERROR(CheckHeads(request, limits));
  if (request.encoder_attention) {
    return CheckSelection("encoder_attention", *request.encoder_attention,
                          limits.encoder_layers);
  }
  return absl::OkStatus();
}

absl::Status CheckDecoding(const Request& request, const EngineLimits& limits) {
  if (limits.decoder_layers == 0) {
    return absl::InvalidArgumentError(
        "the model has no decoder: it can only encode");
  }
  TRIVIUM_RETURN_IF_ERROR(
      ValidateDecodingOptions(*request.decoding, limits.vocabulary));
  TRIVIUM_RETURN_IF_ERROR(CheckPrefix(request.prefix, limits));
  if (Positions(request) > limits.max_target_tokens) {
    return absl::InvalidArgumentError(fmt::format(
        "a prefix of {} tokens and max_new_tokens {} need {} positions, but "
        "the model has {}: lower max_new_tokens or shorten the prefix",
        request.prefix.size(), request.decoding->max_new_tokens,
        Positions(request), limits.max_target_tokens));
  }
  if (request.decoder_attention) {
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

RequestCost CostOf(const Request& request, const EngineLimits& limits) {
  const auto blocks = [&limits](int64_t tokens) {
    return (tokens + limits.block_tokens - 1) / limits.block_tokens;
  };
  RequestCost cost;
  cost.tokens = request.source.ids.size();
  if (request.decoding) {
    const DecodingOptions& options = *request.decoding;
    cost.rows = options.sample ? options.hypotheses : options.beam_size;
    cost.tokens += static_cast<int64_t>(request.prefix.size()) - 1 +
                   cost.rows * options.max_new_tokens;
    cost.source_blocks = blocks(request.source.ids.size());
    cost.hypothesis_blocks = blocks(Positions(request));
  }
  cost.tokens = std::max<int64_t>(cost.tokens, 1);
  return cost;
}

absl::Status CheckRequest(const Request& request, const EngineLimits& limits,
                          int max_rows) {
  TRIVIUM_RETURN_IF_ERROR(CheckSource(request, limits));
  if (!request.decoding) return absl::OkStatus();
  TRIVIUM_RETURN_IF_ERROR(CheckDecoding(request, limits));
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

SourceOptions SourceOptionsOf(const Request& request) {
  SourceOptions options;
  options.cross_attention = request.decoding.has_value();
  options.states = request.states;
  options.pooled = request.pooled;
  options.logits = request.logits;
  options.logits_positions = request.logits_positions;
  options.attention = request.encoder_attention.has_value();
  if (options.attention) options.selection = *request.encoder_attention;
  return options;
}

bool Covers(const SourceOptions& have, const SourceOptions& want) {
  if (want.cross_attention && !have.cross_attention) return false;
  if (want.states > have.states) return false;
  if (want.pooled && !have.pooled) return false;
  if (want.logits &&
      (!have.logits || have.logits_positions != want.logits_positions)) {
    return false;
  }
  if (!want.attention) return true;
  return have.attention && have.selection.layers == want.selection.layers &&
         have.selection.heads == want.selection.heads;
}

uint64_t SourceKey(int model, const EncoderInput& source) {
  if (source.ids.empty()) return kNoSourceKey;
  const uint64_t hash = absl::HashOf(model, source.ids, source.type_ids);
  return hash == kNoSourceKey ? 1 : hash;
}

}  // namespace trivium
