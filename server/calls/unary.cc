// A unary call's threads. Observers run on workers, or inside Submit for what
// is known already: they only put a result into its place. Whoever brings the
// last one sends the call to the delivery pool, and there it ends; nobody
// touches it after that.
#include "server/calls/unary.h"

#include <utility>

#include "server/calls/convert/convert.h"

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
  models_.clear();
  for (const Request& request : *requests) models_.push_back(request.model);
  for (size_t i = 0; i < requests->size(); ++i) {
    (*requests)[i].observer = std::make_shared<Slot>(this, static_cast<int>(i));
  }
}

void UnaryCall::OnResult(int index, absl::StatusOr<RequestResult> result) {
  // Until the call ends: the response that is made of it stays as long.
  if (result.ok()) call().Hold(Held::kResults, MessageBytes(*result));
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
  RunNextResponses();
}

// As many results as are one piece of work for a pool; at least one.
void UnaryCall::RunNextResponses() {
  if (answered_.empty()) {
    MutexLock lock(&mutex_);
    answered_ = std::move(results_);
  }
  int64_t bytes = 0;
  size_t end = responded_;
  do {
    bytes += MessageBytes(answered_[end++]);
  } while (end < answered_.size() &&
           bytes + MessageBytes(answered_[end]) <= WorkPool::kPieceBytes);
  call().RunDelivery(bytes, [this, end] { RespondTo(end); });
}

void UnaryCall::RespondTo(size_t end) {
  absl::Status status;
  {
    MutexLock lock(&mutex_);
    status = error_;
  }
  while (status.ok() && responded_ < end) {
    status = call().Wanted();
    if (!status.ok()) break;
    RequestResult result = std::move(answered_[responded_]);
    call().AddResult(result, models_[responded_].get());
    status = Respond(static_cast<int>(responded_++), std::move(result));
  }
  if (!status.ok()) return Finish(status);
  if (responded_ < answered_.size()) return RunNextResponses();
  answered_.clear();
  responded_ = 0;
  std::vector<Request> more = More();
  if (more.empty()) return Complete();
  Submit(std::move(more));
}

void UnaryCall::Complete() {
  const google::protobuf::Message& response = Response();
  const absl::Status size = CheckResponseSize(response, environment().limits);
  Finish(size, size.ok() ? &response : nullptr);
}

}  // namespace trivium
