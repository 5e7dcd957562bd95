#ifndef TRIVIUM_MODEL_ENGINE_H_
#define TRIVIUM_MODEL_ENGINE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/engine_limits.h"
#include "model/head_trace.h"
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

// Outputs that a model computes from an encoder's final states.
enum class HeadKind {
  kClassify,      // labels of a sequence
  kTag,           // labels of every token
  kAnswer,        // every token as the start and as the end of an answer
  kFillMask,      // the vocabulary, for every token
  kDiscriminate,  // every token as replaced or not (ELECTRA)
};

// One vector over the vocabulary for a whole text (SPLADE):
//
//   weight[v] = pool over the tokens t of f(logit[t, v])
//   f(x) = log(1 + max(x, 0)), or log(1 + log(1 + max(x, 0)))
//
// where the logits are those of a kFillMask head.
struct VocabularyPooling {
  bool sum = false;         // pool by the sum instead of the maximum
  bool double_log = false;  // the second f
};

// One weight of a sparse embedding, not 0.
struct SparseWeight {
  int32_t id = 0;  // of the vocabulary
  float weight = 0;

  friend bool operator==(const SparseWeight&, const SparseWeight&) = default;
};

// The encoder's input. `type_ids` (segments) is empty or as long as `ids`.
struct EncoderInput {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;
  // The part of the model that reads it, if the folder has a Router
  // (Model::ReaderOf).
  int route = 0;
  // So many of the last tokens are seen by no token, though they see all others
  // (MultiVectors::Expansion). Fewer than all.
  int unattended = 0;

  friend bool operator==(const EncoderInput&, const EncoderInput&) = default;
};

// Selects the tokens whose hidden states of the last layer are wanted.
enum class States { kNone, kFirst, kLast, kAll };

// Selects the results to keep of an encoded source. The last layer's
// feed-forward runs for only as many tokens as that needs.
struct SourceOptions {
  bool cross_attention = true;  // keys and values for the decoder
  States states = States::kNone;
  // Layers whose hidden states of all tokens are wanted, ascending. 0 is the
  // input of the first layer, l the output of layer l - 1; encoder_layers means
  // the final states, after the final norm.
  std::vector<int> hidden_layers = {};
  bool pooled = false;  // the pooler's output
  bool logits = false;  // the head's outputs
  // For a head that looks at every token: the tokens to compute logits of, in
  // [0, tokens); empty: all.
  std::vector<int> logits_positions = {};
  // Number of largest logits to keep of each row, at most 1024; 0: keep all.
  int logits_best = 0;
  bool sparse = false;     // the sparse embedding
  bool attention = false;  // maps of `selection`
  AttentionSelection selection;
  std::optional<HeadChoice> traced_head = std::nullopt;  // not `cross`
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
    // Answered for the positions after the last queries.size() of `tokens`, so
    // there are at least as many tokens. No other row is projected.
    std::span<const LogitsQuery> queries = {};
    // Return the last layer's hidden states, after its norm.
    bool states = false;
    // Maps to return for every one of `tokens`, or null.
    const AttentionSelection* self_attention = nullptr;
    const AttentionSelection* cross_attention = nullptr;
    // Receives the rows of `tokens`, or null. The hypothesis has read the
    // tokens before them with the same trace.
    HeadTrace* trace = nullptr;
  };
  std::vector<Encode> encode;
  std::vector<Decode> decode;

  void Clear() {
    encode.clear();
    decode.clear();
  }
};

// Seconds that a step spent in each phase. Quantizing the input of a product
// counts for the phase that computes that input, with which it is fused.
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
    // True if the tokens' states and the requested logits are all finite. Some
    // weights give infinities or NaN for some inputs; then nothing that follows
    // from them is an answer.
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
  int projected_rows = 0;  // those of decoder_rows whose logits were computed
  int padding_rows = 0;    // rows added to reach a row bucket
  PhaseSeconds seconds;
};

