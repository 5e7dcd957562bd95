// Workers that have a core each never wait for each other, but each reads all
// weights at every step. While these lie in the caches that is the fastest way.
// Weights out of memory are read again for every worker, and a lone request
// waits for all of them; threads that share a worker's step read each weight
// once.
#include "server/batching/workers.h"

#include <fmt/format.h>

#include <algorithm>

namespace trivium {
namespace {

// Between the embedded model (13 MB), which answers fewer requests with two
// threads of a worker in the place of two workers, and OPUS-MT's shape (138
// MB), of which a lone request takes half the time (measure_threads).
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
        "--workers {} of --worker-threads {} are {} threads: give at most {} "
        "in all, best one a core ({} here)",
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
