#ifndef TRIVIUM_SERVER_BATCHING_SEQUENCE_H_
#define TRIVIUM_SERVER_BATCHING_SEQUENCE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/batching/attention_pass.h"
#include "server/batching/draft_budget.h"
#include "server/batching/live_hypotheses.h"
#include "server/batching/planned_decodes.h"
#include "server/batching/prompt_lookup.h"
#include "server/batching/queued_request.h"
#include "server/batching/request_phases.h"
#include "server/batching/rereading.h"
#include "server/batching/score_pass.h"
#include "server/batching/source_table.h"

namespace trivium {

// One running request on its worker, from its first iteration to its answer:
// waits for its source, reads the prefix, searches, and reads the winners once
// more where their attention is asked for; or reads what it has to score. Not
// thread-safe.
//
// Each iteration:
//   Plan(&spare_rows, &plan); the engine steps; Apply(result)
// and End() releases all that it holds in the engine.
//
// Between Plan and the step it may be suspended instead: then it holds nothing
// in the engine, and its search stands where it stood. Resumed, it has its
// source encoded again and reads again what its hypotheses had read, which
// gives the same bits; then it goes on as if nothing had happened.
class Sequence {
 public:
  // `source_slot`: its source among `sources`, or -1; it is one of the readers.
  // `speculate`: it may Draft. `engine` and `sources` outlive the sequence.
  Sequence(std::unique_ptr<QueuedRequest> queued, Engine* engine,
           SourceTable* sources, int source_slot, bool shared_source,
           bool speculate, absl::Time started);

  // Makes the engine know the source. Before the first Plan, also after Resume.
  absl::Status Open();

  // Whether it takes no decoder rows of this iteration, and waits for a later
  // one. Before what follows.
  void set_paused(bool paused) { paused_ = paused; }
  bool paused() const { return paused_; }
  // Decoder rows that it takes at least of this iteration.
  int MinRows() const;
  // Lets it guess at most `most` further tokens to read along with the next
  // one, none of which is less probable than `price`. Before Plan. Returns how
  // many.
  int Draft(double price, int most);
  // Takes the guesses out of the plan under way.
  void DropDraft(StepPlan* plan);
  // Adds this iteration's decoder work: MinRows() rows, the guesses, and
  // further ones of what it has to read out of `spare_rows`.
  void Plan(int* spare_rows, StepPlan* plan);
  // Whether the plan under way has work of this sequence.
  bool planned() const;
  // Decoder rows of this sequence in the plan under way.
  int PlannedRows(const StepPlan& plan) const;
  // Gives up everything that it holds in the engine and takes its work out of
  // the plan under way, where no other sequence's decode entries may follow
  // its own.
  void Suspend(StepPlan* plan);
  // `source_slot`: as in the constructor.
  void Resume(int source_slot);
  Priority priority() const { return request_.priority; }
  bool suspended() const { return phase_ == Phase::kSuspended; }
  // Whether what a step computed for its decoding is finite numbers.
  bool IsFinite(const StepResult& result) const;
  // Follows a step that did the plan. Streams tokens. Returns how many tokens
  // the search has chosen.
  int Apply(const StepResult& result);

  bool searching() const { return phase_ == Phase::kSearch; }
  bool in_source_phase() const { return phase_ == Phase::kSource; }
  bool done() const { return phase_ == Phase::kDone; }
  // NotFiniteStatus where something of it is no finite number.
  absl::StatusOr<RequestResult> TakeResult(absl::Time now);
  // Releases hypotheses and source; once, before destruction.
  void End();
  bool ended() const { return ended_; }

  // Hypotheses that it may come to have at once.
  int64_t reserved_rows() const { return reserved_rows_; }
  // Whether it may hold KV blocks.
  bool may_hold_blocks() const { return !suspended() && request_.decodes(); }
  // KV blocks that it takes at most, besides its source's, before its search
  // goes on: of its prefix, or of what it has to read again.
  int64_t owed_blocks() const;
  // KV blocks that come free where it is suspended, at least.
  int64_t held_blocks() const;
  // The last step's guesses, and those of them that the search chose as well.
  int drafted() const { return draft_.size(); }
  int accepted() const { return draft_.accepted; }
  // How many tokens of its beginnings the engine had kept, since last asked.
  int TakeFoundTokens() { return std::exchange(found_tokens_, 0); }
  // Its part of RequestCost::tokens that is still to do, at most.
  int64_t pending_tokens() const;

