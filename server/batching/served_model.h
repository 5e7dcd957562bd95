#ifndef TRIVIUM_SERVER_BATCHING_SERVED_MODEL_H_
#define TRIVIUM_SERVER_BATCHING_SERVED_MODEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "model/chat_format/chat_format_cache.h"
#include "model/constraint_cache.h"
#include "model/model.h"

namespace trivium {

// Returns a new number each time.
inline uint64_t NewModelId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// A served model, as all parts of the server know it. Immutable. Every user
// holds a handle, so a removed model is freed when the last of its requests is
// answered.
struct ServedModel {
  std::string name;
  std::shared_ptr<const Model> model;
  int64_t kv_cache_bytes = 0;      // of all workers
  int64_t result_cache_bytes = 0;  // of all models
  // Unique for ever, because cached results outlive the model.
  const uint64_t id = NewModelId();
  // The constraints that its requests have been held to.
  const std::shared_ptr<ConstraintCache> constraints =
      std::make_shared<ConstraintCache>();
  // The forms of its chat templates' messages.
  const std::shared_ptr<ChatFormatCache> chat_formats =
      std::make_shared<ChatFormatCache>();
};

using ModelHandle = std::shared_ptr<const ServedModel>;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SERVED_MODEL_H_
