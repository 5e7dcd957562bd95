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

// The models that calls find by name, in the order in which they came.
// Thread-safe.
class ModelDirectory {
 public:
  // ALREADY_EXISTS: one of that name is there.
  absl::Status Add(ModelHandle model);
  // In the place of the one of that name; NOT_FOUND.
  absl::Status Replace(ModelHandle model);
  // Returns it; NOT_FOUND lists what there is.
  absl::StatusOr<ModelHandle> Remove(const std::string& name);

  // The model of that name, or the first where it is empty; NOT_FOUND lists
  // what there is.
  absl::StatusOr<ModelHandle> Find(const std::string& name) const;
  std::vector<ModelHandle> List() const;

 private:
  // Where the model is among models_, or NOT_FOUND.
  absl::StatusOr<size_t> IndexOf(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::vector<ModelHandle> models_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_MODEL_DIRECTORY_H_
