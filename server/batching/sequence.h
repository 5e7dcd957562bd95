#ifndef TRIVIUM_SERVER_BATCHING_SEQUENCE_H_
#define TRIVIUM_SERVER_BATCHING_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/batching/attention_pass.h"
#include "server/batching/live_hypotheses.h"
#include "server/batching/planned_decodes.h"
#include "server/batching/queued_request.h"
#include "server/batching/request_phases.h"
#include "server/batching/rereading.h"
#include "server/batching/score_pass.h"
#include "server/batching/source_table.h"
#include "server/batching/speculation.h"

namespace trivium {

// One running request on its worker, from its first iteration to its answer. It
// waits for its source, reads the prefix, and searches; if attention is asked
// for, it reads the winners once more. Or it scores given tokens. Not
// thread-safe.
//
// Each iteration:
//   sequence.Plan(&spare_rows, &plan); the engine steps; sequence.Apply(result)
// and End() releases everything that it holds in the engine.
//
// Between Plan and the step it may be suspended instead. Then it holds nothing
// in the engine, but keeps its search. When it is resumed, its source is
// encoded again and the tokens of its hypotheses are read again, which gives
// the same bits; then it continues as if it had not been suspended.
class Sequence {
 public:
  // `source_slot`: its source in `sources`, of which it is a reader; -1: none.
  // `speculate`: it may guess tokens. `engine` and `sources` outlive the
  // sequence. Takes `queued` unless it throws for lack of memory.
  Sequence(std::unique_ptr<QueuedRequest>&& queued, Engine* engine,
           SourceTable* sources, int source_slot, bool shared_source,
           bool speculate, absl::Time started);

  // Gives the source to the engine and makes the search. Call before the first
  // Plan, and after Resume.
  absl::Status Open();

  // A paused sequence uses no decoder rows in this iteration and waits for a
  // later one. Set this before the functions below.
  void set_paused(bool paused) { paused_ = paused; }
  bool paused() const { return paused_; }
  // Guesses further tokens to read along with the next one: at most
  // `most_forced` that a constraint leaves no choice about; or at most `most`,
  // none less probable than `price`. Call before Plan. Returns how many.
  int Draft(double price, int most, int most_forced);
  // Takes the guesses out of the plan under way.
  void DropDraft(StepPlan* plan);
  // Adds this iteration's decoder work: MinRows() rows, the guesses, and
  // further tokens of a prefix or another given text out of `spare_rows`.
  void Plan(int* spare_rows, StepPlan* plan);
  // True if the plan under way has work of this sequence.
  bool planned() const;
  // Releases everything that it holds in the engine, and removes its work from
  // the plan under way. No other sequence's decode entries may follow its own.
  void Suspend(StepPlan* plan);
  // `source_slot`: as in the constructor.
  void Resume(int source_slot);
  // True if the numbers that a step computed for its decoding are finite.
  bool IsFinite(const StepResult& result) const;
  // Consumes the results of a step that did the plan. Streams tokens. Returns
  // how many tokens the search has chosen.
  int Apply(const StepResult& result);

  Priority priority() const { return request_.priority; }
  bool suspended() const { return phase_ == Phase::kSuspended; }
  bool searching() const { return phase_ == Phase::kSearch; }
  // True until it starts to decode, also if it has no source, and again after
  // Resume. If it only encodes, true until it is done.
  bool in_source_phase() const { return phase_ == Phase::kSource; }
  bool done() const { return phase_ == Phase::kDone; }
  // Call once, when done. NotFiniteStatus: a number of the result is not
  // finite. Decoding::status() if the search was given up.
  absl::StatusOr<RequestResult> TakeResult(absl::Time now);
  // Releases hypotheses and source; call once, before destruction.
  void End();
  bool ended() const { return ended_; }

  // Least number of decoder rows in this iteration.
  int MinRows() const;
  // Decoder rows of this sequence in the plan under way.
  int PlannedRows(const StepPlan& plan) const;
  // Bound on the hypotheses that it has at once from now on.
  int64_t reserved_rows() const { return reserved_rows_; }
  // False if it certainly holds no KV blocks.
  bool may_hold_blocks() const { return !suspended() && request_.decodes(); }
  // Bound on the KV blocks, besides its source's, that it still needs before
  // its search continues: for its prefix, or for the tokens that it reads
  // again.
  int64_t owed_blocks() const;
  // KV blocks that suspending it frees, at least.
  int64_t held_blocks() const;
  // Bound on the part of RequestCost::tokens that is left.
  int64_t pending_tokens() const;

