#include "client/load/calls.h"

#include <utility>

#include "client/call_status.h"
#include "client/channel.h"
#include "grpcpp/support/client_callback.h"
#include "trivium/v1/inference.grpc.pb.h"
#include "trivium/v1/models.grpc.pb.h"

namespace trivium {
namespace {

using Done = std::function<void(CallOutcome)>;

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) +
         absl::Nanoseconds(duration.nanos());
}

absl::Duration ModelTime(const v1::Timings& timings) {
  return ToDuration(timings.tokenize()) + ToDuration(timings.inference());
}

void Examine(const v1::TranslateResponse& response, CallOutcome* outcome) {
  outcome->model_time = ModelTime(response.timings());
  for (const v1::TranslateResult& result : response.results()) {
    outcome->source_tokens += result.source_token_count();
    for (const v1::Hypothesis& hypothesis : result.hypotheses()) {
      outcome->new_tokens += hypothesis.token_count();
    }
  }
}

void Examine(const v1::EncodeResponse& response, CallOutcome* outcome) {
  outcome->model_time = ModelTime(response.timings());
  for (const v1::EncodeResult& result : response.results()) {
    outcome->source_tokens += result.token_count();
  }
}

void Examine(const v1::Model& response, CallOutcome* outcome) {}

void SetStatus(const grpc::Status& status, const grpc::ClientContext& context,
               const Client::Options& client, CallOutcome* outcome) {
  outcome->code = status.error_code();
  if (!status.ok()) {
    outcome->message = std::string(
        CallStatus(status, context, {client.address, client.timeout})
            .message());
  }
}

void AddMetadata(const CallOptions& options, grpc::ClientContext* context) {
  for (const auto& [key, value] : options.metadata) {
    context->AddMetadata(key, value);
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
  GenerateCall(const CallOptions& options, const Client::Options& client,
               v1::GenerateRequest request, Done done)
      : client_(client), request_(std::move(request)), done_(std::move(done)) {
    AddMetadata(options, &context_);
    context_.set_deadline(absl::ToChronoTime(absl::Now() + client.timeout));
  }

  void Run(v1::Inference::Stub& stub) {
    stub.async()->Generate(&context_, &request_, this);
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
  absl::Time last_piece_;
  CallOutcome outcome_;
};

class GrpcCaller : public Caller {
 public:
  GrpcCaller(CallOptions options, const Client::Options& client,
             int connections)
      : options_(std::move(options)), client_(client) {
    for (int i = 0; i < connections; ++i) {
      const auto channel = MakeChannel(client_, /*own_connection=*/true);
      stubs_.push_back(v1::Inference::NewStub(channel));
      model_stubs_.push_back(v1::Models::NewStub(channel));
    }
  }

  void Start(int64_t number, Done done) override {
    v1::Inference::Stub& stub = *stubs_[number % stubs_.size()];
    switch (options_.kind) {
      case CallOptions::Kind::kTranslate: {
        v1::TranslateRequest request;
        *request.mutable_options()->mutable_decoding() = options_.decoding;
        AddInputs(number, &request);
        StartUnary<v1::TranslateResponse>(
            std::move(request), std::move(done), [&stub](auto&&... arguments) {
              stub.async()->Translate(
                  std::forward<decltype(arguments)>(arguments)...);
            });
        return;
      }
      case CallOptions::Kind::kEncode: {
        v1::EncodeRequest request;
        AddInputs(number, &request);
        StartUnary<v1::EncodeResponse>(
            std::move(request), std::move(done), [&stub](auto&&... arguments) {
              stub.async()->Encode(
                  std::forward<decltype(arguments)>(arguments)...);
            });
        return;
      }
      case CallOptions::Kind::kGenerate: {
        v1::GenerateRequest request;
        request.set_model(options_.model);
        *request.mutable_input() = Input(number);
        *request.mutable_decoding() = options_.decoding;
        // Ids with the pieces: a token without text of its own makes a message
        // too, so that gaps are between tokens.
        request.set_tokens(true);
        (new GenerateCall(options_, client_, std::move(request),
                          std::move(done)))
            ->Run(stub);
        return;
      }
      case CallOptions::Kind::kModel: {
        v1::Models::Stub& models = *model_stubs_[number % stubs_.size()];
        v1::GetModelRequest request;
        request.set_name(options_.model);
        StartUnary<v1::Model>(
            std::move(request), std::move(done),
            [&models](auto&&... arguments) {
              models.async()->GetModel(
                  std::forward<decltype(arguments)>(arguments)...);
            });
        return;
      }
    }
  }

 private:
  const v1::Input& Input(int64_t number) const {
    return options_.inputs[number % options_.inputs.size()];
  }

  // The model and the inputs of a translate or encode.
  template <typename Request>
  void AddInputs(int64_t number, Request* request) const {
    request->set_model(options_.model);
    for (int i = 0; i < options_.inputs_per_call; ++i) {
      *request->add_inputs() = Input(number * options_.inputs_per_call + i);
    }
  }

  template <typename Response, typename Request, typename Method>
  void StartUnary(Request request, Done done, Method method) {
    auto call = std::make_shared<UnaryCall<Request, Response>>();
    call->context.set_deadline(
        absl::ToChronoTime(absl::Now() + client_.timeout));
    AddMetadata(options_, &call->context);
    call->request = std::move(request);
    method(&call->context, &call->request, &call->response,
           [this, call,
            done = std::move(done)](const grpc::Status& status) mutable {
             CallOutcome outcome;
             SetStatus(status, call->context, client_, &outcome);
             if (status.ok()) Examine(call->response, &outcome);
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
  std::vector<std::unique_ptr<v1::Models::Stub>> model_stubs_;
};

}  // namespace

std::unique_ptr<Caller> MakeGrpcCaller(CallOptions options,
                                       const Client::Options& client,
                                       int connections) {
  return std::make_unique<GrpcCaller>(std::move(options), client, connections);
}

}  // namespace trivium
