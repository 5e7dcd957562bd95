#include "model/weights/renamed_weights.h"

#include <utility>

namespace trivium {

RenamedWeights::RenamedWeights(std::shared_ptr<const Weights> all,
                               Rename rename)
    : all_(std::move(all)) {
  for (const std::string_view name : all_->Names()) {
    std::string renamed = rename(name);
    if (!renamed.empty()) {
      tensors_.emplace(std::move(renamed), all_->Find(name));
    }
  }
}

const TensorView* RenamedWeights::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

std::vector<std::string_view> RenamedWeights::Names() const {
  std::vector<std::string_view> names;
  names.reserve(tensors_.size());
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

}  // namespace trivium
