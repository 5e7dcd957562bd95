#ifndef TRIVIUM_SERVER_CALLS_UNARY_H_
#define TRIVIUM_SERVER_CALLS_UNARY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/convert/call_fields.h"
#include "server/calls/prepared_call.h"
#include "server/calls/result_collector.h"

namespace trivium {

// A call with one response, all or nothing: the first request that fails ends
// it and cancels the others. A handler derives from it and says how to open the
// call, prepare its requests, handle their results and make the response. Once
// the requests are submitted,
//
//   workers:  bring the results
//   a pool:   when all are there, HandleResult of each, a few at a time; if
//             NextRequests then has any, they are submitted in a new round;
//             else Response
//
// Before each result it checks whether the call is still alive.
class UnaryCall : public PreparedCall {
 public:
  using PreparedCall::PreparedCall;

 protected:
  // Makes the response's part of the result of request `request` among those
  // submitted last. Called in their order; an error ends the call. Never called
  // if the call submits none, so such calls need not override it.
  virtual absl::Status HandleResult(int request, RequestResult result);
  // Bytes that HandleResult will handle, by which the pool is fair.
  virtual int64_t HandledBytes(int request, const RequestResult& result) const;
  // The requests of the next round, once all results are handled; none for
  // most calls.
  virtual std::vector<Request> NextRequests() { return {}; }
  // The whole response, which lives as long as the call.
  virtual const google::protobuf::Message& Response() = 0;

  // Returns `response`, with its timings and model filled in.
  template <typename Response>
  const google::protobuf::Message& WithTimings(Response* response) const {
    WriteTimingsAndModel(call().timings(), call().model(), response);
    return *response;
  }

 private:
  void Observe(std::vector<Request>* requests) final;
  void AnswerAtOnce() final { Complete(); }
  void OnResults(absl::StatusOr<CollectedResults> collected);
  void HandleNextResults();
  void HandleResults(size_t end);
  void Complete();

  // Written by the thread that brings the last result, then used only by the
  // pool's thread that handles results.
  CollectedResults collected_;
  size_t handled_ = 0;  // of collected_.results
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_UNARY_H_
