#ifndef TRIVIUM_MODEL_PHASES_H_
#define TRIVIUM_MODEL_PHASES_H_

#include <iterator>

#include "model/engine.h"

namespace trivium {

// The phases of a step by name, for code that shows or sums all of them.
struct Phase {
  const char* name;
  double PhaseSeconds::*seconds;
};

inline constexpr Phase kPhases[] = {
    {"encode", &PhaseSeconds::encode},
    {"self_attention", &PhaseSeconds::self_attention},
    {"cross_attention", &PhaseSeconds::cross_attention},
    {"feed_forward", &PhaseSeconds::feed_forward},
    {"output_projection", &PhaseSeconds::output_projection},
    {"other", &PhaseSeconds::other},
};
static_assert(sizeof(PhaseSeconds) == std::size(kPhases) * sizeof(double),
              "each phase has a line here");

}  // namespace trivium

#endif  // TRIVIUM_MODEL_PHASES_H_
