#include "model/transformer/relative_row.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace trivium {
namespace {

// Distances up to half of the span have a row each. Beyond, rows cover ever
// more distances, so that max_distance - 1 reads the last row.
int LogarithmicRow(int distance, int span, int max_distance) {
  const int middle = span / 2;
  const int apart = std::abs(distance);
  if (apart <= middle) return distance;
  const float farthest = static_cast<float>((max_distance - 1.0) / middle);
  const float part = std::log(static_cast<float>(apart) / middle) /
                     std::log(farthest) * (middle - 1);
  const int row = static_cast<int>(std::ceil(part)) + middle;
  return distance > 0 ? row : -row;
}

// Returns the row among the `side` rows for keys on one side of the query.
int T5Row(int apart, int side, int max_distance) {
  const int exact = side / 2;
  if (apart < exact) return apart;
  const float part = std::log(static_cast<float>(apart) / exact) /
                     static_cast<float>(std::log(1.0 * max_distance / exact)) *
                     (side - exact);
  return std::min(exact + static_cast<int>(part), side - 1);
}

}  // namespace

int RelativeRow(const RelativeAttentionDescription& description, int distance) {
  using Buckets = RelativeAttentionDescription::Buckets;
  const int span = description.span;
  int row = distance;
  switch (description.buckets) {
    case Buckets::kEach:
      break;
    case Buckets::kLogarithmic:
      row = LogarithmicRow(distance, span, description.max_distance);
      break;
    case Buckets::kT5:
      return (distance < 0 ? span / 2 : 0) +
             T5Row(std::abs(distance), span / 2, description.max_distance);
    case Buckets::kT5Past:
      return T5Row(std::max(distance, 0), span, description.max_distance);
  }
  return std::clamp(row + span, 0, 2 * span - 1);
}

}  // namespace trivium
