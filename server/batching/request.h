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

// Set by whoever no longer wants the answer; read before every iteration.
class Cancellation {
 public:
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};
};

// [layers, heads, queries, keys]. Of an encoder: queries and keys are the
// source's tokens. Of a finished hypothesis, from one teacher-forced pass over
// the final tokens: query i is the decoder position that gave ids[i], or of
// maps of the prefix, too, position i; keys are the source's tokens (cross), or
// what the decoder read, prefix first (decoder; 0 for what comes after the
// query).
struct AttentionMap {
  int layers = 0, heads = 0, queries = 0, keys = 0;
  std::vector<float> weights;
};

// What a request got.
struct RequestResult {
  std::vector<float> states;            // [tokens, d_model] if asked for
  std::vector<float> hidden;            // [hidden_layers, tokens, d_model]
  std::vector<float> pooled;            // [pooled_size] if asked for
  std::vector<float> logits;            // of the head if asked for
  std::vector<BestLogits> best_logits;  // instead, with logits_best
  AttentionMap encoder_attention;       // if asked for
  std::vector<Hypothesis> hypotheses;   // best first; if decoding
  std::vector<AttentionMap> cross_attention;    // [hypotheses] if asked for
  std::vector<AttentionMap> decoder_attention;  // [hypotheses] if asked for
  std::optional<BeamTrace> trace;               // if asked for
  // With `scoring`: the scored tokens. Its score is the log-probability.
  std::optional<Hypothesis> scored;
  int source_tokens = 0;      // of the source, or else of the prompt
  int cached_tokens = 0;      // of the prefix: not read, their blocks were kept
  absl::Duration queue_time;  // submitted to first iteration
  absl::Duration inference_time;  // first iteration to last
  bool shared_source = false;     // another request had it encoded
};

// How a request hears of its progress. Called on a worker's thread, or inside
// Submit where the result is known already, never two at once for one request:
// must not block, throw or call the batcher. Nothing is called after OnDone.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  // New tokens of result `index` that are certain (Decoding::CertainTokens), in
  // order; all of a result's tokens come before OnDone. A beam search's results
  // other than 0 come in one piece at the end. Only if Request::stream.
  virtual void OnTokens(int index, std::span<const int32_t> ids,
                        std::span<const float> logprobs) {}
  // Exactly once for every accepted request. Errors: DEADLINE_EXCEEDED,
  // CANCELLED, UNAVAILABLE (shut down), INTERNAL (the engine failed),
  // INVALID_ARGUMENT (a source id or type that the engine refuses).
  virtual void OnDone(absl::StatusOr<RequestResult> result) = 0;
};

// Who sent a call: fairness is between clients first, then between the calls
// of each (FairQueue).
using ClientId = uint64_t;

// Whether somebody waits for the answer, or it is work that has time: the queue
// and the workers prefer the first (RequestQueue, BackgroundShare).
enum class Priority { kInteractive, kBackground };
inline constexpr int kPriorities = 2;
inline std::string_view PriorityName(Priority priority) {
  return priority == Priority::kBackground ? "batch" : "interactive";
}

// What the queue tells apart among calls.
struct Sender {
  ClientId client = 0;
  Priority priority = Priority::kInteractive;
};

// Log-probabilities of tokens that nobody searches for: the model reads all of
// Request::prefix but the last token, and tells of those from `first` on how
// probable each was after what stands before it.
struct Scoring {
  int first = 1;         // 1 .. tokens of the prefix - 1
  int top_logprobs = 0;  // alternatives to report for each
};

// One sequence's work: encode a source, then read what is given if `scoring`,
// then decode from it if `decoding`.
struct Request {
  ModelHandle model;    // one that Batcher::AddModel was given
  EncoderInput source;  // empty ids for decoder-only models
  // Unset: encode only.
  std::optional<DecodingOptions> decoding;
  // With `decoding`: of the prefix, before the search.
  std::optional<Scoring> scoring;
  // Nobody chose max_new_tokens: fewer will do where no more fit the KV cache.
  bool default_max_new_tokens = false;
  // What the decoder reads first: start token, then the target prefix.
  std::vector<int32_t> prefix;
  // What was computed (blocks of read prefixes, sources, results) is shared
  // with requests of the same salt only.
  std::string salt;
  std::shared_ptr<const StopMatcher> stop;  // may be null
  bool stream = false;                      // call OnTokens

  States states = States::kNone;
  std::vector<int> hidden_layers;  // as SourceOptions'
  bool pooled = false;
  bool logits = false;
  std::vector<int> logits_positions;  // as SourceOptions'
  int logits_best = 0;                // as SourceOptions'
  std::optional<AttentionSelection> encoder_attention;
  std::optional<AttentionSelection> cross_attention;
  // Of cross_attention's maps only their mean: one layer with one head.
  bool mean_cross_attention = false;
  std::optional<AttentionSelection> decoder_attention;
  // The queries of decoder_attention's maps are all that the decoder read, the
  // prefix's tokens, too.
  bool prefix_attention = false;

  // Whether the decoder is at work.
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

// The requests of one call, all of one client and priority. A TranslateStream
// uses one CallId for all its items.
using CallId = uint64_t;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REQUEST_H_
