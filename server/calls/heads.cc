#include "server/calls/heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "server/calls/convert/model_calls.h"

namespace trivium {

absl::Status CheckHead(const ServedModel& model, std::string_view rpc,
                       std::initializer_list<HeadKind> kinds) {
  const std::optional<HeadInfo>& head = model.model->info().head;
  if (head &&
      std::find(kinds.begin(), kinds.end(), head->kind) != kinds.end()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      fmt::format("the model '{}' has no head for {}; it serves {}", model.name,
                  rpc, NamesOfServedCalls(*model.model)));
}

std::vector<float> ToScores(std::span<const float> logits,
                            HeadInfo::Scores scores) {
  std::vector<float> out(logits.begin(), logits.end());
  switch (scores) {
    case HeadInfo::Scores::kNone:
      break;
    case HeadInfo::Scores::kSigmoid:
      for (float& value : out) {
        value = static_cast<float>(1 / (1 + std::exp(-double{value})));
      }
      break;
    case HeadInfo::Scores::kSoftmax: {
      const double most = *std::max_element(out.begin(), out.end());
      double sum = 0;
      for (const float value : out) sum += std::exp(value - most);
      for (float& value : out) {
        value = static_cast<float>(std::exp(value - most) / sum);
      }
      break;
    }
  }
  return out;
}

std::vector<int> LargestFirst(std::span<const float> values, size_t count) {
  std::vector<int> places(values.size());
  std::iota(places.begin(), places.end(), 0);
  count = std::min(count, places.size());
  std::partial_sort(
      places.begin(), places.begin() + count, places.end(), [&](int a, int b) {
        return values[a] != values[b] ? values[a] > values[b] : a < b;
      });
  places.resize(count);
  return places;
}

}  // namespace trivium
