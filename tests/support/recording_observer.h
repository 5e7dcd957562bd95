#ifndef TRIVIUM_TESTS_SUPPORT_RECORDING_OBSERVER_H_
#define TRIVIUM_TESTS_SUPPORT_RECORDING_OBSERVER_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "server/batching/request.h"

namespace trivium {

// Keeps what a request hears, for a test to look at. Thread-safe.
class RecordingObserver : public RequestObserver {
 public:
  void OnTokens(int index, std::span<const int32_t> ids,
                std::span<const float> logprobs,
                std::span<const TopLogprobs> top_logprobs) override {
    MutexLock lock(&mutex_);
    if (answers_ > 0) ++tokens_after_answer_;
    ++pieces_;
    ids_[index].insert(ids_[index].end(), ids.begin(), ids.end());
    logprobs_[index].insert(logprobs_[index].end(), logprobs.begin(),
                            logprobs.end());
  }
  void OnDone(absl::StatusOr<RequestResult> result) override {
    MutexLock lock(&mutex_);
    ++answers_;
    result_ = std::move(result);
    changed_.SignalAll();
  }

  // Waits for the answer.
  absl::StatusOr<RequestResult> Wait() {
    MutexLock lock(&mutex_);
    while (!result_) changed_.Wait(&mutex_);
    return *result_;
  }
  int answers() const {
    MutexLock lock(&mutex_);
    return answers_;
  }
  bool done() const { return answers() > 0; }
  int tokens_after_answer() const {
    MutexLock lock(&mutex_);
    return tokens_after_answer_;
  }
  // Calls of OnTokens.
  int pieces() const {
    MutexLock lock(&mutex_);
    return pieces_;
  }
  std::vector<int32_t> ids(int index) const {
    MutexLock lock(&mutex_);
    const auto found = ids_.find(index);
    return found == ids_.end() ? std::vector<int32_t>() : found->second;
  }
  std::vector<float> logprobs(int index) const {
    MutexLock lock(&mutex_);
    const auto found = logprobs_.find(index);
    return found == logprobs_.end() ? std::vector<float>() : found->second;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  int answers_ ABSL_GUARDED_BY(mutex_) = 0;
  int tokens_after_answer_ ABSL_GUARDED_BY(mutex_) = 0;
  int pieces_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int, std::vector<int32_t>> ids_ ABSL_GUARDED_BY(mutex_);
  std::map<int, std::vector<float>> logprobs_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::StatusOr<RequestResult>> result_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_RECORDING_OBSERVER_H_
