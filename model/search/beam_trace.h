#ifndef TRIVIUM_MODEL_SEARCH_BEAM_TRACE_H_
#define TRIVIUM_MODEL_SEARCH_BEAM_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace trivium {

// The fate of a candidate of a beam search.
enum class BeamFate {
  kContinued,  // among the best of its step, and extended
  kPruned,     // not among the best of its step; at most beam_size are recorded
  kEnded,      // ended and stayed among the beam_size best ended ones
  kEndedTooLow,  // ended, but was not among its step's beam_size best
  kOutscored,    // ended, but beam_size others that ended scored better
  kStopped,      // among the best when the search stopped
};

// The candidates of every step of a beam search, best first.
struct BeamTrace {
  // A running hypothesis with one more token.
  struct Candidate {
    int parent = 0;  // its index in the step before; 0 in the first step
    int32_t token = 0;
    double logprob = 0;          // of this token
    double log_probability = 0;  // of the hypothesis with this token
    double score = 0;            // log_probability / length ^ length_penalty
    BeamFate fate = BeamFate::kPruned;
    int hypothesis = -1;  // index of the result that ends with it; -1: none
  };
  std::vector<std::vector<Candidate>> steps;
  bool truncated = false;  // true if later steps are missing
};

// The most candidates that a trace holds.
inline constexpr size_t kMaxTraceCandidates = 8192;

// Writes a BeamTrace while a search runs. Once the trace is full, further steps
// and their candidates' fates go unrecorded.
class BeamRecorder {
 public:
  void BeginStep();
  // Adds to the current step; returns the place in it, or -1 if the trace is
  // full.
  int Add(const BeamTrace::Candidate& candidate);
  // Sets the fate of the candidate at `place` of `step`; ignored if it is not
  // recorded.
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
