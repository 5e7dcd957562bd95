#ifndef TRIVIUM_SERVER_RPC_CALL_H_
#define TRIVIUM_SERVER_RPC_CALL_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/batching/request.h"
#include "server/rpc/environment.h"
#include "trivium/v1/common.pb.h"

namespace trivium {

// What is common to all calls: the request id, the deadline, cancellation,
// timings, and at the end one log line, the metrics and the trailers. A
// handler's reactor holds one:
//
//   Call call(environment, context, Rpc::kEncode);
//   if (!call.admitted().ok()) -> Finish(call.Close(call.admitted()))
//   call.set_model(...); ...
//   reactor->Finish(call.Close(status));        // once
class Call {
 public:
  Call(const Environment& environment, grpc::CallbackServerContext* context,
       Rpc rpc);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const Environment& environment() const { return environment_; }

  // UNAVAILABLE when the call came while the server stops.
  const absl::Status& admitted() const { return admitted_; }

  const std::string& request_id() const { return request_id_; }
  absl::Time started() const { return started_; }
  // The client's, or the server's default for such calls.
  absl::Time deadline() const { return deadline_; }

  const std::shared_ptr<Cancellation>& cancellation() const {
    return cancellation_;
  }
  // CANCELLED or DEADLINE_EXCEEDED when nobody waits for the answer any more.
  absl::Status Wanted() const;

  void set_model(const ServedModel* model) { model_ = model; }
  const ServedModel& model() const { return *model_; }

  // For the log line, the metrics and Timings. The times of several requests
  // of a call overlap: the longest of each counts.
  void AddTokenizeTime(absl::Duration time) { tokenize_ += time; }
  void AddResult(const RequestResult& result);

  v1::Timings timings() const;
  v1::ModelVersion model_version() const;

  // Ends the call: adds the trailers, logs, counts.
  grpc::Status Close(absl::Status status);

 private:
  void LogEnd(const absl::Status& status, absl::Duration total) const;

  const Environment& environment_;
  grpc::CallbackServerContext* const context_;
  const Rpc rpc_;
  const absl::Time started_;
  const std::string request_id_;
  const std::string traceparent_;
  const absl::Time deadline_;
  const std::shared_ptr<Cancellation> cancellation_;
  absl::Status admitted_;
  const ServedModel* model_ = nullptr;
  absl::Duration queue_, tokenize_, inference_;
  int64_t results_ = 0, source_tokens_ = 0, generated_tokens_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_CALL_H_
