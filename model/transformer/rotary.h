#ifndef TRIVIUM_MODEL_TRANSFORMER_ROTARY_H_
#define TRIVIUM_MODEL_TRANSFORMER_ROTARY_H_

#include <span>
#include <vector>

#include "model/kernels/buffer.h"
#include "model/transformer/description.h"
#include "model/transformer/workspace.h"

namespace trivium {

// By how much the rows of a step are turned, for all layers at once. Angles
// are computed anew for each step: a table of all positions would take 64 MB
// for 131,072 of them with heads of 128, and a row's angles cost less than a
// hundredth of what its products do. One a worker.
//
//   turns.Set(rows, [&](int row) { return position of row; }, &workspace);
//   turns.Rotate(layer.geometry, row, heads, query);
class RotaryTurns {
 public:
  explicit RotaryTurns(std::span<const RotaryDescription> rotary)
      : rotary_(rotary), turns_(rotary.size()) {}

  template <typename PositionOf>
  void Set(int rows, const PositionOf& position, Workspace* workspace) {
    for (size_t i = 0; i < rotary_.size(); ++i) {
      const size_t width = 2 * rotary_[i].frequencies.size();
      float* turns = turns_[i].Reserve(rows * width);
      workspace->team().Run(
          rows, Workspace::kLeastRows, [&](int begin, int end, int) {
            for (int row = begin; row < end; ++row) {
              Turn(rotary_[i], position(row), turns + row * width);
            }
          });
    }
  }

  // Turns `heads` heads at x, queries or keys of a row, as a layer does.
  void Rotate(const AttentionGeometry& geometry, int row, int heads,
              float* x) const;

  // {cosines, sines} of a position.
  static void Turn(const RotaryDescription& rotary, int position, float* turn);

 private:
  std::span<const RotaryDescription> rotary_;
  std::vector<Buffer<float>> turns_;  // [rows, {cosines, sines}] of each
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ROTARY_H_
