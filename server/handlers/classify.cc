// Classify: texts to labels. Rerank: documents in the order of their labels'
// scores.
#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/handlers/handlers.h"
#include "server/handlers/head_call.h"
#include "server/handlers/status.h"

namespace trivium {
namespace {

class ClassifyCall : public HeadCall {
 public:
  using HeadCall::HeadCall;

 private:
  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(
        OpenHead(&request_, "Classify", {HeadKind::kClassify}));
    set_truncate(request_.has_truncate(), request_.truncate());
    if (request_.has_top() && request_.top() == 0) {
      return InvalidField("top", "is 0; ask for at least one label");
    }
    return CheckInputCount(request_.inputs_size(), "inputs", limits);
  }

  int64_t TextBytes() const override {
    return trivium::TextBytes(request_.inputs());
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    std::vector<Request> requests;
    for (int i = 0; i < request_.inputs_size(); ++i) {
      TRIVIUM_RETURN_IF_ERROR(
          AddInput(request_.inputs(i), FieldOf(i), &requests));
    }
    return requests;
  }

  const google::protobuf::Message& Respond(
      std::vector<RequestResult> results) override {
    for (size_t i = 0; i < results.size(); ++i) {
      v1::Classification* out = response_.add_results();
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
    return WithTimings(&response_);
  }

  v1::ClassifyRequest request_;
  v1::ClassifyResponse response_;
};

class RerankCall : public HeadCall {
 public:
  using HeadCall::HeadCall;

 private:
  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(
        OpenHead(&request_, "Rerank", {HeadKind::kClassify}));
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

  const google::protobuf::Message& Respond(
      std::vector<RequestResult> results) override {
    std::vector<float> logits, scores;
    for (const RequestResult& result : results) {
      logits.push_back(result.logits.back());
      scores.push_back(ToScores(result.logits, head().scores).back());
    }
    // A sigmoid's ends round to one score; the logits still tell them apart.
    const bool one = results.front().logits.size() == 1;
    const size_t top = request_.has_top() ? request_.top() : results.size();
    for (const int index : LargestFirst(one ? logits : scores, top)) {
      v1::RerankResponse::Document* out = response_.add_documents();
      out->set_index(static_cast<uint32_t>(index));
      out->set_score(scores[index]);
      out->set_logit(logits[index]);
      out->set_token_count(token_count(index));
      out->set_truncated_tokens(inputs()[index].truncated);
    }
    return WithTimings(&response_);
  }

  v1::RerankRequest request_;
  v1::RerankResponse response_;
};

}  // namespace

std::unique_ptr<Handler> NewClassify(const Environment& environment,
                                     CallContext context,
                                     Transport* transport) {
  return std::make_unique<ClassifyCall>(environment, std::move(context),
                                        Rpc::kClassify, transport);
}

std::unique_ptr<Handler> NewRerank(const Environment& environment,
                                   CallContext context, Transport* transport) {
  return std::make_unique<RerankCall>(environment, std::move(context),
                                      Rpc::kRerank, transport);
}

}  // namespace trivium
