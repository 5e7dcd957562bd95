#include "server/calls/allowed_models.h"

#include <fmt/format.h>

#include "server/errors/status.h"

namespace trivium {

std::vector<ModelHandle> AllowedModels::List() const {
  std::vector<ModelHandle> models = models_.List();
  std::erase_if(models, [this](const ModelHandle& model) {
    return !Allows(model->name);
  });
  return models;
}

absl::StatusOr<ModelHandle> AllowedModels::Find(const std::string& name) const {
  std::string names;
  const auto& aliases = models_.names().aliases;
  const auto alias = aliases.find(name);
  const std::string& own = alias == aliases.end() ? name : alias->second;
  for (ModelHandle& model : List()) {
    if (model->name == own) return std::move(model);
    names += (names.empty() ? "" : ", ") + model->name;
  }
  if (names.empty()) {
    return absl::NotFoundError(
        "no model is loaded that this client may use; load one, or give its "
        "token others");
  }
  return absl::NotFoundError(
      fmt::format("no model is named '{}'; there are: {}", Shorten(name),
                  Shorten(names, 500)));
}

bool AllowedModels::Names(const std::string& name) const {
  if (name.empty()) return false;
  return !models_.names().any || Find(name).ok();
}

ModelHandle AllowedModels::FirstFor(Rpc rpc, const ModelNeed& need) const {
  ModelHandle second_best;
  for (ModelHandle& model : List()) {
    if (!ServesCall(*model->model, rpc)) continue;
    // A model that reads query and document together judges better.
    const bool best =
        (rpc != Rpc::kRerank || !RanksByEmbeddings(*model->model)) &&
        (need == nullptr || need(*model->model));
    if (best) return std::move(model);
    if (second_best == nullptr) second_best = std::move(model);
  }
  return second_best;
}

absl::StatusOr<ModelHandle> AllowedModels::FindFor(
    Rpc rpc, const std::string& name, const ModelNeed& need) const {
  if (Names(name)) return Find(name);
  if (ModelHandle first = FirstFor(rpc, need); first != nullptr) return first;
  std::vector<ModelHandle> models = List();
  if (models.empty()) return Find(name);
  return std::move(models.front());
}

absl::Status AllowedModels::MayLoad(const std::string& name) const {
  if (Allows(name)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      fmt::format("this token may not load a model named '{}'; it may load: {}",
                  Shorten(name), fmt::join(grant_->rules().models, ", ")));
}

}  // namespace trivium