// Computes a loaded model for one worker. Holds the worker's KV cache, the
// encoder states of its active sources and its scratch memory. The weights are
// shared with the model's other engines; the model must outlive its engines.
// Not thread-safe; no call waits for anything.
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
// one pool of `total_blocks`. A block serves a group of layers that look
// equally far back; without windows, that is all layers. AddSource allocates
// SourceBlocks at once (none without cross-attention). Decode work allocates
// blocks when its tokens cross a block border or when it writes to blocks that
// another hypothesis shares. In layers with a window, a hypothesis frees the
// blocks that it has passed. The caller asks BlocksNeeded before a Step and
// makes room by releasing others; a Step without enough free blocks fails with
// RESOURCE_EXHAUSTED and changes nothing.
//
// Cached blocks: full blocks of a hypothesis's announced beginning (Begin) are
// found again by all that their contents depend on. That is their tokens, the
// tokens before them, the source's input, the salt, and this engine with its
// weights and arithmetic. They stay after nobody uses them, until others need
// the room (the least recently used are evicted first), and serve hypotheses
// that begin with the same tokens: the contents are the same bits, found or
// computed. Cached blocks count as free; an engine may bound how many it keeps.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual const EngineLimits& limits() const = 0;
  virtual int free_blocks() const = 0;
  // Returns how many free blocks a Step of the plan would allocate.
  virtual int BlocksNeeded(const StepPlan& plan) = 0;

  // Adds a source. If the model has a vocabulary shortlist, the source's tokens
  // alone decide here which tokens its hypotheses may contain. INVALID_ARGUMENT
  // for an empty or too long input, or an id, type or position out of range;
  // FAILED_PRECONDITION if the options ask for something that the model does
  // not have; RESOURCE_EXHAUSTED without free blocks.
  virtual absl::StatusOr<SourceId> AddSource(const EncoderInput& input,
                                             const SourceOptions& options) = 0;
  virtual void ReleaseSource(SourceId source) = 0;

  // True if the states of a ready source with cross_attention are all finite.
  // If they are not, the outputs of the pooler and the head are NaN.
  virtual bool IsFinite(SourceId source) const = 0;
  // [tokens of options.states, d_model], of a ready source.
  virtual std::span<const float> EncoderStates(SourceId source) const = 0;
  // [hidden_layers, tokens, d_model], of a ready source.
  virtual std::span<const float> HiddenStates(SourceId source) const = 0;
  // [pooled_size], of a ready source with `pooled`.
  virtual std::span<const float> PooledOutput(SourceId source) const = 0;
  // [head_outputs], of a ready source with `logits`; where the head looks at
  // every token, [logits_positions or tokens, head_outputs]. Empty with
  // `logits_best`.
  virtual std::span<const float> HeadLogits(SourceId source) const = 0;
  // The best of each row of HeadLogits, of a ready source with `logits_best`.
  virtual std::span<const BestLogits> BestHeadLogits(SourceId source) const = 0;
  // The sparse embedding of a ready source with `sparse`, ascending by id. One
  // NaN if the states are not finite.
  virtual std::span<const SparseWeight> SparseEmbedding(SourceId) const {
    return {};
  }
  // [layers, heads, tokens, tokens], of a ready source with `attention`.
  virtual std::span<const float> EncoderAttention(SourceId source) const = 0;
  // The head's numbers, of a ready source with `traced_head`; else null.
  virtual const HeadTrace* TracedHead(SourceId) const { return nullptr; }

  // Adds an empty hypothesis that attends to `source` (kNoSource for
  // decoder-only models). Several may share a source.
  virtual HypothesisId AddHypothesis(SourceId source) = 0;
  // Adds a hypothesis that will read `tokens` first. `found` of them count as
  // read already, because their blocks are cached: a multiple of block_tokens,
  // fewer than all. The caller must feed the rest in this order. Blocks are
  // found only with the salt that they were cached with.
  struct Beginning {
    HypothesisId hypothesis;
    int found;  // tokens
  };
  virtual Beginning Begin(SourceId source, std::span<const int32_t> tokens,
                          std::string_view salt) = 0;
  // Caches the full blocks of a hypothesis that has read `tokens`, so that a
  // later Begin with these tokens finds them.
  virtual void CacheBlocks(HypothesisId hypothesis,
                           std::span<const int32_t> tokens,
                           std::string_view salt) = 0;
  // Returns a copy that shares the parent's blocks.
  virtual HypothesisId Fork(HypothesisId parent) = 0;
  // Forgets what a hypothesis has read after its first `length` tokens, as if
  // it had not been read. `length` is at least the number of announced tokens.
  virtual void Truncate(HypothesisId hypothesis, int length) = 0;
  virtual void ReleaseHypothesis(HypothesisId hypothesis) = 0;

  // Runs one iteration. `result` is reused from step to step; its spans point
  // into the engine and hold until the next Step. After an error other than
  // RESOURCE_EXHAUSTED the hypotheses of the plan must be released.
  virtual absl::Status Step(const StepPlan& plan, StepResult* result) = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_ENGINE_H_
