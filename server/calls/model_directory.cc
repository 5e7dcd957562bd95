#include "server/calls/model_directory.h"

#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/errors/status.h"

namespace trivium {

absl::StatusOr<size_t> ModelDirectory::IndexOf(const std::string& name) const {
  for (size_t i = 0; i < models_.size(); ++i) {
    if (models_[i]->name == name) return i;
  }
  return absl::NotFoundError(
      fmt::format("no model is named '{}'", Shorten(name)));
}

absl::Status ModelDirectory::Add(ModelHandle model) {
  MutexLock lock(&mutex_);
  for (const ModelHandle& other : models_) {
    if (other->name != model->name) continue;
    return absl::AlreadyExistsError(
        fmt::format("a model is named '{}' already", Shorten(model->name)));
  }
  models_.push_back(std::move(model));
  return absl::OkStatus();
}

absl::Status ModelDirectory::Replace(ModelHandle model) {
  MutexLock lock(&mutex_);
  TRIVIUM_ASSIGN_OR_RETURN(const size_t index, IndexOf(model->name));
  // `model` is the old one now. It may end with this function, but then the
  // lock is free already, as parameters are destroyed last.
  std::swap(models_[index], model);
  return absl::OkStatus();
}

absl::StatusOr<ModelHandle> ModelDirectory::Remove(const std::string& name) {
  MutexLock lock(&mutex_);
  TRIVIUM_ASSIGN_OR_RETURN(const size_t index, IndexOf(name));
  ModelHandle model = models_[index];
  models_.erase(models_.begin() + static_cast<ptrdiff_t>(index));
  return model;
}

absl::StatusOr<ModelHandle> ModelDirectory::Find(
    const std::string& name) const {
  MutexLock lock(&mutex_);
  TRIVIUM_ASSIGN_OR_RETURN(const size_t index, IndexOf(name));
  return models_[index];
}

std::vector<ModelHandle> ModelDirectory::List() const {
  MutexLock lock(&mutex_);
  return models_;
}

}  // namespace trivium
