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

// The beam tree of a translation, for display.
class BeamTree {
 public:
  // Returns an error if the trace contradicts itself, since indices that a
  // server sends are checked before they are used.
  static absl::StatusOr<BeamTree> Create(v1::TranslateResult result);

  // Returns the tree for a terminal: the results, best first, then the tree.
  // The path to the best result goes down; branches stand to its right. `rows`
  // limits the rows; 0: no limit. If they do not suffice, pruned candidates are
  // left out first, then the end, and a last line says how much is missing.
  std::string Text(const Colors& colors, int rows = 0) const;
  // Returns a self-contained page (client/pages/beams.html).
  std::string Page(const std::string& model, const std::string& text) const;
  nlohmann::json Data(const std::string& model, const std::string& text) const;

  // Says in a sentence why the candidate at `place` of `step` was continued or
  // not.
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
  // Adds a line, after `indent`, for each candidate below the given one.
  // `pruned`: also for pruned ones.
  void AddBelow(int step, int place, const std::string& indent, bool pruned,
                const Colors& colors, std::vector<std::string>* lines) const;

  v1::TranslateResult result_;
  // [steps][candidates]: index of the best result that continues the candidate,
  // or INT_MAX.
  std::vector<std::vector<int>> best_below_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_BEAM_TREE_H_
