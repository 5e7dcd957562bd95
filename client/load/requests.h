#ifndef TRIVIUM_CLIENT_LOAD_REQUESTS_H_
#define TRIVIUM_CLIENT_LOAD_REQUESTS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/commands/score.h"
#include "client/load/workload.h"
#include "grpcpp/client_context.h"
#include "trivium/v1/inference.grpc.pb.h"
#include "trivium/v1/models.grpc.pb.h"

namespace trivium {

// Method pointers of a service's callback stub: for unary calls, and for
// bidirectional streams.
template <typename Service, typename Request, typename Response>
using UnaryMethod = void (Service::*)(grpc::ClientContext*, const Request*,
                                      Response*,
                                      std::function<void(grpc::Status)>);
template <typename Service, typename Request, typename Response>
using StreamMethod = void (Service::*)(
    grpc::ClientContext*, grpc::ClientBidiReactor<Request, Response>*);

// Makes the requests of planned calls and passes each to a transport by one of
//   transport->Unary(method, request)
//   transport->Generate(request)
//   transport->Stream(method, requests)    the start, then the items
//   transport->OpenAiEmbeddings(inputs)
// A transport that does not call `method` still learns the types from it.
template <typename Transport>
class RequestMaker {
 public:
  RequestMaker(const Workload::Options& options, Transport* transport)
      : options_(options), transport_(transport) {}

  void Make(const PlannedCall& call) {
    using Inference = v1::Inference::StubInterface::async_interface;
    using Models = v1::Models::StubInterface::async_interface;
    switch (call.kind) {
      case CallKind::kTranslate: {
        auto request = WithInputs<v1::TranslateRequest>(call);
        // Each text is then one request to the model.
        request.mutable_options()->set_split(v1::SPLIT_NONE);
        *request.mutable_options()->mutable_decoding() = options_.decoding;
        return transport_->Unary(&Inference::Translate, std::move(request));
      }
      case CallKind::kEncode:
        return transport_->Unary(&Inference::Encode,
                                 WithInputs<v1::EncodeRequest>(call));
      case CallKind::kScore: {
        auto request = New<v1::ScoreRequest>();
        for (const v1::Input& input : call.inputs) {
          *request.add_inputs() = ToScored(input.text());
        }
        return transport_->Unary(&Inference::Score, std::move(request));
      }
      case CallKind::kClassify:
        return transport_->Unary(&Inference::Classify,
                                 WithInputs<v1::ClassifyRequest>(call));
      case CallKind::kTag:
        return transport_->Unary(&Inference::ClassifyTokens,
                                 WithInputs<v1::ClassifyTokensRequest>(call));
      case CallKind::kFillMask:
        return transport_->Unary(&Inference::FillMask,
                                 WithInputs<v1::FillMaskRequest>(call));
      case CallKind::kRerank: {
        auto request = New<v1::RerankRequest>();
        request.set_query(options_.query);
        for (const v1::Input& input : call.inputs) {
          request.add_documents(input.text());
        }
        return transport_->Unary(&Inference::Rerank, std::move(request));
      }
      case CallKind::kSimilarity: {
        auto request = New<v1::SimilarityRequest>();
        request.mutable_first()->add_inputs()->set_text(options_.query);
        for (const v1::Input& input : call.inputs) {
          *request.mutable_second()->add_inputs() = input;
        }
        return transport_->Unary(&Inference::Similarity, std::move(request));
      }
      case CallKind::kAnswer: {
        auto request = New<v1::AnswerRequest>();
        for (const v1::Input& input : call.inputs) {
          auto* added = request.add_inputs();
          added->set_question(options_.query);
          added->set_context(input.text());
        }
        return transport_->Unary(&Inference::Answer, std::move(request));
      }
      case CallKind::kTokenize: {
        auto request = New<v1::TokenizeRequest>();
        for (const v1::Input& input : call.inputs) {
          request.add_texts(input.text());
        }
        return transport_->Unary(&Inference::Tokenize, std::move(request));
      }
      case CallKind::kDetokenize: {
        auto request = New<v1::DetokenizeRequest>();
        for (const v1::Input& input : call.inputs) {
          *request.add_inputs()->mutable_ids() = input.ids().ids();
        }
        return transport_->Unary(&Inference::Detokenize, std::move(request));
      }
      case CallKind::kModel: {
        v1::GetModelRequest request;
        request.set_name(options_.model);
        return transport_->Unary(&Models::GetModel, std::move(request));
      }
      case CallKind::kGenerate: {
        auto request = New<v1::GenerateRequest>();
        *request.mutable_input() = call.inputs.front();
        *request.mutable_decoding() = options_.decoding;
        // With ids, a token without text of its own makes a message, too, so
        // that gaps are between tokens.
        request.set_tokens(true);
        return transport_->Generate(std::move(request));
      }
      case CallKind::kTranslateStream: {
        auto first = Start<v1::TranslateStreamRequest>();
        auto* const options = first.mutable_start()->mutable_options();
        *options->mutable_decoding() = options_.decoding;
        options->set_split(v1::SPLIT_NONE);
        return transport_->Stream(&Inference::TranslateStream,
                                  WithItems(std::move(first), call));
      }
      case CallKind::kEncodeStream:
        return transport_->Stream(
            &Inference::EncodeStream,
            WithItems(Start<v1::EncodeStreamRequest>(), call));
      case CallKind::kOpenAiEmbeddings:
        return transport_->OpenAiEmbeddings(call.inputs);
    }
  }

 private:
  template <typename T>
  T New() const {
    T request;
    request.set_model(options_.model);
    return request;
  }
  template <typename T>
  T WithInputs(const PlannedCall& call) const {
    auto request = New<T>();
    for (const v1::Input& input : call.inputs) *request.add_inputs() = input;
    return request;
  }

  template <typename T>
  T Start() const {
    T first;
    first.mutable_start()->set_model(options_.model);
    return first;
  }
  template <typename T>
  static std::vector<T> WithItems(T first, const PlannedCall& call) {
    std::vector<T> requests = {std::move(first)};
    for (const v1::Input& input : call.inputs) {
      auto* item = requests.emplace_back().mutable_item();
      item->set_id(std::to_string(requests.size() - 1));
      *item->mutable_input() = input;
    }
    return requests;
  }

  const Workload::Options& options_;
  Transport* const transport_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_REQUESTS_H_
