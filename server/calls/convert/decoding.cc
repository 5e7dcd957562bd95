// Reads and checks the decoding options of requests.
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>

#include "base/random_bits.h"
#include "base/status.h"
#include "model/search/length_penalty.h"
#include "model/search/stop_strings.h"
#include "server/calls/convert/constraint.h"
#include "server/calls/convert/convert.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// The most ids in all banned sequences of a request. The search looks at each
// of them for every token.
constexpr int kMaxBannedIds = 4096;

// Reads the fields of one message and keeps the first error, so that a list
// of fields reads as a list.
class FieldReader {
 public:
  FieldReader(std::string path) : path_(std::move(path)) {}

  void Integer(const char* name, bool has, uint32_t value, uint32_t low,
               int64_t high, int* out) {
    if (!has || !status_.ok()) return;
    if (value < low || value > high) {
      return Fail(
          name, fmt::format("is {}; it must be in {} .. {}", value, low, high));
    }
    *out = static_cast<int>(value);
  }

  // The number must be in (low, high], or [low, high] if `closed`.
  void Number(const char* name, bool has, float value, float low, float high,
              bool closed, float* out) {
    if (!has || !status_.ok()) return;
    const bool above = closed ? value >= low : value > low;
    if (!std::isfinite(value) || !above || value > high) {
      return Fail(name,
                  fmt::format("is {}; it must be a number {} {} and at most {}",
                              value, closed ? "at least" : "over", low, high));
    }
    *out = value;
  }

  void TokenId(const std::string& name, uint32_t value, int vocabulary,
               int32_t* out) {
    if (!status_.ok()) return;
    if (value >= static_cast<uint32_t>(vocabulary)) {
      return Fail(name, fmt::format("is {}; the model's ids are 0 .. {}", value,
                                    vocabulary - 1));
    }
    *out = static_cast<int32_t>(value);
  }

  void Fail(const std::string& name, const std::string& description) {
    if (status_.ok()) {
      status_ = InvalidField(fmt::format("{}.{}", path_, name), description);
    }
  }

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  const std::string path_;
  absl::Status status_;
};

void ReadEarlyStopping(const v1::DecodingOptions& in, FieldReader* reader,
                       EarlyStopping* out) {
  if (!in.has_early_stopping()) return;
  switch (in.early_stopping()) {
    case v1::EARLY_STOPPING_UNSPECIFIED:
      return;
    case v1::EARLY_STOPPING_HEURISTIC:
      *out = EarlyStopping::kHeuristic;
      return;
    case v1::EARLY_STOPPING_AT_ONCE:
      *out = EarlyStopping::kAtOnce;
      return;
    case v1::EARLY_STOPPING_NEVER:
      *out = EarlyStopping::kNever;
      return;
    default:
      reader->Fail("early_stopping",
                   fmt::format("has no value {}",
                               static_cast<int>(in.early_stopping())));
  }
}

// SAMPLING_DEFAULTS_CHAT. The first four are those of llama.cpp's server.
constexpr float kChatTemperature = 0.8f;
constexpr int kChatTopK = 40;
constexpr float kChatTopP = 0.95f;
constexpr float kChatMinP = 0.05f;
constexpr int kChatTokens = 2048;

