#ifndef TRIVIUM_CLIENT_LOAD_OUTCOMES_H_
#define TRIVIUM_CLIENT_LOAD_OUTCOMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {

// The outcome of one call.
struct CallOutcome {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string message;  // of the error, if any
  int64_t source_tokens = 0;
  int64_t new_tokens = 0;
  // Time of the first piece of a Generate; else InfinitePast.
  absl::Time first_piece = absl::InfinitePast();
  std::vector<double> piece_gaps;  // seconds between pieces of a Generate
  // Time for tokenizing and inference, as the server reports it.
  absl::Duration model_time = absl::ZeroDuration();
};

// Each Examine adds to an outcome what a response says about the work: tokens,
// and the time that the server spent on it as it reports it.

inline absl::Duration ModelTime(const v1::Timings& timings) {
  const auto to_duration = [](const google::protobuf::Duration& duration) {
    return absl::Seconds(duration.seconds()) +
           absl::Nanoseconds(duration.nanos());
  };
  return to_duration(timings.tokenize()) + to_duration(timings.inference());
}

// For most results the model reads tokens and writes none.
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
inline void Examine(const v1::SimilarityResponse& response,
                    CallOutcome* outcome) {
  outcome->model_time = ModelTime(response.timings());
  for (const auto& text : response.first()) CountTokens(text, outcome);
  for (const auto& text : response.second()) CountTokens(text, outcome);
}
inline void Examine(const v1::TokenizeResponse& response,
                    CallOutcome* outcome) {
  for (const auto& result : response.results()) {
    outcome->source_tokens += result.tokens_size();
  }
}
// Calls in which the model does no work.
inline void Examine(const v1::DetokenizeResponse&, CallOutcome*) {}
inline void Examine(const v1::Model&, CallOutcome*) {}

// Records the messages of a Generate as they arrive.
class GenerateProgress {
 public:
  void Add(const v1::GenerateResponse& response, CallOutcome* outcome) {
    const absl::Time now = absl::Now();
    if (outcome->first_piece == absl::InfinitePast()) {
      outcome->first_piece = now;
    } else if (response.has_piece()) {
      outcome->piece_gaps.push_back(absl::ToDoubleSeconds(now - last_piece_));
    }
    last_piece_ = now;
    if (response.has_done()) {
      outcome->model_time = ModelTime(response.done().timings());
      outcome->source_tokens = response.done().source_token_count();
      outcome->new_tokens += response.done().token_count();
    }
  }

 private:
  absl::Time last_piece_;
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_OUTCOMES_H_
