#ifndef TRIVIUM_SERVER_BATCHING_WORKERS_H_
#define TRIVIUM_SERVER_BATCHING_WORKERS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

namespace trivium {

// The workers of a process, which run side by side, and the threads that share
// the work of each. Every worker has an engine of every model.
struct Workers {
  int count = 1;
  int threads = 1;                     // of each worker
  int64_t kv_cache_bytes = 256 << 20;  // of each worker, for each model

  friend bool operator==(const Workers&, const Workers&) = default;
};

// The sizes of the served models that the choices below depend on.
struct ModelSizes {
  int64_t models = 0;
  // The largest of any model.
  int64_t weight_bytes = 0;
  int64_t longest_kv_bytes = 0;  // ModelInfo::longest_kv_bytes

  void Add(int64_t weights, int64_t longest_kv);
};

// Bound on the threads of all workers together.
inline constexpr int kMostWorkerThreads = 4096;

// Chooses from --workers and --worker-threads; an unset one (auto) is chosen so
// that all `cores` are busy. If both are unset, `weight_bytes`, those of the
// largest model, decide: a thread for each 96 MiB. INVALID_ARGUMENT: more than
// kMostWorkerThreads threads.
absl::StatusOr<Workers> ChooseWorkers(std::optional<int> workers,
                                      std::optional<int> worker_threads,
                                      int cores, int64_t weight_bytes);

// Chooses the KV cache of each worker for each model: --kv-cache-bytes, or if
// it is unset (auto), the default of Workers or the size of a longest sequence,
// whichever is larger. The auto value is lowered if the caches of all models
// would exceed a quarter of `memory`, the bytes that the process may use: the
// rest is for weights and requests.
int64_t ChooseKvCacheBytes(std::optional<int64_t> asked, int workers,
                           const ModelSizes& sizes, int64_t memory);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_WORKERS_H_