// Tokens are drawn if `sample` or a temperature over 0 says so. At temperature
// 0 the best token is chosen, whatever top_k, top_p and seed are: draws come to
// that as the temperature falls.
void ReadSampling(const v1::DecodingOptions& in, int vocabulary,
                  bool names_sampling, FieldReader* reader,
                  DecodingOptions* out) {
  if (in.has_sample()) out->sample = in.sample();
  if (in.has_temperature()) {
    float temperature = 0;
    reader->Number("temperature", true, in.temperature(), 0, 1000, true,
                   &temperature);
    if (temperature > 0 && in.has_sample() && !in.sample()) {
      reader->Fail("temperature",
                   "is over 0, which draws tokens, but sample is false; leave "
                   "one of them out");
    }
    out->sample = temperature > 0;
    if (out->sample) out->temperature = temperature;
  }
  if (in.sampling_defaults() == v1::SAMPLING_DEFAULTS_CHAT && !names_sampling) {
    if (!in.has_temperature()) out->temperature = kChatTemperature;
    out->top_k = kChatTopK;
    out->top_p = kChatTopP;
    out->min_p = kChatMinP;
  }
  const auto needs_draws = [&](const char* name, bool has) {
    if (!has || out->sample || in.has_temperature()) return;
    reader->Fail(name,
                 "is for drawing tokens; set a temperature, or sample, too");
  };
  needs_draws("top_k", in.has_top_k());
  needs_draws("top_p", in.has_top_p());
  needs_draws("min_p", in.has_min_p());
  needs_draws("typical_p", in.has_typical_p());
  needs_draws("seed", in.has_seed());
  // A larger number than the vocabulary allows all tokens, as in Transformers.
  reader->Integer("top_k", in.has_top_k(), in.top_k(), 0, UINT32_MAX,
                  &out->top_k);
  if (in.top_k() >= static_cast<uint32_t>(vocabulary)) out->top_k = 0;
  reader->Number("top_p", in.has_top_p(), in.top_p(), 0, 1, false, &out->top_p);
  reader->Number("min_p", in.has_min_p(), in.min_p(), 0, 1, true, &out->min_p);
  reader->Number("typical_p", in.has_typical_p(), in.typical_p(), 0, 1, false,
                 &out->typical_p);
  if (in.has_seed()) {
    out->seed = in.seed();
  } else if (out->sample) {
    out->seed = RandomBits();
  }
}

void ReadBias(const v1::DecodingOptions& in, int vocabulary,
              FieldReader* reader, DecodingOptions* out) {
  if (in.logit_bias_size() > kMaxBiasedIds) {
    return reader->Fail("logit_bias",
                        fmt::format("has {} ids; at most {} are allowed",
                                    in.logit_bias_size(), kMaxBiasedIds));
  }
  for (const auto& [id, bias] : in.logit_bias()) {
    const std::string name = fmt::format("logit_bias[{}]", id);
    auto& [out_id, out_bias] = out->logit_bias.emplace_back();
    reader->TokenId(name, id, vocabulary, &out_id);
    reader->Number(name.c_str(), true, bias, -kMaxLogitBias, kMaxLogitBias,
                   true, &out_bias);
  }
  // A map has no order, on which errors must not depend.
  std::sort(out->logit_bias.begin(), out->logit_bias.end());
}

// Reads which tokens end a text: the model's, unless the request ignores them,
// and the request's own.
void ReadEnds(const v1::DecodingOptions& in, int vocabulary,
              FieldReader* reader, DecodingOptions* out) {
  if (in.ignore_eos()) out->end_ids.clear();
  const int most = std::min<int>(
      kMaxStopIds, kMaxEndIds - static_cast<int>(out->end_ids.size()));
  if (in.stop_ids_size() > most) {
    return reader->Fail("stop_ids",
                        fmt::format("has {} ids; at most {} are allowed",
                                    in.stop_ids_size(), most));
  }
  out->stop_ids.resize(in.stop_ids_size());
  for (int i = 0; i < in.stop_ids_size(); ++i) {
    reader->TokenId(fmt::format("stop_ids[{}]", i), in.stop_ids(i), vocabulary,
                    &out->stop_ids[i]);
  }
}

void ReadRules(const v1::DecodingOptions& in, int vocabulary,
               FieldReader* reader, DecodingOptions* out) {
  reader->Number("repetition_penalty", in.has_repetition_penalty(),
                 in.repetition_penalty(), 0, 1000, false,
                 &out->repetition_penalty);
  reader->Integer("no_repeat_ngram_size", in.has_no_repeat_ngram_size(),
                  in.no_repeat_ngram_size(), 0, 1000,
                  &out->no_repeat_ngram_size);
  reader->Number("frequency_penalty", in.has_frequency_penalty(),
                 in.frequency_penalty(), -kMaxCountPenalty, kMaxCountPenalty,
                 true, &out->frequency_penalty);
  reader->Number("presence_penalty", in.has_presence_penalty(),
                 in.presence_penalty(), -kMaxCountPenalty, kMaxCountPenalty,
                 true, &out->presence_penalty);
  reader->Integer("penalty_window", in.has_penalty_window(),
                  in.penalty_window(), 0, INT_MAX, &out->penalty_window);
  ReadBias(in, vocabulary, reader, out);
  ReadEnds(in, vocabulary, reader, out);
  int banned_ids = 0;
  for (int i = 0; i < in.banned_size(); ++i) {
    const auto& ids = in.banned(i).ids();
    const std::string name = fmt::format("banned[{}]", i);
    if (ids.empty()) reader->Fail(name, "has no ids");
    banned_ids += ids.size();
    if (banned_ids > kMaxBannedIds) {
      reader->Fail("banned",
                   fmt::format("has more than {} ids in all", kMaxBannedIds));
    }
    if (!reader->ok()) return;
    auto& sequence = out->banned_sequences.emplace_back(ids.size());
    for (int k = 0; k < ids.size(); ++k) {
      reader->TokenId(fmt::format("{}.ids[{}]", name, k), ids[k], vocabulary,
                      &sequence[k]);
    }
  }
  if (in.has_forced_first_id()) {
    reader->TokenId("forced_first_id", in.forced_first_id(), vocabulary,
                    &out->forced_first_id.emplace());
  }
  if (in.has_forced_last_id()) {
    reader->TokenId("forced_last_id", in.forced_last_id(), vocabulary,
                    &out->forced_last_id.emplace());
  }
}

