#ifndef TRIVIUM_TESTS_SUPPORT_GENERATE_H_
#define TRIVIUM_TESTS_SUPPORT_GENERATE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "model/engine.h"
#include "model/search/decoding.h"

namespace trivium {

// Asks for a row's every logit.
inline constexpr LogitsQuery kAllLogits = {.all = true};

// One request alone on an engine: the simplest use of Engine and Decoding, and
// what every batched result must equal bit by bit. An empty `source.ids` means
// a decoder-only model.

struct EncodedSource {
  std::vector<float> states;     // [tokens, d_model]
  std::vector<float> hidden;     // [layers + 1, tokens, d_model]
  std::vector<float> attention;  // [layers, heads, tokens, tokens]
  std::vector<float> pooled;     // [pooled size]; empty without a pooler
  std::vector<float> logits;     // of the head, every token; empty without one
};
absl::StatusOr<EncodedSource> EncodeAlone(Engine* engine,
                                          const EncoderInput& source);

// `prefix` is what the decoder reads first.
absl::StatusOr<std::vector<Hypothesis>> GenerateAlone(
    Engine* engine, const EncoderInput& source, std::vector<int32_t> prefix,
    const DecodingOptions& options);

struct ForcedTargets {
  std::vector<float> logits;           // [targets, vocabulary]
  std::vector<float> self_attention;   // [layers, heads, targets, targets]
  std::vector<float> cross_attention;  // [layers, heads, targets, sources]
};
// Teacher forcing: the decoder reads `targets`, `step_tokens` of them a step
// (1: as in decoding; more: as a prefill). Logits exist for the last token of
// each step; the others' rows stay 0.
absl::StatusOr<ForcedTargets> ForceTargets(Engine* engine,
                                           const EncoderInput& source,
                                           std::span<const int32_t> targets,
                                           int step_tokens);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_GENERATE_H_
