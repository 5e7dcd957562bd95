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

void Examine(const v1::RerankResponse& response, CallOutcome* outcome) {
  outcome->model_time = ModelTime(response.timings());
  for (const auto& document : response.documents()) {
    outcome->source_tokens += document.token_count();
  }
}

void Examine(const v1::TokenizeResponse& response, CallOutcome* outcome) {
  for (const auto& result : response.results()) {
    outcome->source_tokens += result.tokens_size();
  }
}

// Calls without work of the model.
void Examine(const v1::DetokenizeResponse&, CallOutcome*) {}
void Examine(const v1::Model&, CallOutcome*) {}

// The other heads' calls are alike.
template <typename Response>
void Examine(const Response& response, CallOutcome* outcome) {
  outcome->model_time = ModelTime(response.timings());
  for (const auto& result : response.results()) {
    outcome->source_tokens += result.token_count();
  }
}

// One result of a stream.
void ExamineItem(const v1::TranslateResult& result, CallOutcome* outcome) {
  outcome->source_tokens += result.source_token_count();
  for (const v1::Hypothesis& hypothesis : result.hypotheses()) {
    outcome->new_tokens += hypothesis.token_count();
  }
}

void ExamineItem(const v1::EncodeResult& result, CallOutcome* outcome) {
  outcome->source_tokens += result.token_count();
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

// One TranslateStream or EncodeStream: the start, then all inputs, while
// results are read; deletes itself at its end. A text that fails is the call's
// failure.
template <typename Request, typename Response>
class StreamCall : public grpc::ClientBidiReactor<Request, Response> {
 public:
  StreamCall(const CallOptions& options, const Client::Options& client,
             std::vector<Request> requests, Done done)
      : client_(client),
        requests_(std::move(requests)),
        done_(std::move(done)) {
    AddMetadata(options, &context_);
    context_.set_deadline(absl::ToChronoTime(absl::Now() + client.timeout));
  }

  // `method`(context, reactor) begins the call.
  template <typename Method>
  void Run(const Method& method) {
    method(&context_, this);
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
    ExamineItem(response_.result(), &outcome_);
    this->StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    SetStatus(status.ok() ? failed_ : status, context_, client_, &outcome_);
    // Before `done`, as in StartUnary.
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
    using Kind = CallOptions::Kind;
    switch (options_.kind) {
      case Kind::kTranslate: {
        auto request = WithInputs<v1::TranslateRequest>(number);
        *request.mutable_options()->mutable_decoding() = options_.decoding;
        return StartUnary<v1::TranslateResponse>(
            std::move(request), std::move(done), [&](auto&&... arguments) {
              StubOf(number).async()->Translate(
                  std::forward<decltype(arguments)>(arguments)...);
            });
      }
      case Kind::kEncode:
        return StartUnary<v1::EncodeResponse>(
            WithInputs<v1::EncodeRequest>(number), std::move(done),
            [&](auto&&... arguments) {
              StubOf(number).async()->Encode(
                  std::forward<decltype(arguments)>(arguments)...);
            });
      case Kind::kClassify:
        return StartUnary<v1::ClassifyResponse>(
            WithInputs<v1::ClassifyRequest>(number), std::move(done),
            [&](auto&&... arguments) {
              StubOf(number).async()->Classify(
                  std::forward<decltype(arguments)>(arguments)...);
            });
      case Kind::kTag:
        return StartUnary<v1::ClassifyTokensResponse>(
            WithInputs<v1::ClassifyTokensRequest>(number), std::move(done),
            [&](auto&&... arguments) {
              StubOf(number).async()->ClassifyTokens(
                  std::forward<decltype(arguments)>(arguments)...);
            });
      case Kind::kFillMask:
        return StartUnary<v1::FillMaskResponse>(
            WithInputs<v1::FillMaskRequest>(number), std::move(done),
            [&](auto&&... arguments) {
              StubOf(number).async()->FillMask(
                  std::forward<decltype(arguments)>(arguments)...);
            });
      case Kind::kRerank: {
        v1::RerankRequest request;
        request.set_model(options_.model);
        request.set_query(options_.query);
        ForEachInput(number, [&](const v1::Input& input) {
          request.add_documents(input.text());
        });
        return StartUnary<v1::RerankResponse>(
            std::move(request), std::move(done), [&](auto&&... arguments) {
              StubOf(number).async()->Rerank(
                  std::forward<decltype(arguments)>(arguments)...);
            });
      }
      case Kind::kAnswer: {
        v1::AnswerRequest request;
        request.set_model(options_.model);
        ForEachInput(number, [&](const v1::Input& input) {
          auto* added = request.add_inputs();
          added->set_question(options_.query);
          added->set_context(input.text());
        });
        return StartUnary<v1::AnswerResponse>(
            std::move(request), std::move(done), [&](auto&&... arguments) {
              StubOf(number).async()->Answer(
                  std::forward<decltype(arguments)>(arguments)...);
            });
      }
      case Kind::kTokenize: {
        v1::TokenizeRequest request;
        request.set_model(options_.model);
        ForEachInput(number, [&](const v1::Input& input) {
          request.add_texts(input.text());
        });
        return StartUnary<v1::TokenizeResponse>(
            std::move(request), std::move(done), [&](auto&&... arguments) {
              StubOf(number).async()->Tokenize(
                  std::forward<decltype(arguments)>(arguments)...);
            });
      }
      case Kind::kDetokenize: {
        v1::DetokenizeRequest request;
        request.set_model(options_.model);
        ForEachInput(number, [&](const v1::Input& input) {
          *request.add_inputs()->mutable_ids() = input.ids().ids();
        });
        return StartUnary<v1::DetokenizeResponse>(
            std::move(request), std::move(done), [&](auto&&... arguments) {
              StubOf(number).async()->Detokenize(
                  std::forward<decltype(arguments)>(arguments)...);
            });
      }
      case Kind::kModel: {
        v1::Models::Stub& models = *model_stubs_[number % model_stubs_.size()];
        v1::GetModelRequest request;
        request.set_name(options_.model);
        return StartUnary<v1::Model>(
            std::move(request), std::move(done), [&](auto&&... arguments) {
              models.async()->GetModel(
                  std::forward<decltype(arguments)>(arguments)...);
            });
      }
      case Kind::kGenerate: {
        v1::GenerateRequest request;
        request.set_model(options_.model);
        *request.mutable_input() = Input(number);
        *request.mutable_decoding() = options_.decoding;
        // Ids with the pieces: a token without text of its own makes a message
        // too, so that gaps are between tokens.
        request.set_tokens(true);
        (new GenerateCall(options_, client_, std::move(request),
                          std::move(done)))
            ->Run(StubOf(number));
        return;
      }
      case Kind::kTranslateStream: {
        v1::TranslateStreamRequest first;
        first.mutable_start()->set_model(options_.model);
        *first.mutable_start()->mutable_options()->mutable_decoding() =
            options_.decoding;
        return StartStream<v1::TranslateStreamResponse>(
            number, std::move(first), std::move(done),
            [&](grpc::ClientContext* context, auto* reactor) {
              StubOf(number).async()->TranslateStream(context, reactor);
            });
      }
      case Kind::kEncodeStream: {
        v1::EncodeStreamRequest first;
        first.mutable_start()->set_model(options_.model);
        return StartStream<v1::EncodeStreamResponse>(
            number, std::move(first), std::move(done),
            [&](grpc::ClientContext* context, auto* reactor) {
              StubOf(number).async()->EncodeStream(context, reactor);
            });
      }
    }
  }

 private:
  const v1::Input& Input(int64_t number) const {
    return options_.inputs[number % options_.inputs.size()];
  }

  v1::Inference::Stub& StubOf(int64_t number) const {
    return *stubs_[number % stubs_.size()];
  }

  // Calls f with each input of a call.
  template <typename F>
  void ForEachInput(int64_t number, const F& f) const {
    for (int i = 0; i < options_.inputs_per_call; ++i) {
      f(Input(number * options_.inputs_per_call + i));
    }
  }

  template <typename Request>
  Request WithInputs(int64_t number) const {
    Request request;
    request.set_model(options_.model);
    ForEachInput(
        number, [&](const v1::Input& input) { *request.add_inputs() = input; });
    return request;
  }

  template <typename Response, typename Request, typename Method>
  void StartStream(int64_t number, Request first, Done done,
                   const Method& method) {
    std::vector<Request> requests = {std::move(first)};
    ForEachInput(number, [&](const v1::Input& input) {
      auto* item = requests.emplace_back().mutable_item();
      item->set_id(std::to_string(requests.size() - 1));
      *item->mutable_input() = input;
    });
    (new StreamCall<Request, Response>(options_, client_, std::move(requests),
                                       std::move(done)))
        ->Run(method);
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
