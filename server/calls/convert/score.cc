#include "server/calls/convert/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "server/errors/status.h"

namespace trivium {

absl::StatusOr<ScoreJob> ReadScore(const v1::ScoreRequest& in,
                                   const Model& model,
                                   const RequestLimits& limits,
                                   AliveCheck check_alive) {
  ScoreJob job;
  TRIVIUM_RETURN_IF_ERROR(CheckSalt(in.cache_salt()));
  job.salt = in.cache_salt();
  TRIVIUM_ASSIGN_OR_RETURN(job.options.direction,
                           ConvertDirection(in, "", model));
  job.options.model = &model;
  job.options.limits = &limits;
  job.options.check_alive = std::move(check_alive);
  job.tokens = !in.has_tokens() || in.tokens();
  job.top_logprobs =
      static_cast<int>(std::min<uint32_t>(in.top_logprobs(), INT32_MAX));
  if (job.top_logprobs > limits.max_top_logprobs) {
    return InvalidField("top_logprobs",
                        fmt::format("is {}; it must be in 0 .. {}",
                                    job.top_logprobs, limits.max_top_logprobs));
  }
  if (job.top_logprobs > 0 && !job.tokens) {
    return InvalidField("top_logprobs",
                        "is of tokens, but tokens is false; leave one of "
                        "them out");
  }
  if (in.has_end_token()) job.end_token = in.end_token();
  if (in.end_token() && model.decoding_defaults().end_ids.empty()) {
    return InvalidField("end_token",
                        "is true, but the model's folder names no end token");
  }
  TRIVIUM_ASSIGN_OR_RETURN(job.inputs, ReadInputs(in, limits));
  return job;
}

v1::ScoreResult* AddScore(const ScoreJob& job, const ScoreParts& parts,
                          size_t scored, v1::ScoreResponse* out) {
  const bool encodes =
      job.options.model->info().design == Design::kEncoderDecoder;
  v1::ScoreResult* result = out->add_results();
  result->set_context_token_count(static_cast<uint32_t>(
      encodes ? parts.source.size() : parts.context.size()));
  result->set_token_count(static_cast<uint32_t>(scored));
  if (!job.tokens) return result;
  for (const Token& token : parts.target) {
    v1::ScoredToken* added = result->add_tokens();
    added->set_id(static_cast<uint32_t>(token.id));
    added->set_piece(token.piece);
    added->set_byte_begin(token.byte_begin);
    added->set_byte_end(token.byte_end);
    added->set_char_begin(token.char_begin);
    added->set_char_end(token.char_end);
  }
  return result;
}

void WriteLogprobs(const ScoreJob& job, const Hypothesis& scored,
                   v1::ScoreResult* out) {
  out->set_total_logprob(scored.log_probability);
  if (!job.tokens) return;
  const size_t first = out->tokens_size() - scored.ids.size();
  for (size_t i = 0; i < scored.ids.size(); ++i) {
    v1::ScoredToken* token = out->mutable_tokens(static_cast<int>(first + i));
    token->set_logprob(scored.logprobs[i]);
    if (scored.top_logprobs.empty()) continue;
    v1::TokenLogprobs logprobs =
        ConvertLogprobs(scored.ids[i], scored.logprobs[i],
                        scored.top_logprobs[i], job.options.model->tokenizer());
    *token->mutable_alternatives() =
        std::move(*logprobs.mutable_alternatives());
  }
}

}  // namespace trivium
