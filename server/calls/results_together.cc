#include "server/calls/results_together.h"

#include <memory>
#include <utility>

#include "base/mutex.h"
#include "server/calls/convert/convert.h"

namespace trivium {
namespace {

class Results {
 public:
  Results(const Call* call, size_t count, ResultsTogether done)
      : call_(call),
        done_(std::move(done)),
        results_(std::vector<RequestResult>(count)),
        missing_(count) {}

  void Add(size_t i, absl::StatusOr<RequestResult> result) {
    const int64_t bytes = result.ok() ? MessageBytes(*result) : 0;
    call_->Hold(Held::kResults, bytes);
    absl::StatusOr<std::vector<RequestResult>> all;
    int64_t held = 0;
    {
      MutexLock lock(&mutex_);
      bytes_ += bytes;
      if (!result.ok()) {
        if (results_.ok()) results_ = result.status();
      } else if (results_.ok()) {
        (*results_)[i] = *std::move(result);
      }
      if (--missing_ > 0) return;
      all = std::move(results_);
      held = bytes_;
    }
    done_(std::move(all), held);
  }

 private:
  const Call* const call_;
  const ResultsTogether done_;
  Mutex mutex_;
  absl::StatusOr<std::vector<RequestResult>> results_ ABSL_GUARDED_BY(mutex_);
  size_t missing_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

class Observer : public RequestObserver {
 public:
  Observer(std::shared_ptr<Results> results, size_t index)
      : results_(std::move(results)), index_(index) {}
  void OnDone(absl::StatusOr<RequestResult> result) override {
    results_->Add(index_, std::move(result));
  }

 private:
  const std::shared_ptr<Results> results_;
  const size_t index_;
};

}  // namespace

void ObserveTogether(const Call* call, std::vector<Request>* requests,
                     ResultsTogether done) {
  const auto results =
      std::make_shared<Results>(call, requests->size(), std::move(done));
  for (size_t i = 0; i < requests->size(); ++i) {
    (*requests)[i].observer = std::make_shared<Observer>(results, i);
  }
}

}  // namespace trivium
