#ifndef TRIVIUM_MODEL_SEARCH_DECODING_H_
#define TRIVIUM_MODEL_SEARCH_DECODING_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/grammar/constraint.h"
#include "model/logits.h"
#include "model/search/beam_trace.h"

namespace trivium {

// The condition that stops a beam search: Transformers' `early_stopping`.
enum class EarlyStopping {
  kHeuristic,  // false: when no running hypothesis can beat the worst
               // finished one at its present length
  kAtOnce,     // true: as soon as beam_size hypotheses have finished
  kNever,      // "never": only when no longer hypothesis could ever beat it
};

// The limits of a search's options.
inline constexpr int kMaxBeamSize = 16;
inline constexpr int kMaxTopLogprobs = 20;
inline constexpr int kMaxEndIds = 63;
inline constexpr int kMaxStopIds = 16;
inline constexpr int kMaxBiasedIds = 1024;
inline constexpr float kMaxLogitBias = 100;
inline constexpr float kMaxCountPenalty = 2;

// The most phrases that a search may require.
inline constexpr int kMaxRequiredPhrases = 12;

class ThoughtBound;

// Says how tokens make up words.
class WordPieces {
 public:
  virtual ~WordPieces() = default;
  // True if the token continues the word of the token before it.
  virtual bool ContinuesWord(int32_t token) const = 0;
  // True if the token continues it with a few letters, as endings do.
  virtual bool IsEnding(int32_t token) const = 0;
};

// A phrase that a text must contain.
struct RequiredPhrase {
  // Token sequences that spell the phrase; none is empty, and any of them
  // counts.
  std::vector<std::vector<int32_t>> forms;
  // Sequences that spell it only at the beginning of a text.
  std::vector<std::vector<int32_t>> first_forms;
  // Source tokens that the phrase translates, ascending. The phrase is
  // preferably written where the decoder attends to them. Empty: anywhere.
  std::vector<int32_t> source;
  // True if the next token must not continue the phrase's last word ...
  bool whole = true;
  bool endings = false;  // ... except with an ending
};

// The settings of a search. Defaults are Transformers'; a model folder's
// generation_config.json and then the request override them.
struct DecodingOptions {
  // Greedy: beam_size 1, sample false. Beam search: beam_size > 1, sample
  // false. Sampling: sample true, beam_size 1, `hypotheses` independent draws.
  int beam_size = 1;  // 1 .. 16
  bool sample = false;
  // Number of results: at most beam_size, or 16 when sampling.
  int hypotheses = 1;
  float length_penalty = 1.0f;
  EarlyStopping early_stopping = EarlyStopping::kHeuristic;

  // Limits on new tokens; the end token counts, the prefix does not.
  int max_new_tokens = 20;
  int min_new_tokens = 0;

  float temperature = 1.0f;  // > 0
  int top_k = 50;            // 0: all
  float top_p = 1.0f;        // (0, 1]
  float min_p = 0.0f;        // [0, 1]; 0: all
  float typical_p = 1.0f;    // (0, 1]
  uint64_t seed = 0;

  float repetition_penalty = 1.0f;  // > 0; 1 = none
  int no_repeat_ngram_size = 0;     // 0: no limit
  // A token loses `frequency_penalty` times its count among the new tokens, and
  // `presence_penalty` once if it occurs among them.
  float frequency_penalty = 0;  // -2 .. 2
  float presence_penalty = 0;   // -2 .. 2
  // The last tokens that these penalties look at; 0: all.
  int penalty_window = 0;
  // Added to logits. Ids ascend without duplicates; each bias is -100 .. 100.
  std::vector<std::pair<int32_t, float>> logit_bias;

