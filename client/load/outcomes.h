#ifndef TRIVIUM_CLIENT_LOAD_OUTCOMES_H_
#define TRIVIUM_CLIENT_LOAD_OUTCOMES_H_

#include "absl/time/time.h"
#include "client/call_status.h"
#include "client/client.h"
#include "client/load/report.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {

// What responses tell of the work that was done: tokens, and the time that the
// server spent on it by its own account.

inline absl::Duration ModelTime(const v1::Timings& timings) {
  const auto to_duration = [](const google::protobuf::Duration& duration) {
    return absl::Seconds(duration.seconds()) +
           absl::Nanoseconds(duration.nanos());
  };
  return to_duration(timings.tokenize()) + to_duration(timings.inference());
}

// Most results read some tokens and write none.
template <typename Result>
void CountTokens(const Result& result, CallOutcome* outcome) {
  outcome->source_tokens += result.token_count();
}
inline void CountTokens(const v1::TranslateResult& result,
                        CallOutcome* outcome) {
  outcome->source_tokens += result.source_token_count();
  for (const v1::Hypothesis& hypothesis : result.hypotheses()) {
    outcome->new_tokens += hypothesis.token_count();
  }
}
inline void CountTokens(const v1::ScoreResult& result, CallOutcome* outcome) {
  outcome->source_tokens += result.context_token_count() + result.token_count();
}

template <typename Response>
void Examine(const Response& response, CallOutcome* outcome) {
  outcome->model_time = ModelTime(response.timings());
  for (const auto& result : response.results()) CountTokens(result, outcome);
}
inline void Examine(const v1::RerankResponse& response, CallOutcome* outcome) {
  outcome->model_time = ModelTime(response.timings());
  for (const auto& document : response.documents()) {
    CountTokens(document, outcome);
  }
}
inline void Examine(const v1::TokenizeResponse& response,
                    CallOutcome* outcome) {
  for (const auto& result : response.results()) {
    outcome->source_tokens += result.tokens_size();
  }
}
// Calls without work of the model.
inline void Examine(const v1::DetokenizeResponse&, CallOutcome*) {}
inline void Examine(const v1::Model&, CallOutcome*) {}

inline void SetStatus(const grpc::Status& status,
                      const grpc::ClientContext& context,
                      const Client::Options& client, CallOutcome* outcome) {
  outcome->code = status.error_code();
  if (!status.ok()) {
    outcome->message = std::string(
        CallStatus(status, context, {client.address, client.timeout})
            .message());
  }
}

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_OUTCOMES_H_
