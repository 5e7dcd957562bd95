#include "model/transformer/transformer.h"

#include <algorithm>

#include "base/status.h"
#include "fmt/format.h"
#include "model/transformer/transformer_engine.h"
#include "model/transformer/transformer_weights.h"

namespace trivium {

absl::StatusOr<std::shared_ptr<const Transformer>> Transformer::Create(
    const TransformerDescription& description, Arithmetic arithmetic) {
  try {
    TRIVIUM_ASSIGN_OR_RETURN(std::shared_ptr<const Transformer> weights,
                             TransformerWeights::Pack(description, arithmetic));
    return weights;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory for the weights");
  }
}

absl::StatusOr<std::unique_ptr<Engine>> Transformer::NewEngine(
    std::shared_ptr<const Transformer> self, int64_t kv_cache_bytes) {
  auto weights = std::static_pointer_cast<const TransformerWeights>(self);
  int64_t blocks = 0;
  if (weights->decoder().has_value()) {
    const Stack& decoder = *weights->decoder();
    const int64_t block_bytes = static_cast<int64_t>(KvCache::BlockBytes(
        weights->decoder_kv_shape(), static_cast<int>(decoder.layers.size())));
    const int64_t longest =
        PaddedKeys(decoder.max_positions) / kTileTokens +
        (weights->encoder().has_value()
             ? PaddedKeys(weights->encoder()->max_positions) / kTileTokens
             : 0);
    blocks = std::min<int64_t>(kv_cache_bytes / block_bytes, 1 << 20);
    if (blocks < longest) {
      return absl::ResourceExhaustedError(fmt::format(
          "a KV cache of {} bytes holds {} blocks of {} bytes; one longest "
          "sequence needs {} ({} bytes): raise --kv-cache-bytes",
          kv_cache_bytes, blocks, block_bytes, longest, longest * block_bytes));
    }
  }
  try {
    return std::make_unique<TransformerEngine>(std::move(weights),
                                               static_cast<int>(blocks));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(fmt::format(
        "out of memory for a KV cache of {} bytes", kv_cache_bytes));
  }
}

}  // namespace trivium