  std::vector<int32_t> end_ids;   // any of them ends a text
  std::vector<int32_t> stop_ids;  // so do these
  std::vector<std::vector<int32_t>> banned_sequences;  // bad_words_ids
  // Tokens that are never chosen, not even end tokens: suppress_tokens, and
  // those that no text begins with, after a forced first token:
  // begin_suppress_tokens.
  std::vector<int32_t> suppressed_ids;
  std::vector<int32_t> first_suppressed_ids;
  // The first new token, whatever the prefix. Transformers' forced_bos_token_id
  // applies only after a prefix of one token. So a caller that adds a target
  // prefix must put the model's forced_bos_token_id into the prefix.
  std::optional<int32_t> forced_first_id;
  // The last new token if max_new_tokens cuts the text: forced_eos_token_id.
  std::optional<int32_t> forced_last_id;
  // After end_growth_start new tokens, each further token makes end tokens
  // likelier by this factor (less likely if below 1):
  // exponential_decay_length_penalty.
  int end_growth_start = 0;  // >= 0
  float end_growth = 1.0f;   // > 0; 1 = none
  bool renormalize_logits = false;

  // The encoder's input, used only by these two rules. A text repeats no run of
  // source_ngram_size source tokens (encoder_no_repeat_ngram_size; 0: no
  // limit). The source's tokens become likelier by a factor over 1
  // (encoder_repetition_penalty; > 0, 1: unchanged).
  std::vector<int32_t> source_ids;
  int source_ngram_size = 0;
  float source_bonus = 1.0f;
  bool looks_at_source() const {
    return source_ngram_size != 0 || source_bonus != 1;
  }

  // Phrases that a text must contain, each as often as it is listed, if
  // max_new_tokens and stop strings leave room. They need a beam search, in
  // which at least two hypotheses should run for each phrase. Tokens of phrases
  // are possible even if other rules forbid them.
  std::vector<RequiredPhrase> required;
  std::shared_ptr<const WordPieces>
      word_pieces;  // null: any token may follow a phrase

  // Holds the text to a form; null: to none. Tokens that it forbids are
  // impossible, end tokens too where the text is not complete. Text that it
  // leaves no choice about is written in the tokenizer's tokens
  // (SearchConstraint). Forced tokens without bytes pass by it. It does not go
  // with `required`, and needs end_ids. It has the vocabulary of the model.
  std::shared_ptr<const Constraint> constraint;
  // Bounds the thoughts of a text that has a constraint; null: it does not.
  std::shared_ptr<const ThoughtBound> thoughts;

  // End a text that only repeats itself (repetition.h). Needs beam_size 1.
  bool stop_repetition = false;

  int top_logprobs = 0;  // 0 .. 20 alternatives to report per token
  bool trace = false;    // keep a BeamTrace; beam_size > 1
};

enum class FinishReason {
  kEnd,     // the end token
  kStop,    // a stop string or id
  kLength,  // max_new_tokens
  kRepetition,
};

struct TokenLogprob {
  int32_t token;
  float logprob;
};

// One result. `ids` are the new tokens, with the end token if there is one.
struct Hypothesis {
  std::vector<int32_t> ids;
  // Sum of the log-probabilities of ids, after the rules above changed the
  // logits and before temperature, top-k and top-p. A constraint changes no
  // log-probability: those of forbidden tokens count as well.
  float log_probability = 0;
  // Transformers' sequences_scores: log_probability divided by (number of ids ^
  // length_penalty).
  float score = 0;
  FinishReason reason = FinishReason::kLength;
  std::vector<float> logprobs;  // [ids]
  std::vector<std::vector<TokenLogprob>>
      top_logprobs;  // [ids][<= top_logprobs]
};

// Finds stop conditions that the search's own rules cannot express, such as a
// stop string across token borders.
class StopMatcher {
 public:
  virtual ~StopMatcher() = default;
  // Returns true if `ids`, the new tokens of one hypothesis, match. No shorter
  // beginning of them matched, so a matcher need only look at what the last
  // token may have changed.
  virtual bool Matches(std::span<const int32_t> ids) const = 0;
};

// The search of one request as a pure state machine: no model, no thread, no
// time. Same options and same rows give the same result, bit by bit.
//
//   auto decoding = Decoding::Create(options, prefix, &stop).value();
//   while (!decoding->done()) {
//     engine answers decoding->queries() -> rows
//     decoding->Advance(rows);
//     for each i: the new live hypothesis i continues the old live hypothesis
//       continuations()[i].parent with continuations()[i].token
//   }
//   decoding->TakeResults();
//
// At the start one hypothesis is live: the prefix. Ties between candidates:
// higher score, then lower parent, then lower token id.
class Decoding {
 public:
  struct Continuation {
    int parent;     // index among the hypotheses live before Advance
    int32_t token;  // its next token
  };

