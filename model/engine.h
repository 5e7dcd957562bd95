#ifndef TRIVIUM_MODEL_ENGINE_H_
#define TRIVIUM_MODEL_ENGINE_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/engine_limits.h"
#include "model/logits.h"

namespace trivium {

// Handles that an engine gives out: small integers, reused after release.
using SourceId = int32_t;
using HypothesisId = int32_t;
inline constexpr SourceId kNoSource = -1;

// Attention maps to compute. Empty lists mean every layer or head.
struct AttentionSelection {
  std::vector<int> layers;  // ascending, each in [0, layers of the stack)
  std::vector<int> heads;   // ascending, each in [0, heads)
};

// What a model computes from an encoder's final states, by its use.
enum class HeadKind {
  kClassify,      // labels of a sequence
  kTag,           // labels of every token
  kAnswer,        // every token as the start and as the end of an answer
  kFillMask,      // the vocabulary, for every token
  kDiscriminate,  // every token as replaced or not (ELECTRA)
};

// The encoder's input. `type_ids` (segments) is empty or as long as `ids`.
struct EncoderInput {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;

  friend bool operator==(const EncoderInput&, const EncoderInput&) = default;
};

// Of which tokens the last layer's hidden states are wanted.
enum class States { kNone, kFirst, kLast, kAll };

// What to keep of an encoded source. The last layer's feed-forward runs for no
// more tokens than that needs.
struct SourceOptions {
  bool cross_attention = true;  // keys and values for the decoder
  States states = States::kNone;
  // Of which layers all tokens' hidden states are wanted, ascending: 0 is what
  // enters the first layer, l what layer l - 1 gives; encoder_layers, after the
  // final norm, are the final states.
  std::vector<int> hidden_layers = {};
  bool pooled = false;  // the pooler's output
  bool logits = false;  // the head's outputs
  // Of a head that looks at every token: the tokens to compute logits of, in
  // [0, tokens); empty: all.
  std::vector<int> logits_positions = {};
  // Keep of each row of logits only so many of the largest, at most 1024; 0:
  // keep all of them.
  int logits_best = 0;
  bool attention = false;  // maps of `selection`
  AttentionSelection selection;
};

// One iteration's work.
struct StepPlan {
  // Advances a source through its next `layers` encoder layers. The source is
  // ready in the step that finishes the last one; decode work of the same
  // plan may use it already. A source appears once.
  struct Encode {
    SourceId source;
    int layers;
  };
  // Appends `tokens` (one in a decode step, several in a prefill) to a
  // hypothesis. A hypothesis appears once.
  struct Decode {
    HypothesisId hypothesis;
    std::span<const int32_t> tokens;
    // Answered for the positions after the last queries.size() of `tokens`,
    // of which there are no fewer; no other row is projected.
    std::span<const LogitsQuery> queries = {};
    // Return the last layer's hidden states, after its norm.
    bool states = false;
    // Maps to return for every one of `tokens`, or null.
    const AttentionSelection* self_attention = nullptr;
    const AttentionSelection* cross_attention = nullptr;
  };
  std::vector<Encode> encode;
  std::vector<Decode> decode;

  void Clear() {
    encode.clear();
    decode.clear();
  }
};

// Where a step's time went, in seconds. Quantization of a product's input is
// part of whatever makes that input, with which it is fused.
struct PhaseSeconds {
  double encode = 0;
  double self_attention = 0;
  double cross_attention = 0;
  double feed_forward = 0;
  double output_projection = 0;
  double other = 0;
};

struct StepResult {
  struct Row {
    // Whether the tokens' states and the logits asked for are finite numbers.
    // Weights may be such that, of some inputs, they are not: then nothing that
    // follows from them is an answer.
    bool finite = true;
    std::span<const LogitsRow> logits;  // [queries]
    std::span<const float> states;      // [tokens, d_model] if asked for
    // [layers, heads, tokens, keys] as selected; empty if not asked for.
    std::span<const float> self_attention;
    std::span<const float> cross_attention;
  };
  std::vector<Row> rows;   // rows[i] answers plan.decode[i]
  int encoder_rows = 0;    // tokens that went through encoder layers
  int decoder_rows = 0;    // tokens that went through the decoder
  int projected_rows = 0;  // of these, whose logits were computed
  int padding_rows = 0;    // rows added to reach a row bucket
  PhaseSeconds seconds;
};

// The computing part of a loaded model, for one worker: the KV cache, the
// encoder states of sources under way and the scratch memory of one worker.
// Weights are shared with the other engines of the model, which outlives it.
// Not thread-safe; every call returns without waiting for anything.
//
// Use:
//   source = engine.AddSource(input, {});
//   hypothesis = engine.AddHypothesis(source);
//   engine.Step({encode: {source, all layers},
//                decode: {hypothesis, {start token}, {query}}}, &result);
//   ... search picks tokens; a beam forks: child = engine.Fork(hypothesis)
//   engine.Step({decode: {hypothesis, {token}, {query}}, ...}, &result);
//   engine.ReleaseHypothesis(hypothesis); engine.ReleaseSource(source);
//
// Blocks: the keys and values of a source's cross-attention and of a
// hypothesis's self-attention live in blocks of `block_tokens` tokens out of
// one pool of `total_blocks`. A block is one of some layers that see equally
// far back, of all of them where no windows differ. AddSource takes
// SourceBlocks at once (none without cross-attention); Decode work takes blocks
// when its tokens cross a block border or when it writes to blocks that another
// hypothesis shares. In layers that see only so many tokens back, a hypothesis
// gives up the blocks that it has passed. Whoever plans asks BlocksNeeded and
// makes room by releasing others; a Step without free blocks fails with
// RESOURCE_EXHAUSTED and changes nothing.
//
// Full blocks of a hypothesis's announced beginning (Begin) are known by their
// tokens, by what came before, and by all else that their contents depend on:
// the source's input, the salt, and this engine with its weights and
// arithmetic. They stay when nobody uses them, until others need the room, the
// least recently used first, and serve whoever begins alike: the contents are
// the same bits found or computed. Kept blocks count as free; an engine may
// bound how many it keeps.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual const EngineLimits& limits() const = 0;
  virtual int free_blocks() const = 0;
  // Free blocks that a Step of the plan takes.
  virtual int BlocksNeeded(const StepPlan& plan) = 0;

