#include "model/search/beam_trace.h"

namespace trivium {

void BeamRecorder::BeginStep() {
  // A step is recorded whole or not at all.
  if (candidates_ >= kMaxTraceCandidates) trace_.truncated = true;
  if (!trace_.truncated) trace_.steps.emplace_back();
}

int BeamRecorder::Add(const BeamTrace::Candidate& candidate) {
  if (trace_.truncated) return -1;
  ++candidates_;
  trace_.steps.back().push_back(candidate);
  return static_cast<int>(trace_.steps.back().size()) - 1;
}

void BeamRecorder::SetFate(int step, int place, BeamFate fate) {
  if (BeamTrace::Candidate* found = Find(step, place)) found->fate = fate;
}

void BeamRecorder::SetHypothesis(int step, int place, int hypothesis) {
  if (BeamTrace::Candidate* found = Find(step, place)) {
    found->hypothesis = hypothesis;
  }
}

BeamTrace::Candidate* BeamRecorder::Find(int step, int place) {
  if (step < 0 || place < 0 || step >= static_cast<int>(trace_.steps.size())) {
    return nullptr;
  }
  return &trace_.steps[step][place];
}

}  // namespace trivium
