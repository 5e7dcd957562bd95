#ifndef TRIVIUM_MODEL_SEARCH_INDEPENDENT_DECODING_H_
#define TRIVIUM_MODEL_SEARCH_INDEPENDENT_DECODING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/search/decoding.h"
#include "model/search/logits_rules.h"
#include "model/search/repetition.h"
#include "model/search/row_scores.h"
#include "model/search/search_constraint.h"

namespace trivium {

// Greedy search and sampling: one or more sequences that do not affect each
// other. Results are indexed by draw.
class IndependentDecoding : public Decoding {
 public:
  // `options` are valid; `stop` may be null and must outlive the search.
  IndependentDecoding(const DecodingOptions& options,
                      std::vector<int32_t> prefix, const StopMatcher* stop);

  std::span<const LogitsQuery> queries() const override { return queries_; }
  std::span<const LogitsQuery> DraftQueries(
      std::span<const int32_t> draft) override;
  std::span<const int32_t> ForcedTokens() const override {
    if (live_.size() != 1) return {};
    return constraint_.ForcedTokens(draws_[live_[0]].constraint);
  }
  void Advance(std::span<const LogitsRow> rows) override;
  std::span<const Continuation> continuations() const override {
    return continuations_;
  }
  std::span<const int32_t> LiveTokens(size_t index) const override {
    return draws_[live_[index]].tokens;
  }
  bool done() const override { return live_.empty(); }
  absl::Status status() const override { return status_; }
  std::span<const int32_t> CertainTokens(int index) const override;
  std::span<const float> CertainLogprobs(int index) const override;
  std::vector<std::vector<TokenLogprob>> CertainTopLogprobs(
      int index, size_t begin) const override;
  bool Ended(int index) const override;
  std::vector<Hypothesis> TakeResults() override;

 private:
  struct Draw {
    std::vector<int32_t> tokens;  // prefix, then new tokens
    std::vector<float> logprobs;
    std::vector<std::vector<TokenLogprob>> top_logprobs;
    double log_probability = 0;
    bool ended = false;
    FinishReason reason = FinishReason::kLength;
    RepetitionDetector repetition;  // if it ends texts
    SearchConstraint::State constraint;
  };

  int NewTokens(const Draw& draw) const {
    return static_cast<int>(draw.tokens.size() - prefix_size_);
  }
  // Chooses the next token of draw `index` from `row` and leaves the candidates
  // in possible_. Returns false if the rules leave none.
  bool Choose(int index, const LogitsRow& row, const LogitsEdits& edits,
              ScoredToken* chosen);
  void Append(const ScoredToken& token, const LogitsRow& row,
              const LogitsEdits& edits, Draw* draw);
  // Returns what to ask after a draw's tokens; the query is a view into
  // `edits`.
  LogitsQuery QueryAfter(const Draw& draw, LogitsEdits* edits) const;
  void MakeQueries();
  // Ends the search without results.
  void GiveUp(absl::Status why);

  const DecodingOptions options_;
  const size_t prefix_size_;
  const StopMatcher* const stop_;
  const LogitsRules rules_;
  SearchConstraint constraint_;
  absl::Status status_;
  std::vector<Draw> draws_;

  // Draws that have not ended. Before the first token they share row 0.
  std::vector<int> live_;
  std::vector<int> next_live_;              // scratch of Advance
  std::vector<LogitsEdits> edits_;          // [queries]
  std::vector<LogitsQuery> queries_;        // views into edits_
  std::vector<LogitsEdits> draft_edits_;    // those of DraftQueries
  std::vector<LogitsQuery> draft_queries_;  // views into draft_edits_
  std::vector<Continuation> continuations_;
  std::vector<ScoredToken> possible_;  // scratch
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_INDEPENDENT_DECODING_H_
