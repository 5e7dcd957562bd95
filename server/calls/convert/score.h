#ifndef TRIVIUM_SERVER_CALLS_CONVERT_SCORE_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_SCORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/calls/convert/input_fields.h"

namespace trivium {

// A ScoreRequest, ready to use. The request outlives this.
struct ScoreJob {
  Elements<v1::ScoreInput> inputs;
  InputOptions options;
  std::string salt;
  int top_logprobs = 0;
  bool tokens = true;  // say the probability of each token
  std::optional<bool> end_token;
};

// The tokens of an input.
struct ScoreParts {
  std::vector<int32_t> source;   // for the encoder, if there is one
  std::vector<int32_t> context;  // the decoder reads it before the target
  std::vector<Token> target;     // at least one
};

absl::StatusOr<ScoreJob> ReadScore(const v1::ScoreRequest& in,
                                   const Model& model,
                                   const RequestLimits& limits,
                                   AliveCheck check_alive);

// The bytes that ReadScoreInput will tokenize (TextBytes).
int64_t TextBytes(const v1::ScoreInput& in);
// Tokenizes an input, whose field is `path`.
absl::StatusOr<ScoreParts> ReadScoreInput(const v1::ScoreInput& in,
                                          const std::string& path,
                                          const ScoreJob& job);
// INVALID_ARGUMENT: the input has more tokens than the model reads.
absl::Status TooManyToScore(const std::string& path, const Model& model);

// Adds an input's result, without its log-probabilities. `scored` counts the
// tokens that will have one: the last ones of the target.
v1::ScoreResult* AddScore(const ScoreJob& job, const ScoreParts& parts,
                          size_t scored, v1::ScoreResponse* out);
// Fills in the log-probabilities of the result's last tokens.
void WriteLogprobs(const ScoreJob& job, const Hypothesis& scored,
                   v1::ScoreResult* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_SCORE_H_
