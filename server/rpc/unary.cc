#include "server/rpc/unary.h"

#include <charconv>
#include <utility>

#include "server/rpc/status.h"

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

void UnaryCall::Start() {
  if (!call_.admitted().ok()) return End(call_.admitted());
  if (absl::Status status = Parse(*request_); !status.ok()) return End(status);
  if (TextBytes() > kInlineTextBytes) {
    environment().tokenizing->Run([this] { PrepareAndSubmit(); });
  } else {
    PrepareAndSubmit();
  }
}

void UnaryCall::PrepareAndSubmit() {
  if (absl::Status status = call_.Wanted(); !status.ok()) return End(status);
  const absl::Time before = environment().clock->Now();
  absl::StatusOr<std::vector<Request>> requests = Prepare();
  call_.AddTokenizeTime(environment().clock->Now() - before);
  if (!requests.ok()) return End(requests.status());
  if (requests->empty()) return Complete();

  for (size_t i = 0; i < requests->size(); ++i) {
    Request& request = (*requests)[i];
    request.model = call_.model().index;
    request.deadline = call_.deadline();
    request.cancellation = call_.cancellation();
    request.observer = std::make_shared<Slot>(this, static_cast<int>(i));
  }
  {
    MutexLock lock(&mutex_);
    missing_ = requests->size();
    results_.resize(requests->size());
  }
  Batcher& batcher = *environment().batcher;
  const absl::Status status =
      batcher.Submit(batcher.NewCall(), *std::move(requests));
  // Once the batcher has taken the requests, this may be deleted already.
  if (!status.ok()) {
    End(FromBatcher(status, batcher, [this](int i) { return FieldOf(i); }));
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
      call_.cancellation()->Cancel();
    }
    if (--missing_ > 0) return;
  }
  environment().delivery->Run([this] { Complete(); });
}

void UnaryCall::Complete() {
  std::vector<RequestResult> results;
  absl::Status error;
  {
    MutexLock lock(&mutex_);
    error = error_;
    results = std::move(results_);
  }
  // Not under the lock: this may be deleted as soon as it has ended.
  if (!error.ok()) return End(error);
  for (const RequestResult& result : results) call_.AddResult(result);
  End(Respond(std::move(results), response_));
}

absl::Status FromBatcher(const absl::Status& status, const Batcher& batcher,
                         const std::function<std::string(int)>& field_of) {
  if (status.code() == absl::StatusCode::kResourceExhausted) {
    return WithRetry(status, batcher.RetryAfter());
  }
  const std::string message(status.message());
  int index = 0;
  const char* end = message.data() + message.size();
  const auto [rest, error] = std::from_chars(message.data(), end, index);
  if (status.code() == absl::StatusCode::kInvalidArgument &&
      error == std::errc() && end - rest > 2 && rest[0] == ':') {
    return InvalidField(field_of(index), std::string(rest + 2, end));
  }
  return status;
}

}  // namespace trivium
