// Workers with a core each never wait for each other, but each reads all
// weights at every step. That is fastest while the weights fit the CPU's
// caches. Larger weights are read from memory once for every worker, and a lone
// request waits for the whole reading; threads that share a worker's step read
// each weight once together.
#include "server/batching/workers.h"

#include <fmt/format.h>

#include <algorithm>

namespace trivium {
namespace {

// Lies between the embedded model (13 MB), which answers fewer requests with
// one worker of two threads than with two workers, and OPUS-MT's shape (138
// MB), where that halves the time of a lone request (measure_threads).
constexpr int64_t kWeightsOfAThread = int64_t{96} << 20;

}  // namespace

void ModelSizes::Add(int64_t weights, int64_t longest_kv) {
  ++models;
  weight_bytes = std::max(weight_bytes, weights);
  longest_kv_bytes = std::max(longest_kv_bytes, longest_kv);
}

absl::StatusOr<Workers> ChooseWorkers(std::optional<int> workers,
                                      std::optional<int> worker_threads,
                                      int cores, int64_t weight_bytes) {
  const auto share = [cores](int others) {
    return std::max(1, cores / others);
  };
  if (!workers.has_value()) {
    const int threads =
        worker_threads.value_or(static_cast<int>(std::clamp<int64_t>(
            (weight_bytes + kWeightsOfAThread - 1) / kWeightsOfAThread, 1,
            cores)));
    workers = share(threads);
  }
  const Workers chosen{*workers, worker_threads.value_or(share(*workers))};
  if (int64_t{chosen.count} * chosen.threads > kMostWorkerThreads) {
    return absl::InvalidArgumentError(fmt::format(
        "--workers {} x --worker-threads {} are {} threads: give at most {} "
        "in all, best one for each core ({} here)",
        chosen.count, chosen.threads, int64_t{chosen.count} * chosen.threads,
        kMostWorkerThreads, cores));
  }
  return chosen;
}

int64_t ChooseKvCacheBytes(std::optional<int64_t> asked, int workers,
                           const ModelSizes& sizes, int64_t memory) {
  const int64_t caches = std::max<int64_t>(sizes.models, 1) * workers;
  return asked.value_or(
      std::min(std::max(Workers().kv_cache_bytes, sizes.longest_kv_bytes),
               memory / 4 / caches));
}

}  // namespace trivium
