// A unary call's threads. Observers run on workers, or inside Submit for what
// is known already: they only put a result into its place. Whoever brings the
// last one sends the call to the delivery pool, and there it ends; nobody
// touches it after that.
#include "server/handlers/unary.h"

#include <utility>

#include "server/handlers/convert.h"

namespace trivium {

// Hears of one request and passes it on to its call.
class UnaryCall::Slot : public RequestObserver {
 public:
  Slot(UnaryCall* call, int index) : call_(call), index_(index) {}
  void OnDone(absl::StatusOr<RequestResult> result) override {
    call_->OnResult(index_, std::move(result));
  }

 private:
  UnaryCall* const call_;
  const int index_;
};

void UnaryCall::Observe(std::vector<Request>* requests) {
  MutexLock lock(&mutex_);
  missing_ = requests->size();
  results_.resize(requests->size());
  for (size_t i = 0; i < requests->size(); ++i) {
    (*requests)[i].observer = std::make_shared<Slot>(this, static_cast<int>(i));
  }
}

void UnaryCall::OnResult(int index, absl::StatusOr<RequestResult> result) {
  {
    MutexLock lock(&mutex_);
    if (result.ok()) {
      results_[index] = *std::move(result);
    } else if (error_.ok()) {
      // All or nothing: what the others would still compute is of no use.
      error_ = result.status();
      call().cancellation()->Cancel();
    }
    if (--missing_ > 0) return;
  }
  call().RunDelivery([this] { Complete(); });
}

void UnaryCall::Complete() {
  std::vector<RequestResult> results;
  absl::Status error;
  {
    MutexLock lock(&mutex_);
    error = error_;
    results = std::move(results_);
  }
  // Not under the lock: this may be deleted as soon as it has finished.
  if (!error.ok()) return Finish(error);
  for (const RequestResult& result : results) call().AddResult(result);
  const google::protobuf::Message& response = Respond(std::move(results));
  const absl::Status size = CheckResponseSize(response, environment().limits);
  Finish(size, size.ok() ? &response : nullptr);
}

}  // namespace trivium
