// Threads. Results are collected on workers, or inside Submit for what the
// batcher knows already. The thread that brings the last one queues the call on
// the delivery pool, where it ends; nobody touches the call after that.
#include "server/calls/unary.h"

#include <utility>

#include "server/calls/convert/convert.h"

namespace trivium {

void UnaryCall::Observe(std::vector<Request>* requests) {
  CollectResults(&call(), OnFailure::kCancelCall, requests,
                 [this](absl::StatusOr<CollectedResults> collected) {
                   OnResults(std::move(collected));
                 });
}

void UnaryCall::OnResults(absl::StatusOr<CollectedResults> collected) {
  Advance([&] {
    if (!collected.ok()) {
      call().RunDelivery(
          0, [this, status = collected.status()] { Finish(status); });
      return;
    }
    // Their bytes stay counted until the call ends, as the response made of
    // them lives as long.
    collected_ = *std::move(collected);
    handled_ = 0;
    HandleNextResults();
  });
}

absl::Status UnaryCall::HandleResult(int request, RequestResult result) {
  return absl::InternalError("a result of no request");
}

int64_t UnaryCall::HandledBytes(int request,
                                const RequestResult& result) const {
  return MessageBytes(result);
}

// Queues one piece of work for the pool: as many results as fit, at least one.
void UnaryCall::HandleNextResults() {
  const std::vector<RequestResult>& results = collected_.results;
  const auto bytes_of = [&](size_t i) {
    return HandledBytes(static_cast<int>(i), results[i]);
  };
  int64_t bytes = 0;
  size_t end = handled_;
  do {
    bytes += bytes_of(end++);
  } while (end < results.size() &&
           bytes + bytes_of(end) <= WorkPool::kPieceBytes);
  call().RunDelivery(
      bytes, [this, end] { Advance([this, end] { HandleResults(end); }); });
}

void UnaryCall::HandleResults(size_t end) {
  for (; handled_ < end; ++handled_) {
    absl::Status status = call().CheckAlive();
    if (status.ok()) {
      RequestResult result = std::move(collected_.results[handled_]);
      call().AddResult(result, collected_.models[handled_].get());
      status = HandleResult(static_cast<int>(handled_), std::move(result));
    }
    if (!status.ok()) return Finish(status);
  }
  if (handled_ < collected_.results.size()) return HandleNextResults();
  std::vector<Request> next = NextRequests();
  if (next.empty()) return Complete();
  Submit(std::move(next));
}

void UnaryCall::Complete() {
  const google::protobuf::Message& response = Response();
  const absl::Status size = CheckResponseSize(response, environment().limits);
  Finish(size, size.ok() ? &response : nullptr);
}

}  // namespace trivium
