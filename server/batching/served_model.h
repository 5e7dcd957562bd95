#ifndef TRIVIUM_SERVER_BATCHING_SERVED_MODEL_H_
#define TRIVIUM_SERVER_BATCHING_SERVED_MODEL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "model/model.h"

namespace trivium {

// Never the same number twice.
inline uint64_t NewModelId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// A model that is served, as every part of the server knows it. Immutable.
// Whoever still works with it holds its handle, so a model that is removed
// while requests for it run goes when the last of them is answered.
struct ServedModel {
  std::string name;
  std::shared_ptr<const Model> model;
  int64_t kv_cache_bytes = 0;      // of all workers
  int64_t result_cache_bytes = 0;  // of all models
  // Its own for ever, for what outlives it (cached results).
  const uint64_t id = NewModelId();
};

using ModelHandle = std::shared_ptr<const ServedModel>;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SERVED_MODEL_H_
