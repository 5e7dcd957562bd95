#ifndef TRIVIUM_MODEL_SEARCH_BEAM_SEARCH_H_
#define TRIVIUM_MODEL_SEARCH_BEAM_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/search/decoding.h"
#include "model/search/logits_rules.h"
#include "model/search/required_phrases.h"
#include "model/search/row_scores.h"
#include "model/search/search_constraint.h"

namespace trivium {

// Beam search like Transformers 5's GenerationMixin._beam_search for one input.
// One difference: Transformers fills empty places among the running hypotheses
// with copies whose score is -1e9; here the places stay empty, so fewer than
// beam_size hypotheses may run. With required phrases the search differs more
// (RequiredPhrases, beam_search_phrases.cc).
class BeamSearch : public Decoding {
 public:
  // `options` are valid; `stop` may be null and must outlive the search.
  BeamSearch(const DecodingOptions& options, std::vector<int32_t> prefix,
             const StopMatcher* stop);

  std::span<const LogitsQuery> queries() const override { return queries_; }
  bool attends() const override { return phrases_.attends(); }
  void SetAttention(std::span<const std::span<const float>> maps,
                    int keys) override;
  void Advance(std::span<const LogitsRow> rows) override;
  std::span<const Continuation> continuations() const override {
    return continuations_;
  }
  std::span<const int32_t> LiveTokens(size_t index) const override {
    return running_[index].tokens;
  }
  bool done() const override { return done_; }
  absl::Status status() const override { return status_; }
  std::span<const int32_t> CertainTokens(int index) const override;
  std::span<const float> CertainLogprobs(int index) const override;
  std::vector<std::vector<TokenLogprob>> CertainTopLogprobs(
      int index, size_t begin) const override;
  bool Ended(int index) const override { return done_; }
  std::vector<Hypothesis> TakeResults() override;
  std::optional<BeamTrace> TakeTrace() override;

 private:
  using SharedTop = std::shared_ptr<const std::vector<TokenLogprob>>;

  struct Beam {
    std::vector<int32_t> tokens;  // prefix, then new tokens
    std::vector<float> logprobs;  // [new tokens]
    std::vector<SharedTop> top;   // [new tokens] with top_logprobs, else empty
    double log_probability = 0;
    int place = -1;  // index in the recorder's step; -1 without a recorder
    PhraseState phrases;
    SearchConstraint::State constraint;
  };
  struct Finished {
    Beam beam;
    double score;  // Score of the beam's Merit
    FinishReason reason;
  };
  // One more token for the running hypothesis `parent`.
  struct Extension {
    int parent;
    ScoredToken token;
    double log_probability;  // of the hypothesis with this token
    int state = -1;          // index into states_ if phrases are required
  };

  // Fills extensions_ with the best extensions of all running hypotheses, best
  // first.
  void FindExtensions(std::span<const LogitsRow> rows);
  // Adds the extensions of running hypothesis i: by its possible_ tokens, or
  // also by phrases.
  void AddExtensions(size_t i);
  void AddPhraseExtensions(size_t i);
  static bool IsBetter(const Extension& a, const Extension& b);
  bool IsBetterPhrased(const Extension& a, const Extension& b) const;
  // Keeps a share of extensions_ for each number of begun phrases; those with
  // the most phrases come first.
  void AllotExtensions();
  // True before the first token that the search itself chooses.
  bool AtBeginning() const {
    return length_ == (options_.forced_first_id.has_value() ? 1 : 0);
  }
  // Makes `beam` the hypothesis with one more token. False if the constraint
  // forbids it, which only a forced token can meet.
  bool Extend(const Extension& extension, Beam* beam);
  // True if `beam` ends with its last token; sets the reason.
  bool Ends(const Beam& beam, FinishReason* reason) const;
  double Score(double log_probability, int length) const;
  // The sum by which hypotheses are compared.
  static double Merit(const Beam& beam) {
    return beam.log_probability + beam.phrases.bonus;
  }
  // Keeps the beam_size best; among equals, the older comes first.
  void AddFinished(Beam beam, FinishReason reason);
  // Remembers the best hypothesis that ended without all phrases.
  void AddLacking(const Beam& beam, FinishReason reason);
  // Adds an extension to the trace and returns its place there.
  int Record(const Extension& extension, BeamFate fate);
  // Records the fate of the candidate that was `beam`'s last token.
  void Record(const Beam& beam, BeamFate fate);
  bool CanImprove() const;
  void Finish();
  // Ends the search with the tokens that are certain already, before running_
  // changes.
  void GiveUp(absl::Status why);
  void UpdateCertain();
  void MakeQueries();

  const DecodingOptions options_;
  const size_t prefix_size_;
  const size_t beam_size_;
  const size_t extensions_kept_;
  const StopMatcher* const stop_;
  const LogitsRules rules_;
  const RequiredPhrases phrases_;
  SearchConstraint constraint_;
  absl::Status status_;
  std::unique_ptr<BeamRecorder> recorder_;  // null: no trace requested

  int length_ = 0;  // new tokens of every running hypothesis
  std::vector<Beam> running_;
  std::vector<Finished> finished_;  // best first, at most beam_size_
  // The best hypothesis that ended without all phrases; the result if nothing
  // else ended.
  std::optional<Finished> lacking_;
  bool done_ = false;
  // Number of leading new tokens that all possible best results share.
  size_t certain_ = 0;

  std::vector<LogitsEdits> edits_;    // [running_]
  std::vector<LogitsQuery> queries_;  // [running_], views into edits_
  std::vector<SharedTop> tops_;       // [running_] of this step
  std::vector<Continuation> continuations_;

  // Scratch, kept for its memory.
  std::vector<ScoredToken> possible_;
  std::vector<Extension> extensions_;
  std::vector<PhraseState> states_;  // [extensions_] states with phrases
  std::vector<RequiredPhrases::Step> steps_;
  std::vector<std::vector<float>>
      phrase_attention_;    // [running_] attention on each phrase, or empty
  std::vector<Beam> next_;  // becomes running_
  Beam beyond_;             // scratch for an extension without a running place
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_BEAM_SEARCH_H_
