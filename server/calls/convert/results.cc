// Converts results and models to messages.
#include <algorithm>
#include <span>
#include <utility>

#include "model/chat_template.h"
#include "server/calls/convert/convert.h"
#include "server/calls/convert/model_calls.h"
#include "server/errors/status.h"

namespace trivium {

google::protobuf::Duration ConvertDuration(absl::Duration duration) {
  google::protobuf::Duration out;
  const int64_t nanos =
      std::max<int64_t>(0, absl::ToInt64Nanoseconds(duration));
  out.set_seconds(nanos / 1'000'000'000);
  out.set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  return out;
}

v1::FinishReason ConvertFinishReason(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEnd:
      return v1::FINISH_REASON_END;
    case FinishReason::kStop:
      return v1::FINISH_REASON_STOP;
    case FinishReason::kRepetition:
      return v1::FINISH_REASON_REPETITION;
    case FinishReason::kLength:
      return v1::FINISH_REASON_LENGTH;
  }
  return v1::FINISH_REASON_UNSPECIFIED;
}

v1::TokenLogprobs ConvertLogprobs(int32_t token, float logprob,
                                  const std::vector<TokenLogprob>& top,
                                  const Tokenizer* tokenizer) {
  const auto fill = [tokenizer](int32_t id, float value,
                                v1::TokenLogprob* out) {
    out->set_id(static_cast<uint32_t>(id));
    out->set_logprob(value);
    if (tokenizer != nullptr) {
      out->set_piece(tokenizer->IdToPiece(id, TextSide::kTarget));
    }
  };
  v1::TokenLogprobs out;
  fill(token, logprob, out.mutable_token());
  for (const TokenLogprob& one : top)
    fill(one.token, one.logprob, out.add_alternatives());
  return out;
}

int64_t MessageBytes(const RequestResult& result) {
  const auto floats = [](const std::vector<AttentionMap>& maps) {
    size_t count = 0;
    for (const AttentionMap& map : maps) count += map.weights.size();
    return count;
  };
  size_t values =
      result.states.size() + result.hidden.size() + result.pooled.size() +
      result.logits.size() + result.encoder_attention.weights.size() +
      floats(result.cross_attention) + floats(result.decoder_attention);
  const auto add = [&values](const Hypothesis& hypothesis) {
    // 8 values for an id, its piece and its text.
    values += 8 * hypothesis.ids.size();
    for (const auto& top : hypothesis.top_logprobs) values += 8 * top.size();
  };
  for (const Hypothesis& hypothesis : result.hypotheses) add(hypothesis);
  if (result.scored) add(*result.scored);
  for (const BestLogits& logits : result.best_logits) {
    values += 8 * logits.best.size();
  }
  values += 8 * result.sparse.size();  // an id, a weight and a piece
  if (result.trace) {
    for (const auto& step : result.trace->steps) values += 10 * step.size();
  }
  if (result.head_trace) values += result.head_trace->floats();
  return static_cast<int64_t>(values * sizeof(float));
}

v1::Token ConvertToken(const Token& in) {
  v1::Token out;
  out.set_id(static_cast<uint32_t>(in.id));
  out.set_piece(in.piece);
  out.set_byte_begin(in.byte_begin);
  out.set_byte_end(in.byte_end);
  out.set_char_begin(in.char_begin);
  out.set_char_end(in.char_end);
  out.set_special(in.special);
  return out;
}

v1::Attention ConvertAttention(const AttentionMap& in,
                               const std::vector<int>& rows) {
  const auto last = std::lower_bound(rows.begin(), rows.end(), in.queries);
  const std::span chosen(rows.begin(), last);
  v1::Attention out;
  out.set_layer_count(static_cast<uint32_t>(in.layers));
  out.set_head_count(static_cast<uint32_t>(in.heads));
  out.set_query_count(
      static_cast<uint32_t>(rows.empty() ? in.queries : chosen.size()));
  out.set_key_count(static_cast<uint32_t>(in.keys));
  if (rows.empty()) {
    out.mutable_weights()->Add(in.weights.begin(), in.weights.end());
    return out;
  }
  const size_t keys = in.keys;
  for (size_t plane = 0; plane < size_t(in.layers) * in.heads; ++plane) {
    for (const int row : chosen) {
      const auto from = in.weights.begin() + (plane * in.queries + row) * keys;
      out.mutable_weights()->Add(from, from + keys);
    }
  }
  return out;
}

namespace {

v1::BeamFate ToProto(BeamFate fate) {
  switch (fate) {
    case BeamFate::kContinued:
      return v1::BEAM_FATE_CONTINUED;
    case BeamFate::kPruned:
      return v1::BEAM_FATE_PRUNED;
    case BeamFate::kEnded:
      return v1::BEAM_FATE_ENDED;
    case BeamFate::kEndedTooLow:
      return v1::BEAM_FATE_ENDED_TOO_LOW;
    case BeamFate::kOutscored:
      return v1::BEAM_FATE_OUTSCORED;
    case BeamFate::kStopped:
      return v1::BEAM_FATE_STOPPED;
  }
  return v1::BEAM_FATE_UNSPECIFIED;
}

}  // namespace

int64_t TraceBytes(const DecodingOptions& options) {
  constexpr int64_t kCandidateBytes = 40;
  if (!options.trace) return 0;
  return kCandidateBytes *
         std::min<int64_t>(kMaxTraceCandidates, int64_t{2} * options.beam_size *
                                                    options.max_new_tokens);
}

v1::BeamTrace ConvertTrace(const BeamTrace& in, const Tokenizer* tokenizer) {
  v1::BeamTrace out;
  out.set_truncated(in.truncated);
  for (const std::vector<BeamTrace::Candidate>& step : in.steps) {
    v1::BeamTrace::Step* to = out.add_steps();
    for (const BeamTrace::Candidate& candidate : step) {
      v1::BeamTrace::Candidate* added = to->add_candidates();
      added->set_parent(static_cast<uint32_t>(candidate.parent));
      added->set_id(static_cast<uint32_t>(candidate.token));
      if (tokenizer != nullptr) {
        added->set_piece(
            tokenizer->IdToPiece(candidate.token, TextSide::kTarget));
      }
      added->set_logprob(static_cast<float>(candidate.logprob));
      added->set_total_logprob(static_cast<float>(candidate.log_probability));
      added->set_score(static_cast<float>(candidate.score));
      added->set_fate(ToProto(candidate.fate));
      if (candidate.hypothesis >= 0) {
        added->set_hypothesis(static_cast<uint32_t>(candidate.hypothesis));
      }
    }
  }
  return out;
}

namespace {

void AddLanguages(const std::vector<Language>& languages,
                  google::protobuf::RepeatedPtrField<v1::Language>* out) {
  for (const Language& language : languages) {
    v1::Language* added = out->Add();
    added->set_bcp47(language.bcp47);
    added->set_code(language.code);
  }
}

void SetLimits(const ModelInfo& info, const RequestLimits& limits,
               v1::Limits* out) {
  out->set_max_source_tokens(static_cast<uint32_t>(info.max_source_tokens));
  out->set_max_target_tokens(static_cast<uint32_t>(info.max_target_tokens));
  out->set_max_request_bytes(limits.max_request_bytes);
  out->set_max_inputs(limits.max_inputs);
  out->set_max_windows(limits.max_windows);
  out->set_max_text_bytes(limits.max_text_bytes);
  out->set_max_beam_size(limits.max_beam_size);
  out->set_max_stop_strings(limits.max_stop_strings);
  out->set_max_stop_bytes(limits.max_stop_bytes);
  out->set_max_top_logprobs(limits.max_top_logprobs);
  out->set_max_response_bytes(limits.max_response_bytes);
  *out->mutable_default_deadline() = ConvertDuration(limits.default_deadline);
  *out->mutable_default_stream_deadline() =
      ConvertDuration(limits.default_stream_deadline);
}

v1::Design ToProto(Design design) {
  switch (design) {
    case Design::kEncoder:
      return v1::DESIGN_ENCODER;
    case Design::kDecoder:
      return v1::DESIGN_DECODER;
    case Design::kEncoderDecoder:
      return v1::DESIGN_ENCODER_DECODER;
  }
  return v1::DESIGN_UNSPECIFIED;
}

v1::Precision ToProto(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return v1::PRECISION_F32;
    case Precision::kBf16:
      return v1::PRECISION_BF16;
    case Precision::kInt8:
      return v1::PRECISION_INT8;
    case Precision::kInt4:
      return v1::PRECISION_INT4;
    case Precision::kAuto:
      break;
  }
  return v1::PRECISION_UNSPECIFIED;
}

}  // namespace

