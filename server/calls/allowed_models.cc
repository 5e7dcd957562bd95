#include "server/calls/allowed_models.h"

#include <fmt/format.h>

#include "server/calls/convert/model_calls.h"
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
  for (ModelHandle& model : List()) {
    if (model->name == name) return std::move(model);
    names += (names.empty() ? "" : ", ") + model->name;
  }
  if (names.empty()) {
    return absl::NotFoundError(fmt::format(
        "no model is named '{}', and this token may use none of those that "
        "there are",
        Shorten(name)));
  }
  return absl::NotFoundError(
      fmt::format("no model is named '{}'; there are: {}", Shorten(name),
                  Shorten(names, 500)));
}

absl::StatusOr<ModelHandle> AllowedModels::FindFor(
    Rpc rpc, const std::string& name) const {
  const std::vector<ModelHandle> models = List();
  if (!name.empty() || models.empty()) return Find(name);
  for (const ModelHandle& model : models) {
    if (ServesCall(*model->model, rpc)) return model;
  }
  return models.front();
}

absl::Status AllowedModels::MayLoad(const std::string& name) const {
  if (Allows(name)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      fmt::format("this token may not load a model named '{}'; it may load: {}",
                  Shorten(name), fmt::join(grant_->rules().models, ", ")));
}

}  // namespace trivium
