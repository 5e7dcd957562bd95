#ifndef TRIVIUM_TESTS_BENCHMARKS_BENCH_SUPPORT_H_
#define TRIVIUM_TESTS_BENCHMARKS_BENCH_SUPPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "model/model.h"
#include "nlohmann/json.hpp"
#include "server/batching/batcher.h"

namespace trivium {

// Returns what main() returns, after writing an error.
int ExitCode(const absl::Status& status);

// Token ids, a sentence a line.
absl::StatusOr<std::vector<std::vector<int32_t>>> ReadSentences(
    const std::string& path);

// Loads `folder` in `precision`; `max_isa` caps the instruction set unless it
// is empty.
absl::StatusOr<ModelHandle> LoadForBench(const std::string& folder,
                                         const std::string& precision,
                                         const std::string& max_isa,
                                         LoadOptions options = {});

// A batcher of options.workers engines of `model`, of `threads` each, whose
// queue takes everything.
absl::StatusOr<std::unique_ptr<Batcher>> MakeBenchBatcher(
    const ModelHandle& model, Batcher::Options options, int threads);

// Adds up where the time of all iterations went.
class PhaseSums : public BatchingObserver {
 public:
  void OnIteration(const Iteration& iteration) override;
  void OnSearch(const ServedModel& model, absl::Duration duration) override;
  nlohmann::json ToJson();

 private:
  Mutex mutex_;
  int64_t iterations_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t encoder_rows_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t decoder_rows_ ABSL_GUARDED_BY(mutex_) = 0;
  double busy_ ABSL_GUARDED_BY(mutex_) = 0;
  double search_ ABSL_GUARDED_BY(mutex_) = 0;
  PhaseSeconds sum_ ABSL_GUARDED_BY(mutex_);
};

// What both programs report; `seconds` are of each round.
nlohmann::json BenchReport(const Model& model, size_t sentences, int64_t tokens,
                           const std::vector<double>& seconds,
                           PhaseSums* phases);

// Sends requests, a call each (one call alone leaves some rows to others), and
// waits for their answers.
class BenchRound {
 public:
  // `take(i, result)` gets the answer of request i, on a worker's thread, one
  // at a time.
  using OnResult = std::function<void(size_t, RequestResult)>;

  // Keeps `in_flight` of the requests under way, or all where it is 0. Returns
  // the seconds it took, or the first error.
  static absl::StatusOr<double> Run(Batcher* batcher,
                                    std::vector<Request> requests,
                                    size_t in_flight, OnResult on_result);

 private:
  class Observer;

  explicit BenchRound(OnResult on_result) : on_result_(std::move(on_result)) {}
  void Put(size_t index, absl::StatusOr<RequestResult> result);
  // Waits until at most `count` are under way.
  void WaitFor(size_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const OnResult on_result_;
  Mutex mutex_;
  CondVar changed_;
  size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t awaited_ ABSL_GUARDED_BY(mutex_) = 0;  // of WaitFor
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_BENCHMARKS_BENCH_SUPPORT_H_
