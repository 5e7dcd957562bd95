#ifndef TRIVIUM_SERVER_BATCHING_REQUEST_H_
#define TRIVIUM_SERVER_BATCHING_REQUEST_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/engine.h"
#include "model/search/beam_trace.h"
#include "model/search/decoding.h"
#include "server/batching/request_phases.h"
#include "server/batching/served_model.h"

namespace trivium {

// Set when the answer is no longer wanted; read before every iteration.
class Cancellation {
 public:
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};
};

// Attention weights, [layers, heads, queries, keys].
// - Encoder: queries and keys are the source's tokens.
// - Finished hypothesis, from one teacher-forced pass over the final tokens:
//   query i is the decoder position that generated ids[i]; for maps that
//   include the prefix (Request::prefix_attention), position i. Keys are the
//   source's tokens (cross-attention), or the tokens that the decoder read,
//   prefix first (decoder attention; 0 for keys after the query).
struct AttentionMap {
  int layers = 0, heads = 0, queries = 0, keys = 0;
  std::vector<float> weights;
};

// The answer to a request. Members that were not asked for are empty.
struct RequestResult {
  std::vector<float> states;            // [tokens, d_model]
  std::vector<float> hidden;            // [hidden_layers, tokens, d_model]
  std::vector<float> pooled;            // [pooled_size]
  std::vector<float> logits;            // of the head
  std::vector<BestLogits> best_logits;  // instead, with logits_best
  std::vector<SparseWeight> sparse;     // ascending by id
  AttentionMap encoder_attention;
  std::vector<Hypothesis> hypotheses;           // best first
  std::vector<AttentionMap> cross_attention;    // [hypotheses]
  std::vector<AttentionMap> decoder_attention;  // [hypotheses]
  std::optional<BeamTrace> trace;
  std::optional<HeadTrace> head_trace;
  // With `scoring`: the scored tokens. The score is their log-probability.
  std::optional<Hypothesis> scored;
  int source_tokens = 0;  // of the source, or of the prompt if there is none
  int cached_tokens = 0;  // prefix tokens whose cached KV blocks were used
  absl::Duration queue_time;      // from Submit to the first iteration
  absl::Duration inference_time;  // from the first iteration to the last
  bool shared_source = false;     // another request had the source encoded
};

// Receives a request's progress. Called on a worker's thread, or inside Submit
// if the result was cached; never by two threads at once for one request.
// Implementations must not block, throw or call the batcher. Nothing is called
// after OnDone.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  // Called with new certain tokens of result `index` (Decoding::CertainTokens),
  // in order, only if Request::stream. All tokens of a result come before
  // OnDone. Results of a beam search other than 0 come whole at the end.
  // `top_logprobs` has the alternatives of each if the search reports them,
  // else it is empty.
  using TopLogprobs = std::vector<TokenLogprob>;  // of one token
  virtual void OnTokens(int index, std::span<const int32_t> ids,
                        std::span<const float> logprobs,
                        std::span<const TopLogprobs> top_logprobs) {}
  // Called exactly once for every accepted request. Errors: DEADLINE_EXCEEDED,
  // CANCELLED, UNAVAILABLE (the server shuts down), INTERNAL (the engine
  // failed), INVALID_ARGUMENT (the engine refused a source id or type).
  virtual void OnDone(absl::StatusOr<RequestResult> result) = 0;
};

// The client that sent a call. The queue is fair between clients first, then
// between the calls of each (FairQueue).
using ClientId = uint64_t;

// kInteractive: somebody waits for the answer. kBackground: the work has time;
// the queue and the workers prefer interactive requests (RequestQueue,
// BackgroundShare).
enum class Priority { kInteractive, kBackground };
inline constexpr int kPriorities = 2;
// The name in requests, flags and metrics.
inline std::string_view PriorityName(Priority priority) {
  return priority == Priority::kBackground ? "batch" : "interactive";
}

// The properties of a call that the queue distinguishes.
struct Sender {
  ClientId client = 0;
  Priority priority = Priority::kInteractive;
};

// Asks for the log-probabilities of given tokens. The model reads all of
// Request::prefix but its last token, and returns for each token from `first`
// on its log-probability after the tokens before it.
struct Scoring {
  int first = 1;         // 1 .. tokens of the prefix - 1
  int top_logprobs = 0;  // alternatives to report for each
};

// The work of one sequence: encode a source, then score given tokens if
// `scoring`, then search if `decoding`.
struct Request {
  ModelHandle model;    // was passed to Batcher::AddModel
  EncoderInput source;  // empty ids for decoder-only models
  // Neither this nor `scoring`: encode only.
  std::optional<DecodingOptions> decoding;
  // With `decoding`, the prefix is scored before the search.
  std::optional<Scoring> scoring;
  // The client did not choose max_new_tokens, so FitNewTokens may lower it to
  // what fits the KV cache.
  bool default_max_new_tokens = false;
  // The tokens that the decoder reads first: start token, then the target
  // prefix.
  std::vector<int32_t> prefix;
  // Computed data (cached blocks, sources, results) is shared only between
  // requests of the same salt.
  std::string salt;
  std::shared_ptr<const StopMatcher> stop;  // may be null
  bool stream = false;                      // call OnTokens

  States states = States::kNone;
  std::vector<int> hidden_layers;  // as SourceOptions'
  bool pooled = false;
  bool logits = false;
  std::vector<int> logits_positions;  // as SourceOptions'
  int logits_best = 0;                // as SourceOptions'
  bool sparse = false;                // the sparse embedding
  std::optional<AttentionSelection> encoder_attention;
  std::optional<AttentionSelection> cross_attention;
  // Reduce cross_attention's maps to their mean: one layer with one head.
  bool mean_cross_attention = false;
  std::optional<AttentionSelection> decoder_attention;
  // decoder_attention's maps have all tokens that the decoder read as queries,
  // including the prefix.
  bool prefix_attention = false;
  // Reduce decoder_attention's maps to their mean, as above.
  bool mean_decoder_attention = false;
  // The head whose numbers are wanted: of the decoder, for its best hypothesis,
  // if the request decodes, else of the encoder. Model::CheckTracedHead has
  // accepted it; at most kMostTracedTokens are read.
  std::optional<HeadChoice> traced_head;

  // True if the request uses the decoder.
  bool decodes() const { return decoding.has_value() || scoring.has_value(); }
  int source_tokens() const {
    return static_cast<int>((source.ids.empty() ? prefix : source.ids).size());
  }

  ClientId client = 0;
  Priority priority = Priority::kInteractive;
  absl::Time deadline = absl::InfiniteFuture();
  std::shared_ptr<const Cancellation> cancellation;  // may be null
  std::shared_ptr<RequestObserver> observer;
  std::shared_ptr<PhaseListener> phases;  // may be null
};

// Identifies a call: its requests have one client and priority. A
// TranslateStream has one CallId for all its items.
using CallId = uint64_t;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REQUEST_H_