  // The guesses in the last step, and how many of them the search chose.
  int drafted() const { return speculation_ ? speculation_->size() : 0; }
  int accepted() const { return speculation_ ? speculation_->accepted() : 0; }
  // True if the last guesses were tokens that a constraint forces.
  bool forced() const { return speculation_ && speculation_->forced(); }
  // Returns how many tokens the engine had cached, since the last call.
  int TakeFoundTokens() { return std::exchange(found_tokens_, 0); }

  const QueuedRequest& queued() const { return *queued_; }
  absl::Time started() const { return started_; }
  bool shared_source() const { return shared_source_; }
  // Reports the present phase to the request's PhaseListener; not before Open.
  void ReportPhase(absl::Time now) {
    if (phase_times_.heard() && !suspended()) {
      phase_times_.Enter(RequestPhaseNow(), now);
    }
  }
  // Reports the end; call when the request is answered.
  void ReportEnd(absl::Time now) { phase_times_.End(now); }
  bool reports_phases() const { return phase_times_.heard(); }
  // True once its request has been answered.
  bool told = false;
  // The time at which the search last advanced; unset before the first time.
  std::optional<absl::Time> last_token;

 private:
  enum class Phase {
    kSuspended,
    kSource,
    kPrefix,
    kRereading,
    kSearch,
    kAttention,
    kScore,
    kDone
  };

  // Leaves kSource, since the source is ready.
  void BeginDecoding();
  SourceId source() const {
    return source_slot_ < 0 ? kNoSource : sources_->id(source_slot_);
  }
  // True if the source will be encoded when the plan under way is done.
  bool source_ready() const {
    return source_slot_ < 0 || sources_->ReadyAfterPlan(source_slot_);
  }
  RequestPhase RequestPhaseNow() const;
  // The tokens that each live hypothesis has read.
  Rereading::Histories ReadByLive() const;
  void PlanPrefix(int* spare_rows, StepPlan* plan);
  // The attention maps that the search needs of every step, or null.
  const AttentionSelection* SearchMaps() const;
  // Passes the step's maps to the search.
  void PassSearchMaps(const StepResult& result);
  // Advances the search by a step.
  void Search(const StepResult& result);
  // The same for a step with guesses.
  void SearchDrafted(const StepResult& result);
  // After the search advanced: streams tokens, then ends the search or moves
  // the hypotheses on.
  void ContinueSearch();
  // True if it continues a prompt with one hypothesis. Then its tokens can be
  // guessed from the prompt, and are worth caching for a conversation's next
  // prompt.
  bool answers_alone() const {
    return request_.decoding && request_.source.ids.empty() &&
           request_.decoding->beam_size == 1 &&
           request_.decoding->hypotheses == 1;
  }
  // Tokens that each hypothesis of the search has read: all but the last new
  // one.
  int read_tokens() const {
    return static_cast<int>(request_.prefix.size()) + steps_ - 1;
  }
  // Caches the blocks of a lone answer, with which a conversation's next prompt
  // begins.
  void CacheAnswer();
  void Stream();
  void FinishSearch();
  void StartAttention();
  void ReleaseHypotheses();
  void ApplyAttention(const StepResult& result);
  void ApplyScore(const StepResult& result);
  AttentionMap EncoderMap() const;
  bool maps_hypotheses() const {
    return request_.cross_attention || request_.decoder_attention ||
           (request_.traced_head && request_.decodes());
  }

  std::unique_ptr<QueuedRequest> queued_;
  const Request& request_;
  Engine* const engine_;
  SourceTable* const sources_;
  int source_slot_;  // -1: without a source, or suspended
  const bool shared_source_;
  const absl::Time started_;
  PhaseTimes phase_times_;

  Phase phase_ = Phase::kSource;
  bool ended_ = false;
  bool paused_ = false;
  int64_t reserved_rows_;
  std::unique_ptr<Decoding> decoding_;
  LiveHypotheses live_;
  Rereading rereading_;
  int prefix_fed_ = 0;
  int prefix_planned_ = 0;
  int found_tokens_ = 0;
  std::optional<int> cached_tokens_;    // of the prefix, found at first
  int steps_ = 0;                       // tokens that the search has chosen
  std::vector<size_t> streamed_;        // [hypotheses] tokens already streamed
  std::vector<Hypothesis> hypotheses_;  // after the search
  std::optional<BeamTrace> trace_;      // after the search, if asked for
  std::vector<AttentionPass> passes_;   // [hypotheses_] in kAttention
  std::optional<ScorePass> score_;      // in kScore
  std::optional<Hypothesis> scored_;    // after kScore
  std::optional<Speculation> speculation_;  // if it may guess

  PlannedDecodes decodes_;         // in the plan under way
  std::vector<LogitsRow> logits_;  // scratch
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SEQUENCE_H_