  virtual ~Decoding() = default;

  // `prefix`: the tokens that the decoder reads before the first new token
  // (start token, then the target prefix); rules that look back see it. `stop`
  // may be null and must outlive the decoding. INVALID_ARGUMENT names the
  // option, its value and its range.
  static absl::StatusOr<std::unique_ptr<Decoding>> Create(
      const DecodingOptions& options, std::vector<int32_t> prefix,
      const StopMatcher* stop);

  // One query for each live hypothesis; empty when done.
  virtual std::span<const LogitsQuery> queries() const = 0;
  // Returns, for i = 1 .. draft.size(), what queries() would be once the search
  // had chosen draft[0 .. i - 1]. Empty unless exactly one hypothesis is live
  // and no other can become live (greedy search, one draw). The result is valid
  // until the next Advance or DraftQueries.
  virtual std::span<const LogitsQuery> DraftQueries(
      std::span<const int32_t> draft) {
    return {};
  }
  // Returns the tokens that the search must choose next whatever the logits
  // are, unless it ends or is given up before. They need not be all that it
  // must choose. Empty wherever DraftQueries is. Valid until the next Advance.
  virtual std::span<const int32_t> ForcedTokens() const { return {}; }
  // True if SetAttention must be called before every Advance.
  virtual bool attends() const { return false; }
  // maps[i], [maps, keys]: how much the positions of queries()[i] attend to
  // each of the source's `keys` tokens, in any number of maps.
  virtual void SetAttention(std::span<const std::span<const float>> maps,
                            int keys) {}
  // rows[i] answers queries()[i].
  virtual void Advance(std::span<const LogitsRow> rows) = 0;
  // The hypotheses live after the last Advance, ordered; empty when done.
  virtual std::span<const Continuation> continuations() const = 0;
  // The prefix and the new tokens of live hypothesis `index`; the last token is
  // its continuation's. All live hypotheses have equally many.
  virtual std::span<const int32_t> LiveTokens(size_t index) const = 0;
  virtual bool done() const = 0;
  // Not OK if the search was given up: INVALID_ARGUMENT if constraint and rules
  // together left no token, or a text cost more memory than a constraint may
  // use. Then it is done, and has no results.
  virtual absl::Status status() const { return absl::OkStatus(); }

  // New tokens of result `index` that no later step can change. In greedy
  // search and sampling that is all of them; in a beam search, the common
  // beginning of all hypotheses that may still become its best. They only grow.
  virtual std::span<const int32_t> CertainTokens(int index) const = 0;
  // Their log-probabilities: [CertainTokens(index)].
  virtual std::span<const float> CertainLogprobs(int index) const = 0;
  // Copies their alternatives from token `begin` on. Empty without
  // top_logprobs.
  virtual std::vector<std::vector<TokenLogprob>> CertainTopLogprobs(
      int index, size_t begin) const = 0;
  // True if result `index` has ended, although others may still run.
  virtual bool Ended(int index) const = 0;

  // Returns the results, best first (by index when sampling). Call it once,
  // when done. There are fewer than requested only if the rules leave too few
  // possible sequences.
  virtual std::vector<Hypothesis> TakeResults() = 0;
  // Returns the trace if DecodingOptions::trace is set. Call it once, after
  // TakeResults.
  virtual std::optional<BeamTrace> TakeTrace() { return std::nullopt; }
};

// Returns the number of new tokens for which a search reserves memory at its
// start, so that it allocates none at every token: all, up to 512.
inline size_t ReservedTokens(const DecodingOptions& options) {
  return static_cast<size_t>(std::min(options.max_new_tokens, 512));
}

// Checks ranges, and ids against the vocabulary's size if it is greater than 0.
// INVALID_ARGUMENT starts with the option's name in the API and a colon:
// "beam_size: 17 is out of range, give 1 to 16".
absl::Status ValidateDecodingOptions(const DecodingOptions& options,
                                     int vocabulary = 0);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_DECODING_H_
