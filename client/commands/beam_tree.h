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

  // For a terminal: the results, best first; then the tree, where the way to
  // the best result goes down, and what branches off it stands to its right. In
  // `rows` rows (0: any number): what was pruned goes first, then the end, and
  // a last line says how much is missing.
  std::string Text(const Colors& colors, int rows = 0) const;
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
  // Adds a line for each candidate that follows one, behind `indent`.
  void AddBelow(int step, int place, const std::string& indent, bool pruned,
                const Colors& colors, std::vector<std::string>* lines) const;

  v1::TranslateResult result_;
  // [steps][candidates]: the best result that continues it, or INT_MAX.
  std::vector<std::vector<int>> best_below_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_BEAM_TREE_H_
