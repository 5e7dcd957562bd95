#ifndef TRIVIUM_MODEL_TRANSFORMER_ROTARY_H_
#define TRIVIUM_MODEL_TRANSFORMER_ROTARY_H_

#include <span>
#include <vector>

#include "model/kernels/buffer.h"
#include "model/transformer/description.h"
#include "model/transformer/workspace.h"

namespace trivium {

// The rotary turns of a step's rows, shared by all layers. They are computed
// anew in each step: a table of all positions would need 64 MB for 131,072
// positions with heads of 128, and a row's turns cost less than a hundredth of
// its products. Each worker has one.
//
//   turns.Set(rows, [&](int row) { return position of row; }, &workspace);
//   turns.Apply(layer.geometry, row, heads, query);
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

  // Turns the `heads` heads at x, the queries or keys of a row, by the row's
  // position, if the layer has rotary positions.
  void Apply(const AttentionGeometry& geometry, int row, int heads,
             float* x) const;

  // Returns RotaryDescription::query_growth's factor of a position; 1 if the
  // layer has none.
  float Growth(const AttentionGeometry& geometry, int position) const;
  // The turns of a layer that has rotary positions.
  const RotaryDescription& rotary(const AttentionGeometry& geometry) const {
    return rotary_[geometry.rotary];
  }
  // Multiplies a query x, all its heads, by this factor.
  void Grow(const AttentionGeometry& geometry, int position, float* x) const;

  // Computes the {cosines, sines} of a position.
  static void Turn(const RotaryDescription& rotary, int position, float* turn);

 private:
  std::span<const RotaryDescription> rotary_;
  // [rotary_], each [rows, {cosines, sines}].
  std::vector<Buffer<float>> turns_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TRANSFORMER_ROTARY_H_
