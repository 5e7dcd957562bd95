#include "server/calls/convert/head_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "server/errors/status.h"

namespace trivium {
namespace {

void SetRows(const TracedRows& in, v1::TraceRows* (v1::HeadTrace::*field)(),
             v1::HeadTrace* out) {
  if (in.columns == 0) return;
  v1::TraceRows* const rows = (out->*field)();
  rows->set_columns(static_cast<uint32_t>(in.columns));
  rows->mutable_values()->Add(in.values.begin(), in.values.end());
}

v1::TracePositions ConvertPositions(HeadTrace::Positions positions) {
  switch (positions) {
    case HeadTrace::Positions::kNone:
      break;
    case HeadTrace::Positions::kSinusoidal:
      return v1::TRACE_POSITIONS_SINUSOIDAL;
    case HeadTrace::Positions::kLearned:
      return v1::TRACE_POSITIONS_LEARNED;
    case HeadTrace::Positions::kRotary:
      return v1::TRACE_POSITIONS_ROTARY;
    case HeadTrace::Positions::kDistance:
      return v1::TRACE_POSITIONS_DISTANCE;
    case HeadTrace::Positions::kSlope:
      return v1::TRACE_POSITIONS_SLOPE;
  }
  return v1::TRACE_POSITIONS_UNSPECIFIED;
}

template <typename Tokens>
void AddTokens(std::span<const int32_t> ids, const Tokenizer* tokenizer,
               TextSide side, Tokens* out) {
  for (const int32_t id : ids) {
    v1::TraceToken* const token = out->Add();
    token->set_id(static_cast<uint32_t>(id));
    if (tokenizer != nullptr) token->set_piece(tokenizer->IdToPiece(id, side));
  }
}

}  // namespace

absl::StatusOr<HeadChoice> ConvertHeadChoice(const v1::HeadTraceOptions& in,
                                             const std::string& path,
                                             bool decoder, const Model& model) {
  if (!decoder && in.cross()) {
    return InvalidField(path + ".cross",
                        "is about a decoder, which Encode does not run; leave "
                        "it out, or call Generate");
  }
  // More layers and heads than any model has.
  constexpr uint32_t kMost = std::numeric_limits<int>::max();
  const HeadChoice choice = {
      .cross = in.cross(),
      .layer = static_cast<int>(std::min(in.layer(), kMost)),
      .head = static_cast<int>(std::min(in.head(), kMost))};
  const absl::Status checked = model.CheckTracedHead(decoder, choice);
  if (!checked.ok()) return InvalidField(path, std::string(checked.message()));
  return choice;
}

absl::Status CheckTracedTokens(int64_t tokens, const std::string& path,
                               const char* advice) {
  if (tokens <= kMostTracedTokens) return absl::OkStatus();
  return InvalidField(
      path,
      fmt::format("has {} tokens, and a head is traced for at most {}; {}",
                  tokens, kMostTracedTokens, advice));
}

int64_t HeadTraceBytes(int64_t queries, int64_t keys, const ModelInfo& info,
                       bool decoder) {
  const int heads = decoder ? info.decoder_heads : info.encoder_heads;
  return static_cast<int64_t>(sizeof(float) *
                              TracedFloats(static_cast<int>(queries),
                                           static_cast<int>(keys), info.d_model,
                                           heads));
}

v1::HeadTrace ConvertHeadTrace(const HeadTrace& in,
                               const TracedTokens& tokens) {
  v1::HeadTrace out;
  AddTokens(tokens.queries, tokens.tokenizer, tokens.query_side,
            out.mutable_queries());
  AddTokens(tokens.keys, tokens.tokenizer, tokens.key_side, out.mutable_keys());
  using Out = v1::HeadTrace;
  SetRows(in.token, &Out::mutable_token_embeddings, &out);
  SetRows(in.segment, &Out::mutable_segment_embeddings, &out);
  SetRows(in.position, &Out::mutable_position_embeddings, &out);
  SetRows(in.embedded, &Out::mutable_embedded, &out);
  SetRows(in.input, &Out::mutable_input, &out);
  SetRows(in.normed, &Out::mutable_normed, &out);
  SetRows(in.query, &Out::mutable_query, &out);
  SetRows(in.key, &Out::mutable_key, &out);
  SetRows(in.value, &Out::mutable_value, &out);
  SetRows(in.scores, &Out::mutable_scores, &out);
  in.FillUnseenScores(out.mutable_scores()->mutable_values()->mutable_data());
  SetRows(in.bias, &Out::mutable_bias, &out);
  SetRows(in.weights, &Out::mutable_weights, &out);
  SetRows(in.sum, &Out::mutable_sum, &out);
  SetRows(in.joined, &Out::mutable_joined, &out);
  SetRows(in.output, &Out::mutable_output, &out);
  SetRows(in.result, &Out::mutable_result, &out);
  out.set_positions(ConvertPositions(in.positions));
  out.mutable_rotary_frequencies()->Add(in.frequencies.begin(),
                                        in.frequencies.end());
  out.set_scale(in.scale);
  out.set_soft_cap(in.soft_cap);
  if (in.sink) out.set_sink(*in.sink);
  out.set_key_value_head(static_cast<uint32_t>(in.kv_head));
  out.set_head_count(static_cast<uint32_t>(in.heads));
  out.set_layer_count(static_cast<uint32_t>(in.layers));
  out.set_gated(in.gated);
  out.set_parallel(in.parallel);
  out.set_norm_of_output(in.norm_of_output);
  out.set_norm_of_sum(in.norm_of_sum);
  out.set_rms_norm(in.rms);
  out.set_residual_factor(in.factor);
  out.mutable_seen_begin()->Add(in.seen_begin.begin(), in.seen_begin.end());
  out.mutable_seen_end()->Add(in.seen_end.begin(), in.seen_end.end());
  return out;
}

}  // namespace trivium
