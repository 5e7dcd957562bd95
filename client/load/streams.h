#ifndef TRIVIUM_CLIENT_LOAD_STREAMS_H_
#define TRIVIUM_CLIENT_LOAD_STREAMS_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/client.h"
#include "client/load/calls.h"
#include "client/load/outcomes.h"
#include "client/load/report.h"
#include "client/priority.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "trivium/v1/inference.grpc.pb.h"

namespace trivium {

using Done = std::function<void(CallOutcome)>;

// The deadline and the metadata of a call that starts now.
inline void Begin(const CallOptions& options, const Client::Options& client,
                  grpc::ClientContext* context) {
  for (const auto& [key, value] : options.metadata) {
    context->AddMetadata(key, value);
  }
  SetPriority(client.priority, context);
  context->set_deadline(absl::ToChronoTime(absl::Now() + client.timeout));
}

// One Generate; deletes itself at its end.
class GenerateCall : public grpc::ClientReadReactor<v1::GenerateResponse> {
 public:
  GenerateCall(const CallOptions& options, const Client::Options& client,
               v1::GenerateRequest request, Done done)
      : client_(client), request_(std::move(request)), done_(std::move(done)) {
    Begin(options, client, &context_);
  }

  void Run(v1::Inference::StubInterface::async_interface* service) {
    service->Generate(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    const absl::Time now = absl::Now();
    if (outcome_.first_piece == absl::InfinitePast()) {
      outcome_.first_piece = now;
    } else if (response_.has_piece()) {
      outcome_.piece_gaps.push_back(absl::ToDoubleSeconds(now - last_piece_));
    }
    last_piece_ = now;
    if (response_.has_done()) {
      outcome_.model_time = ModelTime(response_.done().timings());
      outcome_.source_tokens = response_.done().source_token_count();
      outcome_.new_tokens += response_.done().token_count();
    }
    StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    SetStatus(status, context_, client_, &outcome_);
    // Before `done`, as in StartUnary (calls.cc).
    const Done done = done_;
    CallOutcome outcome = std::move(outcome_);
    delete this;
    done(std::move(outcome));
  }

 private:
  const Client::Options& client_;
  const v1::GenerateRequest request_;
  const Done done_;
  grpc::ClientContext context_;
  v1::GenerateResponse response_;
  absl::Time last_piece_;
  CallOutcome outcome_;
};

// One TranslateStream or EncodeStream: the start, then all inputs, while
// results are read; deletes itself at its end. A text that fails is the call's
// failure.
template <typename Request, typename Response>
class StreamCall : public grpc::ClientBidiReactor<Request, Response> {
 public:
  using Reactor = grpc::ClientBidiReactor<Request, Response>;

  StreamCall(const CallOptions& options, const Client::Options& client,
             std::vector<Request> requests, Done done)
      : client_(client),
        requests_(std::move(requests)),
        done_(std::move(done)) {
    Begin(options, client, &context_);
  }

  // `method` is the service's.
  template <typename Service>
  void Run(Service* service,
           void (Service::*method)(grpc::ClientContext*, Reactor*)) {
    (service->*method)(&context_, this);
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
    CountTokens(response_.result(), &outcome_);
    this->StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    SetStatus(status.ok() ? failed_ : status, context_, client_, &outcome_);
    // Before `done`, as in StartUnary (calls.cc).
    const Done done = done_;
    CallOutcome outcome = std::move(outcome_);
    delete this;
    done(std::move(outcome));
  }

 private:
  const Client::Options& client_;
  const std::vector<Request> requests_;
  const Done done_;
  grpc::ClientContext context_;
  Response response_;
  size_t written_ = 0;
  grpc::Status failed_;
  CallOutcome outcome_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_STREAMS_H_