absl::Status ReadStop(const v1::DecodingOptions& in, const std::string& path,
                      const Model& model, const RequestLimits& limits,
                      CallDecoding* out) {
  out->keep_stop = in.keep_stop();
  if (in.stop().empty()) return absl::OkStatus();
  if (model.tokenizer() == nullptr) {
    return absl::FailedPreconditionError(
        path +
        ".stop: the model has no tokenizer, so its text is not known; "
        "leave stop strings out");
  }
  if (in.stop_size() > limits.max_stop_strings) {
    return InvalidField(path + ".stop",
                        fmt::format("has {} strings; at most {} are allowed",
                                    in.stop_size(), limits.max_stop_strings));
  }
  for (int i = 0; i < in.stop_size(); ++i) {
    const std::string name = fmt::format("{}.stop[{}]", path, i);
    if (in.stop(i).empty()) return InvalidField(name, "is empty");
    if (static_cast<int>(in.stop(i).size()) > limits.max_stop_bytes) {
      return InvalidField(
          name, fmt::format("has {} bytes; at most {} are allowed",
                            in.stop(i).size(), limits.max_stop_bytes));
    }
  }
  out->stop.assign(in.stop().begin(), in.stop().end());
  out->matcher = std::make_shared<StopStringMatcher>(
      out->stop, [tokenizer = model.tokenizer()](std::span<const int32_t> ids) {
        return tokenizer->Decode(ids);
      });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CallDecoding> ConvertDecoding(const v1::DecodingOptions& in,
                                             const std::string& path,
                                             const Direction& direction,
                                             const Model& model,
                                             const RequestLimits& limits) {
  CallDecoding result;
  DecodingOptions& out = result.options;
  out = DecodingDefaults(direction, model);
  out.forced_first_id.reset();
  const int vocabulary = model.info().vocabulary;
  FieldReader reader(path);

  ReadSampling(in, vocabulary, model.info().names_sampling, &reader, &out);
  // A folder's beam size is for beam search; draws have one beam each.
  if (out.sample) out.beam_size = 1;
  reader.Integer("beam_size", in.has_beam_size(), in.beam_size(), 1,
                 limits.max_beam_size, &out.beam_size);
  if (out.sample && out.beam_size > 1) {
    reader.Fail("beam_size",
                "must be 1 where tokens are drawn; set temperature to 0, or "
                "sample to false, to search with beams");
  }
  // A folder may ask for more hypotheses than the request's beam can give.
  out.hypotheses = std::min(out.hypotheses,
                            out.sample ? limits.max_beam_size : out.beam_size);
  reader.Integer("num_hypotheses", in.has_num_hypotheses(), in.num_hypotheses(),
                 1, out.sample ? limits.max_beam_size : out.beam_size,
                 &out.hypotheses);
  reader.Number("length_penalty", in.has_length_penalty(), in.length_penalty(),
                -kMaxLengthPenalty, kMaxLengthPenalty, true,
                &out.length_penalty);
  ReadEarlyStopping(in, &reader, &out.early_stopping);
  if (in.early_stopping() != v1::EARLY_STOPPING_UNSPECIFIED &&
      out.beam_size == 1) {
    reader.Fail("early_stopping",
                "needs a beam search: ask for a beam_size over 1");
  }
  if (!v1::SamplingDefaults_IsValid(in.sampling_defaults())) {
    reader.Fail("sampling_defaults",
                fmt::format("has no value {}",
                            static_cast<int>(in.sampling_defaults())));
  }
  const bool chat = in.sampling_defaults() == v1::SAMPLING_DEFAULTS_CHAT;
  // A form may repeat itself for long, as a list of zeros does.
  out.stop_repetition = in.has_stop_repetition() ? in.stop_repetition()
                                                 : chat && out.beam_size == 1 &&
                                                       !in.has_constraint();
  if (out.stop_repetition && out.beam_size > 1) {
    reader.Fail("stop_repetition",
                "is for searches without beams; leave it out, or set beam_size "
                "to 1");
  }
  result.default_max_new_tokens = !in.has_max_new_tokens();
  if (chat && !model.info().names_max_new_tokens) {
    result.most_by_default = kChatTokens;
  }
  reader.Integer("max_new_tokens", in.has_max_new_tokens(), in.max_new_tokens(),
                 1, model.info().max_target_tokens, &out.max_new_tokens);
  reader.Integer("min_new_tokens", in.has_min_new_tokens(), in.min_new_tokens(),
                 0, out.max_new_tokens, &out.min_new_tokens);
  ReadRules(in, vocabulary, &reader, &out);
  reader.Integer("top_logprobs", in.has_top_logprobs(), in.top_logprobs(), 0,
                 limits.max_top_logprobs, &out.top_logprobs);
  out.trace = in.trace();
  if (out.trace && out.beam_size == 1) {
    reader.Fail("trace", "needs a beam search: ask for a beam_size over 1");
  }
  TRIVIUM_RETURN_IF_ERROR(reader.status());
  TRIVIUM_RETURN_IF_ERROR(ReadStop(in, path, model, limits, &result));
  if (in.has_constraint()) {
    const std::string name = path + ".constraint";
    TRIVIUM_RETURN_IF_ERROR(CheckConstraint(in, name, out, model));
    TRIVIUM_ASSIGN_OR_RETURN(result.constraint,
                             ReadConstraint(in.constraint(), name));
  }
  return result;
}

absl::StatusOr<DecodingOptions> ForInput(const CallDecoding& decoding,
                                         const PreparedInput& input,
                                         const Direction& direction,
                                         bool per_source,
                                         const std::string& path,
                                         const Model& model) {
  DecodingOptions options = decoding.options;
  const int folders = DecodingDefaults(direction, model).max_new_tokens;
  const int most = std::max(folders, model.decoding_defaults().max_new_tokens);
  const int left_of_all =
      model.info().max_target_tokens - static_cast<int>(input.prefix.size());
  // With an encoder, the folder's number is a bound, as translations have a
  // natural length. For what follows a prompt it is only a default.
  const int left = model.info().design == Design::kDecoder
                       ? left_of_all
                       : std::min(most, left_of_all);
  if (left < 1) {
    return TooManyTokens(
        path, fmt::format("leaves no room for new tokens: the decoder reads "
                          "at most {} tokens and the prefix has {}",
                          model.info().max_target_tokens, input.prefix.size()));
  }
  if (decoding.default_max_new_tokens) {
    const int source = input.source.ids.empty()
                           ? input.text_tokens
                           : static_cast<int>(input.source.ids.size());
    options.max_new_tokens =
        std::min(per_source ? 3 * source + 32 : folders, left);
    if (decoding.most_by_default > 0) {
      options.max_new_tokens =
          std::min(options.max_new_tokens, decoding.most_by_default);
    }
    // The default must not be below the request's minimum.
    options.max_new_tokens = std::min(
        left, std::max(options.max_new_tokens, options.min_new_tokens));
  }
  if (options.max_new_tokens > left || options.min_new_tokens > left) {
    return TooManyTokens(
        path, fmt::format("allows at most {} new tokens after its prefix of "
                          "{}; ask for fewer with max_new_tokens",
                          left, input.prefix.size()));
  }
  options.min_new_tokens =
      std::min(options.min_new_tokens, options.max_new_tokens);
  if (options.looks_at_source()) options.source_ids = input.source.ids;
  // With a target prefix, the forced token is in the prefix already.
  if (!options.forced_first_id && !input.has_target) {
    options.forced_first_id = direction.forced_first_id;
  }
  return options;
}

}  // namespace trivium
