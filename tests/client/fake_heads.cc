// The calls of the fake server that need a model with a head.
#include "fmt/format.h"
#include "tests/client/fake_server.h"

namespace trivium {

grpc::Status FakeServer::Classify(grpc::ServerContext* context,
                                  const v1::ClassifyRequest* request,
                                  v1::ClassifyResponse* response) {
  if (grpc::Status status = Begin(context); !status.ok()) return status;
  for (int i = 0; i < request->inputs_size(); ++i) {
    const v1::Input& input = request->inputs(i);
    if (input.text() == "bad") {
      return BadRequest(fmt::format("inputs[{}].text", i));
    }
    v1::Classification* result = response->add_results();
    for (const std::string& text :
         {input.has_pair() ? input.pair().first() : input.text(),
          input.pair().second()}) {
      v1::Label* label = result->add_labels();
      label->set_label("<" + text + ">");
      label->set_score(0.5f);
    }
  }
  return grpc::Status::OK;
}

grpc::Status FakeServer::Similarity(grpc::ServerContext* context,
                                    const v1::SimilarityRequest* request,
                                    v1::SimilarityResponse* response) {
  if (grpc::Status status = Begin(context); !status.ok()) return status;
  Keep(*request, &last_similarity);
  const auto& second =
      request->has_second() ? request->second() : request->first();
  for (int i = 0; i < request->first().inputs_size(); ++i) {
    if (request->first().inputs(i).text() == "bad") {
      return BadRequest(fmt::format("first.inputs[{}].text", i));
    }
    response->add_first()->set_token_count(2);
    for (int k = 0; k < second.inputs_size(); ++k) response->add_scores(0.5f);
  }
  for (int k = 0; k < second.inputs_size(); ++k) {
    if (second.inputs(k).text() == "bad") {
      return BadRequest(fmt::format("second.inputs[{}].text", k));
    }
    response->add_second()->set_token_count(3);
  }
  return grpc::Status::OK;
}

grpc::Status FakeServer::Rerank(grpc::ServerContext* context,
                                const v1::RerankRequest* request,
                                v1::RerankResponse* response) {
  if (grpc::Status status = Begin(context); !status.ok()) return status;
  Keep(*request, &last_rerank);
  for (int i = request->documents_size() - 1; i >= 0; --i) {
    if (request->documents(i) == "bad") {
      return BadRequest(fmt::format("documents[{}]", i));
    }
    auto* document = response->add_documents();
    document->set_index(static_cast<uint32_t>(i));
    document->set_score(static_cast<float>(i));
  }
  return grpc::Status::OK;
}

grpc::Status FakeServer::ClassifyTokens(
    grpc::ServerContext* context, const v1::ClassifyTokensRequest* request,
    v1::ClassifyTokensResponse* response) {
  if (grpc::Status status = Begin(context); !status.ok()) return status;
  for (const v1::Input& input : request->inputs()) {
    auto* span = response->add_results()->add_spans();
    span->set_label("ALL");
    span->set_text(input.text());
    span->set_score(0.25f);
  }
  return grpc::Status::OK;
}

grpc::Status FakeServer::Answer(grpc::ServerContext* context,
                                const v1::AnswerRequest* request,
                                v1::AnswerResponse* response) {
  if (grpc::Status status = Begin(context); !status.ok()) return status;
  for (const auto& input : request->inputs()) {
    v1::Answers* result = response->add_results();
    auto* answer = result->add_answers();
    answer->set_text(input.question() + "=" + input.context());
    answer->set_score(0.75f);
    if (!request->no_answer()) continue;
    for (uint32_t i = 0; i < request->top(); ++i) {
      result->add_answers()->set_no_answer(true);
    }
  }
  return grpc::Status::OK;
}

grpc::Status FakeServer::Score(grpc::ServerContext* context,
                               const v1::ScoreRequest* request,
                               v1::ScoreResponse* response) {
  if (grpc::Status status = Begin(context); !status.ok()) return status;
  Keep(*request, &last_score);
  for (int i = 0; i < request->inputs_size(); ++i) {
    const v1::ScoreInput& input = request->inputs(i);
    if (input.target() == "bad") {
      return BadRequest("inputs[" + std::to_string(i) + "]");
    }
    v1::ScoreResult* result = response->add_results();
    result->set_total_logprob(-1.5f * static_cast<float>(input.text().size()));
    result->set_token_count(static_cast<uint32_t>(input.target().size()));
    if (request->tokens()) result->add_tokens()->set_piece(input.target());
  }
  return grpc::Status::OK;
}

grpc::Status FakeServer::FillMask(grpc::ServerContext* context,
                                  const v1::FillMaskRequest* request,
                                  v1::FillMaskResponse* response) {
  if (grpc::Status status = Begin(context); !status.ok()) return status;
  for (const v1::Input& input : request->inputs()) {
    v1::FilledMasks* result = response->add_results();
    for (int mask = 0; mask < 2; ++mask) {
      v1::FilledMasks::Mask* filled = result->add_masks();
      for (const char* end : {"a", "b"}) {
        auto* candidate = filled->add_candidates();
        candidate->set_text(input.text() + end);
        candidate->set_score(1);
      }
    }
  }
  return grpc::Status::OK;
}

}  // namespace trivium
