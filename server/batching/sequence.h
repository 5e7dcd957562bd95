#ifndef TRIVIUM_SERVER_BATCHING_SEQUENCE_H_
#define TRIVIUM_SERVER_BATCHING_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/batching/attention_pass.h"
#include "server/batching/live_hypotheses.h"
#include "server/batching/queued_request.h"
#include "server/batching/source_table.h"

namespace trivium {

// One running request on its worker, from its first iteration to its answer:
// waits for its source, reads the prefix, searches, and reads the winners once
// more where their attention is asked for. Not thread-safe.
//
// Each iteration:
//   Plan(&spare_rows, &plan); the engine steps; Apply(result)
// and End() releases all that it holds in the engine.
class Sequence {
 public:
  // `slot`: its source among `sources`, or -1; it is one of the readers.
  // `engine` and `sources` outlive the sequence.
  Sequence(std::unique_ptr<QueuedRequest> queued, Engine* engine,
           SourceTable* sources, int slot, bool shared_source,
           absl::Time started);

  // Makes the engine know the source. Once, before the first Plan.
  absl::Status Open();

  // Decoder rows that it takes at least of this iteration.
  int MinRows() const;
  // Adds this iteration's decoder work: MinRows() rows, and further ones of
  // what it has to read out of `spare_rows`.
  void Plan(int* spare_rows, StepPlan* plan);
  // Whether the plan under way has work of this sequence.
  bool planned() const;
  // Follows a step that did the plan. Streams tokens. True if the search has
  // advanced.
  bool Apply(const StepResult& result);

  bool waits_for_source() const { return phase_ == Phase::kSource; }
  bool done() const { return phase_ == Phase::kDone; }
  absl::StatusOr<RequestResult> TakeResult(absl::Time now);
  // Releases hypotheses and source; once, before destruction.
  void End();
  bool ended() const { return ended_; }

  // What stays reserved for it: at most `rows` hypotheses, of which each may
  // take the worst case of blocks.
  int64_t reserved_rows() const { return reserved_rows_; }
  int64_t reserved_blocks() const {
    return reserved_rows_ * queued_->cost.hypothesis_blocks;
  }
  // Its part of RequestCost::tokens that is still to do, at most.
  int64_t pending_tokens() const;

  const QueuedRequest& queued() const { return *queued_; }
  absl::Time started() const { return started_; }
  bool shared_source() const { return shared_source_; }
  // When the search advanced last; unset before the first time.
  std::optional<absl::Time> last_token;

 private:
  enum class Phase { kSource, kPrefix, kSearch, kAttention, kDone };

  void PlanPrefix(int* spare_rows, StepPlan* plan);
  void Search(const StepResult& result);
  void Stream();
  void FinishSearch();
  void ApplyAttention(const StepResult& result);
  AttentionMap EncoderMap() const;
  bool maps_hypotheses() const {
    return request_.cross_attention || request_.decoder_attention;
  }

  const std::unique_ptr<QueuedRequest> queued_;
  const Request& request_;
  Engine* const engine_;
  SourceTable* const sources_;
  const int slot_;
  const bool shared_source_;
  const absl::Time started_;

  Phase phase_ = Phase::kSource;
  bool ended_ = false;
  int64_t reserved_rows_;
  std::unique_ptr<Decoding> decoding_;
  LiveHypotheses live_;
  int prefix_fed_ = 0;
  int prefix_planned_ = 0;
  int steps_ = 0;                       // tokens that the search has chosen
  std::vector<size_t> streamed_;        // [hypotheses] tokens told of
  std::vector<Hypothesis> hypotheses_;  // once the search is done
  std::optional<BeamTrace> trace_;      // likewise, if asked for
  std::vector<AttentionPass> passes_;   // [hypotheses_] in kAttention

  // The rows of the plan under way.
  size_t first_row_ = 0;
  size_t rows_ = 0;
  std::vector<LogitsRow> logits_;  // scratch
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SEQUENCE_H_
