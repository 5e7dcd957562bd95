#ifndef TRIVIUM_SERVER_CALLS_MODEL_DIRECTORY_H_
#define TRIVIUM_SERVER_CALLS_MODEL_DIRECTORY_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/batching/served_model.h"

namespace trivium {

// Names by which calls find models besides the models' own.
struct ModelNames {
  std::map<std::string, std::string> aliases;  // name -> model
  // A call that names an unknown model is like one that names none.
  bool any = false;
};

// The models that are served, in the order in which they were added. Calls see
// those that their token allows (AllowedModels). Thread-safe.
class ModelDirectory {
 public:
  // Called before there are calls.
  void SetNames(ModelNames names) { names_ = std::move(names); }
  const ModelNames& names() const { return names_; }

  // ALREADY_EXISTS if there is a model of that name.
  absl::Status Add(ModelHandle model);
  // Replaces the model of that name; NOT_FOUND if there is none.
  absl::Status Replace(ModelHandle model);
  // Returns the removed model. NOT_FOUND if there is none of that name.
  absl::StatusOr<ModelHandle> Remove(const std::string& name);

  // NOT_FOUND if there is no model of that name.
  absl::StatusOr<ModelHandle> Find(const std::string& name) const;
  std::vector<ModelHandle> List() const;

 private:
  // The model's index in models_, or NOT_FOUND.
  absl::StatusOr<size_t> IndexOf(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ModelNames names_;
  mutable Mutex mutex_;
  std::vector<ModelHandle> models_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_MODEL_DIRECTORY_H_
