#ifndef TRIVIUM_CLIENT_LOAD_GRPC_CALLS_H_
#define TRIVIUM_CLIENT_LOAD_GRPC_CALLS_H_

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "client/call_status.h"
#include "client/client.h"
#include "client/load/caller.h"
#include "client/load/outcomes.h"
#include "client/priority.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "trivium/v1/inference.grpc.pb.h"

namespace trivium {

// Base of all gRPC calls: a deadline and metadata, cancellation through a
// stop token, and the outcome.
class GrpcCall {
 public:
  GrpcCall(const Workload::Options& workload, const Client::Options& client,
           const std::stop_token& stop, Done done)
      : client_(client),
        done_(std::move(done)),
        on_stop_(stop, [this] { context_.TryCancel(); }) {
    for (const auto& [key, value] : workload.metadata) {
      context_.AddMetadata(key, value);
    }
    SetPriority(client.priority, &context_);
    context_.set_deadline(absl::ToChronoTime(absl::Now() + client.timeout));
  }

 protected:
  grpc::ClientContext* context() { return &context_; }
  CallOutcome* outcome() { return &outcome_; }

  // Deletes `self`, which is this call, and then reports its outcome. In this
  // order, since the callback may drop the channel: its last reference must not
  // be dropped on gRPC's own thread, because that joins the thread.
  template <typename Self>
  void End(Self* self, const grpc::Status& status) {
    outcome_.code = status.error_code();
    if (!status.ok()) {
      outcome_.message = std::string(
          CallStatus(status, context_, {client_.address, client_.timeout})
              .message());
    }
    const Done done = std::move(done_);
    CallOutcome outcome = std::move(outcome_);
    delete self;
    done(std::move(outcome));
  }

 private:
  const Client::Options& client_;
  Done done_;
  CallOutcome outcome_;
  grpc::ClientContext context_;
  // The last member: its destructor waits for a running cancellation.
  std::stop_callback<std::function<void()>> on_stop_;
};

// One unary call. Deletes itself at its end.
template <typename Request, typename Response>
class LoadCall : public GrpcCall {
 public:
  using GrpcCall::GrpcCall;

  // `method` is a member function of the service's stub.
  template <typename Service, typename Method>
  void Run(Service* service, Method method, Request request) {
    request_ = std::move(request);
    (service->*method)(context(), &request_, &response_,
                       [this](const grpc::Status& status) {
                         if (status.ok()) Examine(response_, outcome());
                         End(this, status);
                       });
  }

 private:
  Request request_;
  Response response_;
};

// One Generate call. Deletes itself at its end.
class GenerateCall : public GrpcCall,
                     public grpc::ClientReadReactor<v1::GenerateResponse> {
 public:
  using GrpcCall::GrpcCall;

  void Run(v1::Inference::StubInterface::async_interface* service,
           v1::GenerateRequest request) {
    request_ = std::move(request);
    service->Generate(context(), &request_, this);
    StartRead(&response_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    progress_.Add(response_, outcome());
    StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override { End(this, status); }

 private:
  v1::GenerateRequest request_;
  v1::GenerateResponse response_;
  GenerateProgress progress_;
};

// One TranslateStream or EncodeStream. Sends the start, then all inputs, while
// results are read. If a text fails, the call counts as failed. Deletes itself
// at its end.
template <typename Request, typename Response>
class StreamCall : public GrpcCall,
                   public grpc::ClientBidiReactor<Request, Response> {
 public:
  using Reactor = grpc::ClientBidiReactor<Request, Response>;
  using GrpcCall::GrpcCall;

  // `method` is a member function of the service's stub.
  template <typename Service, typename Method>
  void Run(Service* service, Method method, std::vector<Request> requests) {
    requests_ = std::move(requests);
    (service->*method)(context(), this);
    this->StartRead(&response_);
    this->StartWrite(&requests_[0]);
    this->StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return;
    if (++written_ < requests_.size()) {
      this->StartWrite(&requests_[written_]);
    } else {
      this->StartWritesDone();
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (response_.has_error() && failed_.ok()) {
      failed_ =
          grpc::Status(static_cast<grpc::StatusCode>(response_.error().code()),
                       response_.error().message());
    }
    CountTokens(response_.result(), outcome());
    this->StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    End(this, status.ok() ? grpc::Status(failed_) : status);
  }

 private:
  std::vector<Request> requests_;
  Response response_;
  size_t written_ = 0;
  grpc::Status failed_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_GRPC_CALLS_H_
