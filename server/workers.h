#ifndef TRIVIUM_SERVER_WORKERS_H_
#define TRIVIUM_SERVER_WORKERS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

namespace trivium {

// Engines that work side by side, and the threads that share the work of each.
// Of all models of a process: an engine of each lives on every worker.
struct Workers {
  int count = 1;
  int threads = 1;  // of each

  friend bool operator==(const Workers&, const Workers&) = default;
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

}  // namespace trivium

#endif  // TRIVIUM_SERVER_WORKERS_H_