v1::Model ConvertModel(const ServedModel& model, const RequestLimits& limits) {
  const ModelInfo& info = model.model->info();
  v1::Model out;
  out.set_name(model.name);
  out.set_family(info.family);
  out.set_design(ToProto(info.design));
  for (const Rpc rpc : kCallsOfModels) {
    if (ServesCall(*model.model, rpc)) {
      out.add_calls(std::string(RpcName(rpc)));
    }
  }
  if (info.head) {
    for (const std::string& label : info.head->labels) out.add_labels(label);
  }
  AddLanguages(info.source_languages, out.mutable_source_languages());
  AddLanguages(info.target_languages, out.mutable_target_languages());
  if (info.default_target_language) {
    const auto& [bcp47, code] = *info.default_target_language;
    out.set_default_target_language(bcp47.empty() ? code : bcp47);
  }
  for (const Task& task : model.model->tasks()) {
    v1::Task* added = out.add_tasks();
    added->set_name(task.name);
    added->set_prefix(task.prefix);
  }
  SetLimits(info, limits, out.mutable_limits());
  out.set_precision(ToProto(info.precision));
  if (info.kv_precision) out.set_kv_precision(ToProto(*info.kv_precision));
  out.set_isa(std::string(IsaName(info.isa)));
  out.set_batch_invariant(info.batch_invariant);
  out.set_parameter_count(info.parameters);
  out.set_weight_bytes(info.weight_bytes);
  out.set_kv_cache_bytes(model.kv_cache_bytes);
  out.set_result_cache_bytes(model.result_cache_bytes);
  out.set_revision(info.revision);
  out.set_d_model(info.d_model);
  out.set_vocabulary_size(info.vocabulary);
  out.set_encoder_layer_count(info.encoder_layers);
  out.set_decoder_layer_count(info.decoder_layers);
  out.set_head_count(info.encoder_layers > 0 ? info.encoder_heads
                                             : info.decoder_heads);
  out.set_kv_head_count(info.decoder_kv_heads);
  out.mutable_attention_windows()->Add(info.decoder_windows.begin(),
                                       info.decoder_windows.end());
  out.set_has_tokenizer(model.model->tokenizer() != nullptr);
  out.set_type_vocabulary_size(info.type_vocabulary);
  out.set_vocabulary_shortlist(info.vocabulary_shortlist);
  const ChatTemplates& chats = model.model->chat_templates();
  for (const std::string& name : chats.names()) out.add_chat_templates(name);
  out.set_chat_refusal(Shorten(chats.refusal(), kMaxMessageBytes));
  if (info.design != Design::kDecoder) {
    out.set_embedding_size(
        model.model->sentence_encoder().embedding_size(info.d_model));
  }
  return out;
}

}  // namespace trivium
