#include "client/load/calls.h"

#include <utility>

#include "client/call_status.h"
#include "client/channel.h"
#include "grpcpp/support/client_callback.h"

namespace trivium {
namespace {

using Done = std::function<void(CallOutcome)>;

void CountTokens(const v1::TranslateResponse& response, CallOutcome* outcome) {
  for (const v1::TranslateResult& result : response.results()) {
    outcome->source_tokens += result.source_token_count();
    for (const v1::Hypothesis& hypothesis : result.hypotheses()) {
      outcome->new_tokens += hypothesis.token_count();
    }
  }
}

void CountTokens(const v1::EncodeResponse& response, CallOutcome* outcome) {
  for (const v1::EncodeResult& result : response.results()) {
    outcome->source_tokens += result.token_count();
  }
}

void SetStatus(const grpc::Status& status, const grpc::ClientContext& context,
               const Client::Options& client, CallOutcome* outcome) {
  outcome->code = status.error_code();
  if (!status.ok()) {
    outcome->message = std::string(
        CallStatus(status, context, {client.address, client.timeout})
            .message());
  }
}

// One unary call; alive until its end, by the pointer its callback holds.
template <typename Request, typename Response>
struct UnaryCall {
  grpc::ClientContext context;
  Request request;
  Response response;
};

// One Generate; deletes itself at its end.
class GenerateCall : public grpc::ClientReadReactor<v1::GenerateResponse> {
 public:
  GenerateCall(const Client::Options& client, v1::GenerateRequest request,
               Done done)
      : client_(client), request_(std::move(request)), done_(std::move(done)) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + client.timeout));
  }

  void Run(v1::Inference::Stub& stub) {
    stub.async()->Generate(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (outcome_.first_piece == absl::InfinitePast()) {
      outcome_.first_piece = absl::Now();
    }
    if (response_.has_done()) {
      outcome_.source_tokens = response_.done().source_token_count();
      outcome_.new_tokens += response_.done().token_count();
    }
    StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    SetStatus(status, context_, client_, &outcome_);
    // Before `done`, as in StartUnary.
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
  CallOutcome outcome_;
};

class GrpcCaller : public Caller {
 public:
  GrpcCaller(CallOptions options, const Client::Options& client,
             int connections)
      : options_(std::move(options)), client_(client) {
    for (int i = 0; i < connections; ++i) {
      stubs_.push_back(v1::Inference::NewStub(
          MakeChannel(client_, /*own_connection=*/true)));
    }
  }

  void Start(int64_t number, Done done) override {
    v1::Inference::Stub& stub = *stubs_[number % stubs_.size()];
    switch (options_.kind) {
      case CallOptions::Kind::kTranslate: {
        v1::TranslateRequest request;
        *request.mutable_options()->mutable_decoding() = options_.decoding;
        StartUnary<v1::TranslateResponse>(
            number, std::move(request), std::move(done),
            [&stub](auto&&... arguments) {
              stub.async()->Translate(
                  std::forward<decltype(arguments)>(arguments)...);
            });
        return;
      }
      case CallOptions::Kind::kEncode:
        StartUnary<v1::EncodeResponse>(
            number, v1::EncodeRequest(), std::move(done),
            [&stub](auto&&... arguments) {
              stub.async()->Encode(
                  std::forward<decltype(arguments)>(arguments)...);
            });
        return;
      case CallOptions::Kind::kGenerate: {
        v1::GenerateRequest request;
        request.set_model(options_.model);
        request.mutable_input()->set_text(Text(number));
        *request.mutable_decoding() = options_.decoding;
        (new GenerateCall(client_, std::move(request), std::move(done)))
            ->Run(stub);
        return;
      }
    }
  }

 private:
  const std::string& Text(int64_t number) const {
    return options_.texts[number % options_.texts.size()];
  }

  template <typename Response, typename Request, typename Method>
  void StartUnary(int64_t number, Request request, Done done, Method method) {
    auto call = std::make_shared<UnaryCall<Request, Response>>();
    call->context.set_deadline(
        absl::ToChronoTime(absl::Now() + client_.timeout));
    call->request = std::move(request);
    call->request.set_model(options_.model);
    for (int i = 0; i < options_.inputs_per_call; ++i) {
      call->request.add_inputs()->set_text(
          Text(number * options_.inputs_per_call + i));
    }
    method(&call->context, &call->request, &call->response,
           [this, call,
            done = std::move(done)](const grpc::Status& status) mutable {
             CallOutcome outcome;
             SetStatus(status, call->context, client_, &outcome);
             if (status.ok()) CountTokens(call->response, &outcome);
             // Before `done`: after it the caller may drop its channel, whose
             // last reference must not go on gRPC's own thread, since that
             // joins the thread.
             call.reset();
             done(std::move(outcome));
           });
  }

  const CallOptions options_;
  const Client::Options client_;
  std::vector<std::unique_ptr<v1::Inference::Stub>> stubs_;
};

}  // namespace

std::unique_ptr<Caller> MakeGrpcCaller(CallOptions options,
                                       const Client::Options& client,
                                       int connections) {
  return std::make_unique<GrpcCaller>(std::move(options), client, connections);
}

}  // namespace trivium
