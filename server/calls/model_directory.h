#ifndef TRIVIUM_SERVER_CALLS_MODEL_DIRECTORY_H_
#define TRIVIUM_SERVER_CALLS_MODEL_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/batching/served_model.h"

namespace trivium {

// The models that are served, in the order in which they were added. Calls see
// those that their token allows (AllowedModels). Thread-safe.
class ModelDirectory {
 public:
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

  mutable Mutex mutex_;
  std::vector<ModelHandle> models_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_MODEL_DIRECTORY_H_
