#ifndef TRIVIUM_MODEL_SEARCH_BEAM_TRACE_H_
#define TRIVIUM_MODEL_SEARCH_BEAM_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace trivium {

// What became of a candidate of a beam search.
enum class BeamFate {
  kContinued,    // among the best of its step: further tokens were looked for
  kPruned,       // not among the best of its step, at most beam_size
  kEnded,        // ended and stayed among the beam_size best ended ones
  kEndedTooLow,  // ended, but only a step's beam_size best may
  kOutscored,    // ended, but beam_size others that ended score better
  kStopped,      // among the best when the search stopped
};

// Every step's candidates of a beam search, best first.
struct BeamTrace {
  // A hypothesis that ran, with one more token.
  struct Candidate {
    int parent = 0;  // its index in the step before; 0 in the first step
    int32_t token = 0;
    double logprob = 0;          // of this token
    double log_probability = 0;  // of the hypothesis with it
    double score = 0;            // the same over length ^ length_penalty
    BeamFate fate = BeamFate::kPruned;
    int hypothesis = -1;  // the result that ends with it
  };
  std::vector<std::vector<Candidate>> steps;
  bool truncated = false;  // later steps are left out
};

// The most candidates that a trace holds.
inline constexpr size_t kMaxTraceCandidates = 8192;

// Writes a BeamTrace while a search runs. Once the trace is full, further
// steps, and what happens to their candidates, go unrecorded.
class BeamRecorder {
 public:
  void BeginStep();
  // Adds to the step under way; returns the place in it, -1 if the trace is
  // full.
  int Add(const BeamTrace::Candidate& candidate);
  // What became of the candidate at `place` of `step`; ignored where it is
  // not recorded.
  void SetFate(int step, int place, BeamFate fate);
  void SetHypothesis(int step, int place, int hypothesis);

  BeamTrace Take() { return std::move(trace_); }

 private:
  BeamTrace::Candidate* Find(int step, int place);

  BeamTrace trace_;
  size_t candidates_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_BEAM_TRACE_H_
