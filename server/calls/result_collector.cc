#include "server/calls/result_collector.h"

#include <memory>
#include <utility>

#include "base/mutex.h"
#include "server/calls/convert/convert.h"

namespace trivium {
namespace {

class ResultCollector {
 public:
  ResultCollector(Call* call, OnFailure on_failure,
                  const std::vector<Request>& requests,
                  std::function<void(absl::StatusOr<CollectedResults>)> done)
      : call_(call),
        on_failure_(on_failure),
        done_(std::move(done)),
        missing_(requests.size()) {
    collected_.results.resize(requests.size());
    for (const Request& request : requests) {
      collected_.models.push_back(request.model);
    }
  }

  void Add(size_t i, absl::StatusOr<RequestResult> result) {
    const int64_t bytes = result.ok() ? MessageBytes(*result) : 0;
    call_->Hold(Held::kResults, bytes);
    absl::StatusOr<CollectedResults> all;
    {
      MutexLock lock(&mutex_);
      collected_.bytes += bytes;
      if (result.ok()) {
        collected_.results[i] = *std::move(result);
      } else if (error_.ok()) {
        error_ = result.status();
        if (on_failure_ == OnFailure::kCancelCall) {
          call_->cancellation()->Cancel();
        }
      }
      if (--missing_ > 0) return;
      all = std::move(collected_);
      if (!error_.ok()) {
        call_->Hold(Held::kResults, -all->bytes);
        all = error_;
      }
    }
    done_(std::move(all));
  }

 private:
  Call* const call_;
  const OnFailure on_failure_;
  const std::function<void(absl::StatusOr<CollectedResults>)> done_;
  Mutex mutex_;
  CollectedResults collected_ ABSL_GUARDED_BY(mutex_);
  size_t missing_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // the first
};

// Passes the result of one request on to the collector of all.
class CollectingObserver : public RequestObserver {
 public:
  CollectingObserver(std::shared_ptr<ResultCollector> collector, size_t index)
      : collector_(std::move(collector)), index_(index) {}
  void OnDone(absl::StatusOr<RequestResult> result) override {
    collector_->Add(index_, std::move(result));
  }

 private:
  const std::shared_ptr<ResultCollector> collector_;
  const size_t index_;
};

}  // namespace

void CollectResults(
    Call* call, OnFailure on_failure, std::vector<Request>* requests,
    std::function<void(absl::StatusOr<CollectedResults>)> done) {
  const auto collector = std::make_shared<ResultCollector>(
      call, on_failure, *requests, std::move(done));
  for (size_t i = 0; i < requests->size(); ++i) {
    (*requests)[i].observer =
        std::make_shared<CollectingObserver>(collector, i);
  }
}

}  // namespace trivium