  // Where the model has a vocabulary shortlist, what the source's hypotheses
  // may contain is decided here, by its tokens alone.
  // INVALID_ARGUMENT for an empty or too long input, or an id, type or
  // position out of range; FAILED_PRECONDITION where the options ask for what
  // the model does not have; RESOURCE_EXHAUSTED without free blocks.
  virtual absl::StatusOr<SourceId> AddSource(const EncoderInput& input,
                                             const SourceOptions& options) = 0;
  virtual void ReleaseSource(SourceId source) = 0;

  // Of a ready source with cross_attention: whether its states are finite
  // numbers. What pooler and head make of states that are not is NaN.
  virtual bool IsFinite(SourceId source) const = 0;
  // Of a ready source: [tokens of options.states, d_model].
  virtual std::span<const float> EncoderStates(SourceId source) const = 0;
  // Of a ready source: [hidden_layers, tokens, d_model].
  virtual std::span<const float> HiddenStates(SourceId source) const = 0;
  // Of a ready source with `pooled`: [pooled_size].
  virtual std::span<const float> PooledOutput(SourceId source) const = 0;
  // Of a ready source with `logits`: [head_outputs], or [logits_positions or
  // tokens, head_outputs] where the head looks at every token.
  // Empty with `logits_best`.
  virtual std::span<const float> HeadLogits(SourceId source) const = 0;
  // The rows of HeadLogits of a ready source with `logits_best`.
  virtual std::span<const BestLogits> BestHeadLogits(SourceId source) const = 0;
  // Of a ready source with `attention`: [layers, heads, tokens, tokens].
  virtual std::span<const float> EncoderAttention(SourceId source) const = 0;

  // An empty hypothesis that reads `source` (kNoSource for decoder-only
  // models). Several may share a source.
  virtual HypothesisId AddHypothesis(SourceId source) = 0;
  // The same of a hypothesis that will read `tokens` first. Returns how many
  // of them it has read already, because their blocks are there: a multiple of
  // block_tokens, fewer than all. The rest must follow in this order. Only who
  // gives the same salt finds the blocks.
  struct Beginning {
    HypothesisId hypothesis;
    int found;  // tokens
  };
  virtual Beginning Begin(SourceId source, std::span<const int32_t> tokens,
                          std::string_view salt) = 0;
  // Keeps the full blocks of a hypothesis that has read `tokens` as those of a
  // beginning, for when it is read once more.
  virtual void CacheBlocks(HypothesisId hypothesis,
                           std::span<const int32_t> tokens,
                           std::string_view salt) = 0;
  // A copy that shares the parent's blocks.
  virtual HypothesisId Fork(HypothesisId parent) = 0;
  // Takes back what a hypothesis has read after its first `length` tokens, of
  // which there are no fewer than were announced: as if it had not been read.
  virtual void Truncate(HypothesisId hypothesis, int length) = 0;
  virtual void ReleaseHypothesis(HypothesisId hypothesis) = 0;

  // Runs one iteration. `result` is reused from step to step; its spans point
  // into the engine and hold until the next Step. After an error other than
  // RESOURCE_EXHAUSTED the hypotheses of the plan must be released.
  virtual absl::Status Step(const StepPlan& plan, StepResult* result) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_ENGINE_H_
