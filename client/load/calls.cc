#include "client/load/calls.h"

#include <utility>

#include "client/channel.h"
#include "client/commands/score.h"
#include "client/load/outcomes.h"
#include "client/load/streams.h"
#include "trivium/v1/inference.grpc.pb.h"
#include "trivium/v1/models.grpc.pb.h"

namespace trivium {
namespace {

using Inference = v1::Inference::StubInterface::async_interface;
using Models = v1::Models::StubInterface::async_interface;

// A service's method that calls back when a call has ended.
template <typename Service, typename Request, typename Response>
using UnaryMethod = void (Service::*)(grpc::ClientContext*, const Request*,
                                      Response*,
                                      std::function<void(grpc::Status)>);

// One unary call; alive until its end, by the pointer its callback holds.
template <typename Request, typename Response>
struct UnaryCall {
  grpc::ClientContext context;
  Request request;
  Response response;
};

class GrpcCaller : public Caller {
 public:
  GrpcCaller(CallOptions options, const Client::Options& client,
             int connections)
      : options_(std::move(options)), client_(client) {
    for (int i = 0; i < connections; ++i) {
      const auto channel = MakeChannel(client_, /*own_connection=*/true);
      inference_.push_back(v1::Inference::NewStub(channel));
      models_.push_back(v1::Models::NewStub(channel));
    }
  }

  void Start(int64_t number, Done done) override {
    using Kind = CallOptions::Kind;
    Inference* const inference = InferenceOf(number);
    switch (options_.kind) {
      case Kind::kTranslate: {
        auto request = WithInputs<v1::TranslateRequest>(number);
        // So that a text is a request of the model.
        request.mutable_options()->set_split(v1::SPLIT_NONE);
        *request.mutable_options()->mutable_decoding() = options_.decoding;
        return Call(inference, &Inference::Translate, std::move(request), done);
      }
      case Kind::kEncode:
        return Call(inference, &Inference::Encode,
                    WithInputs<v1::EncodeRequest>(number), done);
      case Kind::kScore: {
        auto request = New<v1::ScoreRequest>();
        ForEachInput(number, [&](const v1::Input& input) {
          *request.add_inputs() = ToScored(input.text());
        });
        return Call(inference, &Inference::Score, std::move(request), done);
      }
      case Kind::kClassify:
        return Call(inference, &Inference::Classify,
                    WithInputs<v1::ClassifyRequest>(number), done);
      case Kind::kTag:
        return Call(inference, &Inference::ClassifyTokens,
                    WithInputs<v1::ClassifyTokensRequest>(number), done);
      case Kind::kFillMask:
        return Call(inference, &Inference::FillMask,
                    WithInputs<v1::FillMaskRequest>(number), done);
      case Kind::kRerank: {
        auto request = New<v1::RerankRequest>();
        request.set_query(options_.query);
        ForEachInput(number, [&](const v1::Input& input) {
          request.add_documents(input.text());
        });
        return Call(inference, &Inference::Rerank, std::move(request), done);
      }
      case Kind::kAnswer: {
        auto request = New<v1::AnswerRequest>();
        ForEachInput(number, [&](const v1::Input& input) {
          auto* added = request.add_inputs();
          added->set_question(options_.query);
          added->set_context(input.text());
        });
        return Call(inference, &Inference::Answer, std::move(request), done);
      }
      case Kind::kTokenize: {
        auto request = New<v1::TokenizeRequest>();
        ForEachInput(number, [&](const v1::Input& input) {
          request.add_texts(input.text());
        });
        return Call(inference, &Inference::Tokenize, std::move(request), done);
      }
      case Kind::kDetokenize: {
        auto request = New<v1::DetokenizeRequest>();
        ForEachInput(number, [&](const v1::Input& input) {
          *request.add_inputs()->mutable_ids() = input.ids().ids();
        });
        return Call(inference, &Inference::Detokenize, std::move(request),
                    done);
      }
      case Kind::kModel: {
        v1::GetModelRequest request;
        request.set_name(options_.model);
        return Call(ModelsOf(number), &Models::GetModel, std::move(request),
                    done);
      }
      case Kind::kGenerate: {
        auto request = New<v1::GenerateRequest>();
        *request.mutable_input() = Input(number);
        *request.mutable_decoding() = options_.decoding;
        // Ids with the pieces: a token without text of its own makes a message
        // too, so that gaps are between tokens.
        request.set_tokens(true);
        (new GenerateCall(options_, client_, std::move(request), done))
            ->Run(inference);
        return;
      }
      case Kind::kTranslateStream: {
        v1::TranslateStreamRequest first;
        first.mutable_start()->set_model(options_.model);
        auto* const options = first.mutable_start()->mutable_options();
        *options->mutable_decoding() = options_.decoding;
        options->set_split(v1::SPLIT_NONE);
        return Stream(number, &Inference::TranslateStream, std::move(first),
                      done);
      }
      case Kind::kEncodeStream: {
        v1::EncodeStreamRequest first;
        first.mutable_start()->set_model(options_.model);
        return Stream(number, &Inference::EncodeStream, std::move(first), done);
      }
    }
  }

