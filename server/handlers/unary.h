#ifndef TRIVIUM_SERVER_HANDLERS_UNARY_H_
#define TRIVIUM_SERVER_HANDLERS_UNARY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "server/handlers/prepared_call.h"

namespace trivium {

// A call with one response, all or nothing. A handler derives from it and says
// how to open, prepare and respond; the rest of the order is
//
//   workers:  the results come in
//   a pool:   Respond, once all are there
class UnaryCall : public PreparedCall {
 public:
  using PreparedCall::PreparedCall;

 protected:
  // The response, which lives as long as the call. results[i] answers request
  // i of Prepare.
  virtual const google::protobuf::Message& Respond(
      std::vector<RequestResult> results) = 0;

  // `response` with what the call took and which model answered.
  template <typename Response>
  const google::protobuf::Message& WithTimings(Response* response) const {
    *response->mutable_timings() = call().timings();
    *response->mutable_model() = call().model_version();
    return *response;
  }

 private:
  class Slot;

  void Observe(std::vector<Request>* requests) final;
  void AnswerAtOnce() final { Complete(); }
  void OnResult(int index, absl::StatusOr<RequestResult> result);
  void Complete();

  Mutex mutex_;
  std::vector<RequestResult> results_ ABSL_GUARDED_BY(mutex_);
  size_t missing_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // the first
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_UNARY_H_
