#ifndef TRIVIUM_CLIENT_COMMANDS_BEAM_TREE_H_
#define TRIVIUM_CLIENT_COMMANDS_BEAM_TREE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/commands/terminal.h"
#include "nlohmann/json.hpp"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// A translation's beam tree, ready to be shown.
class BeamTree {
 public:
  // An error where the trace contradicts itself: what comes from a server is
  // checked before it is followed.
  static absl::StatusOr<BeamTree> Create(v1::TranslateResult result);

  // For a terminal: the way to the best result goes down, and what branches
  // off it stands to its right.
  std::string Text(const Colors& colors) const;
  // A page of one file (client/pages/beams.html).
  std::string Page(const std::string& model, const std::string& text) const;
  nlohmann::json Data(const std::string& model, const std::string& text) const;

  // Why the candidate at `place` of `step` went on or did not, as a sentence.
  std::string Why(int step, int place) const;

 private:
  using Candidate = v1::BeamTrace::Candidate;

  explicit BeamTree(v1::TranslateResult result) : result_(std::move(result)) {}

  const v1::BeamTrace& trace() const { return result_.beam_trace(); }
  const Candidate& At(int step, int place) const {
    return trace().steps(step).candidates(place);
  }
  static std::string Piece(const Candidate& candidate);
  std::vector<int> Children(int step, int place) const;
  std::string Line(int step, int place, const Colors& colors) const;
  // Writes the candidates that follow one, behind `indent`.
  void AddBelow(int step, int place, const std::string& indent,
                const Colors& colors, std::string* text) const;

  v1::TranslateResult result_;
  // [steps][candidates]: the best result that continues it, or INT_MAX.
  std::vector<std::vector<int>> best_below_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_BEAM_TREE_H_
