// The turn of frequency f, position p and magnitude m is:
//   angle = p f, cosine = m cos(angle), sine = m sin(angle)
// The product p f is rounded to f32, as in Transformers: at position 100,000
// that rounding alone turns by up to 0.004 radians, which trained models have
// learned.
#include "model/transformer/rotary.h"

#include <cmath>

#include "model/kernels/rotary.h"

namespace trivium {

void RotaryTurns::Turn(const RotaryDescription& rotary, int position,
                       float* turn) {
  const size_t pairs = rotary.frequencies.size();
  for (size_t i = 0; i < pairs; ++i) {
    const float angle = static_cast<float>(position) * rotary.frequencies[i];
    turn[i] = static_cast<float>(std::cos(double{angle})) * rotary.magnitude;
    turn[pairs + i] =
        static_cast<float>(std::sin(double{angle})) * rotary.magnitude;
  }
}

void RotaryTurns::Apply(const AttentionGeometry& geometry, int row, int heads,
                        float* x) const {
  if (geometry.rotary == AttentionGeometry::kNoRotary) return;
  const int pairs =
      static_cast<int>(rotary_[geometry.rotary].frequencies.size());
  const float* turns = turns_[geometry.rotary].data();
  ApplyRotary(turns + static_cast<size_t>(row) * 2 * pairs, pairs, heads,
              geometry.head_size, x);
}

float RotaryTurns::Growth(const AttentionGeometry& geometry,
                          int position) const {
  if (geometry.rotary == AttentionGeometry::kNoRotary) return 1;
  const RotaryDescription& rotary = rotary_[geometry.rotary];
  if (rotary.query_growth == 0) return 1;
  const int lengths = position / rotary.growth_length;
  if (lengths == 0) return 1;
  return static_cast<float>(1 + double{rotary.query_growth} *
                                    std::log1p(static_cast<double>(lengths)));
}

void RotaryTurns::Grow(const AttentionGeometry& geometry, int position,
                       float* x) const {
  const float factor = Growth(geometry, position);
  if (factor == 1) return;
  for (int i = 0; i < geometry.query_width(); ++i) x[i] *= factor;
}

}  // namespace trivium