  const QueuedRequest& queued() const { return *queued_; }
  absl::Time started() const { return started_; }
  bool shared_source() const { return shared_source_; }
  // Tells the request's PhaseListener what it is doing now; not before Open.
  void TellPhase(absl::Time now) {
    if (phase_times_.heard() && !suspended()) {
      phase_times_.Enter(RequestPhaseNow(), now);
    }
  }
  // It is answered.
  void TellEnd(absl::Time now) { phase_times_.End(now); }
  bool tells_phases() const { return phase_times_.heard(); }
  // When the search advanced last; unset before the first time.
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

  // The source is there: what comes next.
  void Start();
  SourceId source() const {
    return source_slot_ < 0 ? kNoSource : sources_->id(source_slot_);
  }
  // Whether it will be encoded when the plan under way is done.
  bool source_ready() const {
    return source_slot_ < 0 || sources_->ReadyAfterPlan(source_slot_);
  }
  RequestPhase RequestPhaseNow() const;
  // What each live hypothesis has read.
  Rereading::Histories ReadByLive() const;
  void PlanPrefix(int* spare_rows, StepPlan* plan);
  // The maps that its search asks of every step, or null.
  const AttentionSelection* SearchMaps() const;
  // Tells the search of them.
  void Attend(const StepResult& result);
  void Search(const StepResult& result);
  // The same of a step with guesses, as far as they are what it chooses.
  void SearchDrafted(const StepResult& result);
  void FollowSearch();
  void StartLookup();
  // Whether it continues a prompt with one hypothesis. (Of a translation it is
  // the source that could tell what comes, in other tokens.)
  bool answers_alone() const {
    return request_.decoding && request_.source.ids.empty() &&
           request_.decoding->beam_size == 1 &&
           request_.decoding->hypotheses == 1;
  }
  // What a hypothesis of its search has read: all but the last new token.
  int read_tokens() const {
    return static_cast<int>(request_.prefix.size()) + steps_ - 1;
  }
  // Keeps the blocks of a lone answer, which a conversation's next prompt has.
  void CacheAnswer();
  void Stream();
  void FinishSearch();
  void StartAttention();
  void ReleaseHypotheses();
  void ApplyAttention(const StepResult& result);
  void ApplyScore(const StepResult& result);
  AttentionMap EncoderMap() const;
  bool maps_hypotheses() const {
    return request_.cross_attention || request_.decoder_attention;
  }

  const std::unique_ptr<QueuedRequest> queued_;
  const Request& request_;
  Engine* const engine_;
  SourceTable* const sources_;
  int source_slot_;  // -1: without a source, or suspended
  const bool shared_source_;
  const absl::Time started_;
  PhaseTimes phase_times_;

  Phase phase_ = Phase::kSource;
  bool ended_ = false;
  int64_t reserved_rows_;
  std::unique_ptr<Decoding> decoding_;
  LiveHypotheses live_;
  Rereading rereading_;
  int prefix_fed_ = 0;
  int prefix_planned_ = 0;
  int found_tokens_ = 0;
  std::optional<int> cached_tokens_;    // of the prefix, found at first
  int steps_ = 0;                       // tokens that the search has chosen
  std::vector<size_t> streamed_;        // [hypotheses] tokens told of
  std::vector<Hypothesis> hypotheses_;  // once the search is done
  std::optional<BeamTrace> trace_;      // likewise, if asked for
  std::vector<AttentionPass> passes_;   // [hypotheses_] in kAttention
  std::optional<ScorePass> score_;      // in kScore
  std::optional<Hypothesis> scored_;    // once it is done

  // Where it may guess.
  std::optional<PromptLookup> lookup_;
  struct {
    std::vector<int32_t> tokens;       // the next one, then the guesses
    std::vector<LogitsQuery> queries;  // [tokens]
    int accepted = 0;
    // Guesses of the plan under way.
    int size() const {
      return std::max(1, static_cast<int>(tokens.size())) - 1;
    }
    void Clear() { tokens.clear(); }
  } draft_;

  bool paused_ = false;
  PlannedDecodes decodes_;         // in the plan under way
  std::vector<LogitsRow> logits_;  // scratch
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SEQUENCE_H_
