#ifndef TRIVIUM_TESTS_ALLOCATIONS_STEADY_BATCH_H_
#define TRIVIUM_TESTS_ALLOCATIONS_STEADY_BATCH_H_

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/batching/batcher.h"
#include "server/observability/metrics.h"
#include "tests/allocations/allocation_counter.h"
#include "tests/support/puppet_model.h"
#include "tests/support/recording_observer.h"

namespace trivium {

// The server's metrics, and a count of what the worker allocates between two
// of its iterations.
class CountingMetrics : public Metrics {
 public:
  CountingMetrics(int first, int last)
      : Metrics(1), first_(first), last_(last) {}

  void OnIteration(const Iteration& iteration) override {
    Metrics::OnIteration(iteration);
    ++iterations_;
    if (iterations_ == first_) AllocationCounter::Start();
    if (iterations_ == last_) AllocationCounter::Stop();
  }
  int iterations() const { return iterations_; }

 private:
  const int first_, last_;
  int iterations_ = 0;
};

// Runs `requests` in one batch of a real batcher on `engine` and expects that
// the worker's loop, from the metrics' iteration `first` to `last`, allocates
// nothing: nothing arrives or ends in between.
inline void ExpectNoAllocations(std::unique_ptr<Engine> engine,
                                std::vector<Request> requests, int first,
                                int last) {
  CountingMetrics metrics(first, last);
  Batcher::Options options;
  options.observer = &metrics;
  const ModelHandle model = ServedPuppet("model");
  metrics.AddModel(*model);
  auto batcher = *Batcher::Create(options);
  Batcher::Engines engines;
  engines.push_back(std::move(engine));
  ASSERT_TRUE(batcher->AddModel(model, std::move(engines)).ok());
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (Request& request : requests) {
    observers.push_back(std::make_shared<RecordingObserver>());
    request.model = model;
    request.observer = observers.back();
  }
  ASSERT_TRUE(batcher->Submit(batcher->NewCall(), std::move(requests)).ok());
  for (const auto& observer : observers) ASSERT_TRUE(observer->Wait().ok());
  batcher.reset();
  ASSERT_GT(metrics.iterations(), last);
  EXPECT_EQ(AllocationCounter::count(), 0) << AllocationCounter::Sites();
}

inline std::vector<Request> SteadyRequests(int count, int beams,
                                           int max_new_tokens) {
  std::vector<Request> requests(count);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < 10; ++k) {
      requests[i].source.ids.push_back(2 + i + k);
    }
    requests[i].prefix = {1};
    DecodingOptions& options = requests[i].decoding.emplace();
    options.beam_size = beams;
    options.hypotheses = beams;
    options.max_new_tokens = max_new_tokens;
    options.min_new_tokens = max_new_tokens;
    options.end_ids = {0};
    options.banned_sequences = {{1}};
  }
  return requests;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_ALLOCATIONS_STEADY_BATCH_H_