 private:
  const v1::Input& Input(int64_t number) const {
    return options_.inputs[number % options_.inputs.size()];
  }

  // The services on the connection whose turn it is.
  Inference* InferenceOf(int64_t number) const {
    return inference_[number % inference_.size()]->async();
  }
  Models* ModelsOf(int64_t number) const {
    return models_[number % models_.size()]->async();
  }

  // Calls f with each input of a call.
  template <typename F>
  void ForEachInput(int64_t number, const F& f) const {
    for (int i = 0; i < options_.inputs_per_call; ++i) {
      f(Input(number * options_.inputs_per_call + i));
    }
  }

  template <typename T>
  T New() const {
    T request;
    request.set_model(options_.model);
    return request;
  }
  template <typename T>
  T WithInputs(int64_t number) const {
    auto request = New<T>();
    ForEachInput(
        number, [&](const v1::Input& input) { *request.add_inputs() = input; });
    return request;
  }

  template <typename Request, typename Response>
  void Stream(
      int64_t number,
      void (Inference::*method)(grpc::ClientContext*,
                                grpc::ClientBidiReactor<Request, Response>*),
      Request first, const Done& done) {
    std::vector<Request> requests = {std::move(first)};
    ForEachInput(number, [&](const v1::Input& input) {
      auto* item = requests.emplace_back().mutable_item();
      item->set_id(std::to_string(requests.size() - 1));
      *item->mutable_input() = input;
    });
    (new StreamCall<Request, Response>(options_, client_, std::move(requests),
                                       done))
        ->Run(InferenceOf(number), method);
  }

  template <typename Service, typename Request, typename Response>
  void Call(Service* service, UnaryMethod<Service, Request, Response> method,
            Request request, Done done) {
    auto call = std::make_shared<UnaryCall<Request, Response>>();
    Begin(options_, client_, &call->context);
    call->request = std::move(request);
    (service->*method)(&call->context, &call->request, &call->response,
                       [this, call, done = std::move(done)](
                           const grpc::Status& status) mutable {
                         CallOutcome outcome;
                         SetStatus(status, call->context, client_, &outcome);
                         if (status.ok()) Examine(call->response, &outcome);
                         // Before `done`: after it the caller may drop its
                         // channel, whose last reference must not go on gRPC's
                         // own thread, since that joins the thread.
                         call.reset();
                         done(std::move(outcome));
                       });
  }

  const CallOptions options_;
  const Client::Options client_;
  std::vector<std::unique_ptr<v1::Inference::Stub>> inference_;
  std::vector<std::unique_ptr<v1::Models::Stub>> models_;
};

}  // namespace

std::unique_ptr<Caller> MakeGrpcCaller(CallOptions options,
                                       const Client::Options& client,
                                       int connections) {
  return std::make_unique<GrpcCaller>(std::move(options), client, connections);
}

}  // namespace trivium
