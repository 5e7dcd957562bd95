#ifndef TRIVIUM_SERVER_CALLS_UNARY_H_
#define TRIVIUM_SERVER_CALLS_UNARY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/prepared_call.h"

namespace trivium {

// A call with one response, all or nothing. A handler derives from it and says
// how to open, prepare and respond; the rest of the order is
//
//   workers:  the results come in
//   a pool:   once all are there, Respond to each, a few at a time; where they
//             call for more requests (More), the same with those; Response
//
// Between results it asks whether the call is still wanted.
class UnaryCall : public PreparedCall {
 public:
  using PreparedCall::PreparedCall;

 protected:
  // Makes what the response says of the result of request i, of those that were
  // submitted last; in their order. An error ends the call.
  virtual absl::Status Respond(int request, RequestResult result) = 0;
  // What is to be asked next, when all results are taken; mostly nothing.
  virtual std::vector<Request> More() { return {}; }
  // The whole response, which lives as long as the call.
  virtual const google::protobuf::Message& Response() = 0;

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
  void RunNextResponses();
  void RespondTo(size_t end);
  void Complete();

  Mutex mutex_;
  std::vector<RequestResult> results_ ABSL_GUARDED_BY(mutex_);
  size_t missing_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);  // the first

  // Of whoever submits, then of the pool's thread that responds: of requests
  // that were submitted last, null where they have the call's.
  std::vector<ModelHandle> models_;

  // Of the pool's thread that responds.
  std::vector<RequestResult> answered_;
  size_t responded_ = 0;  // of them
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_UNARY_H_
