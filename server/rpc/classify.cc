// Classify: texts to labels. Rerank: documents in the order of their labels'
// scores.
#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/rpc/handlers.h"
#include "server/rpc/head_call.h"
#include "server/rpc/status.h"
#include "server/rpc/wire.h"

namespace trivium {
namespace {

class ClassifyCall : public HeadCall {
 public:
  using HeadCall::HeadCall;

 private:
  absl::Status Parse(const grpc::ByteBuffer& request) override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(
        ParseMessage(request, limits.max_request_bytes, &request_));
    TRIVIUM_RETURN_IF_ERROR(
        FindHead(request_.model(), "Classify", {HeadKind::kClassify}));
    set_truncate(request_.has_truncate(), request_.truncate());
    if (request_.has_top() && request_.top() == 0) {
      return InvalidField("top", "is 0; ask for at least one label");
    }
    return CheckInputCount(request_.inputs_size(), "inputs", limits);
  }

  int64_t TextBytes() const override {
    int64_t bytes = 0;
    for (const v1::Input& input : request_.inputs()) {
      bytes += trivium::TextBytes(input);
    }
    return bytes;
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    std::vector<Request> requests;
    for (int i = 0; i < request_.inputs_size(); ++i) {
      TRIVIUM_RETURN_IF_ERROR(
          AddInput(request_.inputs(i), FieldOf(i), &requests));
    }
    return requests;
  }

  std::string FieldOf(int request) const override {
    return fmt::format("inputs[{}]", request);
  }

  absl::Status Respond(std::vector<RequestResult> results,
                       grpc::ByteBuffer* response) override {
    v1::ClassifyResponse message;
    for (size_t i = 0; i < results.size(); ++i) {
      v1::Classification* out = message.add_results();
      const std::vector<float>& logits = results[i].logits;
      const std::vector<float> scores = ToScores(logits, head().scores);
      const size_t top = request_.has_top() ? request_.top() : logits.size();
      for (const int index : LargestFirst(logits, top)) {
        v1::Label* label = out->add_labels();
        label->set_label(head().labels[index]);
        label->set_score(scores[index]);
        label->set_logit(logits[index]);
        label->set_index(static_cast<uint32_t>(index));
      }
      out->set_token_count(token_count(i));
      out->set_truncated_tokens(inputs()[i].truncated);
    }
    return Send(&message, response);
  }

  v1::ClassifyRequest request_;
};

class RerankCall : public HeadCall {
 public:
  using HeadCall::HeadCall;

 private:
  absl::Status Parse(const grpc::ByteBuffer& request) override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(
        ParseMessage(request, limits.max_request_bytes, &request_));
    TRIVIUM_RETURN_IF_ERROR(
        FindHead(request_.model(), "Rerank", {HeadKind::kClassify}));
    set_truncate(request_.has_truncate(), request_.truncate());
    if (request_.has_top() && request_.top() == 0) {
      return InvalidField("top", "is 0; ask for at least one document");
    }
    return CheckInputCount(request_.documents_size(), "documents", limits);
  }

  int64_t TextBytes() const override {
    auto bytes = static_cast<int64_t>(request_.query().size());
    for (const std::string& document : request_.documents()) {
      bytes += static_cast<int64_t>(document.size());
    }
    return bytes;
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    TRIVIUM_ASSIGN_OR_RETURN(
        std::vector<PreparedInput> pairs,
        ConvertPairs(request_.query(), "query", request_.documents(),
                     "documents", options()));
    std::vector<Request> requests;
    for (PreparedInput& pair : pairs) AddPrepared(std::move(pair), &requests);
    return requests;
  }

  std::string FieldOf(int request) const override {
    return fmt::format("documents[{}]", request);
  }

  absl::Status Respond(std::vector<RequestResult> results,
                       grpc::ByteBuffer* response) override {
    std::vector<float> logits, scores;
    for (const RequestResult& result : results) {
      logits.push_back(result.logits.back());
      scores.push_back(ToScores(result.logits, head().scores).back());
    }
    // A sigmoid's ends round to one score; the logits still tell them apart.
    const bool one = results.front().logits.size() == 1;
    const size_t top = request_.has_top() ? request_.top() : results.size();
    v1::RerankResponse message;
    for (const int index : LargestFirst(one ? logits : scores, top)) {
      v1::RerankResponse::Document* out = message.add_documents();
      out->set_index(static_cast<uint32_t>(index));
      out->set_score(scores[index]);
      out->set_logit(logits[index]);
      out->set_token_count(token_count(index));
      out->set_truncated_tokens(inputs()[index].truncated);
    }
    return Send(&message, response);
  }

  v1::RerankRequest request_;
};

}  // namespace

grpc::ServerUnaryReactor* HandleClassify(const Environment& environment,
                                         grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) {
  auto* call =
      new ClassifyCall(environment, context, Rpc::kClassify, request, response);
  call->Start();
  return call;
}

grpc::ServerUnaryReactor* HandleRerank(const Environment& environment,
                                       grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) {
  auto* call =
      new RerankCall(environment, context, Rpc::kRerank, request, response);
  call->Start();
  return call;
}

}  // namespace trivium
