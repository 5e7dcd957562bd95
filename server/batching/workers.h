#ifndef TRIVIUM_SERVER_BATCHING_WORKERS_H_
#define TRIVIUM_SERVER_BATCHING_WORKERS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

namespace trivium {

// Engines that work side by side, and the threads that share the work of each.
// Of all models of a process: an engine of each lives on every worker.
struct Workers {
  int count = 1;
  int threads = 1;                     // of each
  int64_t kv_cache_bytes = 256 << 20;  // of each, for each model

  friend bool operator==(const Workers&, const Workers&) = default;
};

// What a choice depends on of the models that are served.
struct ModelSizes {
  int64_t models = 0;
  // The largest of any of them.
  int64_t weight_bytes = 0;
  int64_t longest_kv_bytes = 0;  // ModelInfo::longest_kv_bytes

  void Add(int64_t weights, int64_t longest_kv);
};

// Of all workers together.
inline constexpr int kMostWorkerThreads = 4096;

// What --workers and --worker-threads say, and where they say nothing (auto),
// as many as keep all `cores` busy. Where neither does, `weight_bytes`, those
// of the largest model, decide: a thread for each 96 MiB. INVALID_ARGUMENT
// where they come to more than kMostWorkerThreads.
absl::StatusOr<Workers> ChooseWorkers(std::optional<int> workers,
                                      std::optional<int> worker_threads,
                                      int cores, int64_t weight_bytes);

// What --kv-cache-bytes says, and where it says nothing (auto), what Workers
// have or, where that is more, what a longest sequence takes; less where the
// caches of all models would come to more than a quarter of the `memory` that
// the process may use: the rest is for weights and requests.
int64_t ChooseKvCacheBytes(std::optional<int64_t> asked, int workers,
                           const ModelSizes& sizes, int64_t memory);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_WORKERS_H_
