#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/search/decoding.h"
#include "model/search/length_penalty.h"

namespace trivium {
namespace {

absl::Status CheckRange(std::string_view name, int value, int low, int high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{}: {} is out of range, give {} to {}", name, value, low, high));
}

absl::Status CheckPositive(std::string_view name, float value) {
  if (std::isfinite(value) && value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: {} is out of range, give a finite number greater than 0",
                  name, value));
}

absl::Status CheckReal(std::string_view name, float value, float low,
                       float high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{}: {} is out of range, give {} to {}", name, value, low, high));
}

// Checks a share of the probability that tokens are drawn from.
absl::Status CheckShare(std::string_view name, float value) {
  if (value > 0 && value <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{}: {} is out of range, give more than 0 and at most 1", name, value));
}

absl::Status CheckId(std::string_view name, int32_t id, int vocabulary) {
  if (id >= 0 && (vocabulary == 0 || id < vocabulary)) return absl::OkStatus();
  const std::string most =
      vocabulary == 0 ? "2147483647" : fmt::format("{}", vocabulary - 1);
  return absl::InvalidArgumentError(fmt::format(
      "{}: id {} is not in the vocabulary, give 0 to {}", name, id, most));
}

absl::Status CheckPenalties(const DecodingOptions& options, int vocabulary) {
  TRIVIUM_RETURN_IF_ERROR(
      CheckPositive("repetition_penalty", options.repetition_penalty));
  TRIVIUM_RETURN_IF_ERROR(CheckReal("frequency_penalty",
                                    options.frequency_penalty,
                                    -kMaxCountPenalty, kMaxCountPenalty));
  TRIVIUM_RETURN_IF_ERROR(CheckReal("presence_penalty",
                                    options.presence_penalty, -kMaxCountPenalty,
                                    kMaxCountPenalty));
  TRIVIUM_RETURN_IF_ERROR(CheckRange("penalty_window", options.penalty_window,
                                     0, std::numeric_limits<int>::max()));
  TRIVIUM_RETURN_IF_ERROR(
      CheckRange("logit_bias", static_cast<int>(options.logit_bias.size()), 0,
                 kMaxBiasedIds));
  int64_t previous = -1;
  for (const auto& [id, bias] : options.logit_bias) {
    TRIVIUM_RETURN_IF_ERROR(CheckId("logit_bias", id, vocabulary));
    TRIVIUM_RETURN_IF_ERROR(
        CheckReal("logit_bias", bias, -kMaxLogitBias, kMaxLogitBias));
    if (id <= previous) {
      return absl::InvalidArgumentError(
          fmt::format("logit_bias: id {} comes after {}, give ascending ids",
                      id, previous));
    }
    previous = id;
  }
  return absl::OkStatus();
}

absl::Status CheckSource(const DecodingOptions& options, int vocabulary) {
  constexpr int kMost = 1 << 24;
  TRIVIUM_RETURN_IF_ERROR(
      CheckRange("source_ngram_size", options.source_ngram_size, 0, kMost));
  TRIVIUM_RETURN_IF_ERROR(CheckPositive("source_bonus", options.source_bonus));
  for (const auto& [name, ids] :
       {std::pair("suppressed_ids", &options.suppressed_ids),
        {"first_suppressed_ids", &options.first_suppressed_ids}}) {
    for (const int32_t id : *ids) {
      TRIVIUM_RETURN_IF_ERROR(CheckId(name, id, vocabulary));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckIds(const DecodingOptions& options, int vocabulary) {
  TRIVIUM_RETURN_IF_ERROR(CheckRange(
      "end_ids", static_cast<int>(options.end_ids.size()), 0, kMaxEndIds));
  for (const int32_t id : options.end_ids) {
    TRIVIUM_RETURN_IF_ERROR(CheckId("end_ids", id, vocabulary));
  }
  TRIVIUM_RETURN_IF_ERROR(CheckRange(
      "stop_ids", static_cast<int>(options.stop_ids.size()), 0, kMaxStopIds));
  for (const int32_t id : options.stop_ids) {
    TRIVIUM_RETURN_IF_ERROR(CheckId("stop_ids", id, vocabulary));
  }
  // A beam search has room for so many ends.
  TRIVIUM_RETURN_IF_ERROR(CheckRange(
      "stop_ids and end_ids",
      static_cast<int>(options.stop_ids.size() + options.end_ids.size()), 0,
      kMaxEndIds));
  for (size_t i = 0; i < options.banned_sequences.size(); ++i) {
    const std::string name = fmt::format("banned[{}]", i);
    if (options.banned_sequences[i].empty()) {
      return absl::InvalidArgumentError(
          name + ": is empty, give at least one id or leave it out");
    }
    for (const int32_t id : options.banned_sequences[i]) {
      TRIVIUM_RETURN_IF_ERROR(CheckId(name, id, vocabulary));
    }
  }
  if (options.forced_first_id.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(
        CheckId("forced_first_id", *options.forced_first_id, vocabulary));
  }
  if (options.forced_last_id.has_value()) {
    TRIVIUM_RETURN_IF_ERROR(
        CheckId("forced_last_id", *options.forced_last_id, vocabulary));
  }
  return absl::OkStatus();
}

absl::Status CheckRequired(const DecodingOptions& options, int vocabulary) {
  TRIVIUM_RETURN_IF_ERROR(CheckRange("required",
                                     static_cast<int>(options.required.size()),
                                     0, kMaxRequiredPhrases));
  if (!options.required.empty() && options.sample) {
    return absl::InvalidArgumentError(
        "required: does not go with sample, leave one of them out");
  }
  if (!options.required.empty() && options.constraint != nullptr) {
    return absl::InvalidArgumentError(
        "required: does not go with constraint, leave one of them out");
  }
  for (const RequiredPhrase& phrase : options.required) {
    for (const auto* forms : {&phrase.forms, &phrase.first_forms}) {
      for (const std::vector<int32_t>& form : *forms) {
        if (form.empty()) {
          return absl::InvalidArgumentError("required: has a form without ids");
        }
        for (const int32_t id : form) {
          TRIVIUM_RETURN_IF_ERROR(CheckId("required", id, vocabulary));
        }
      }
    }
    if (phrase.forms.empty()) {
      return absl::InvalidArgumentError("required: has a phrase without forms");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckConstraint(const DecodingOptions& options, int vocabulary) {
  if (options.constraint == nullptr) return absl::OkStatus();
  const TokenTrie& trie = options.constraint->trie();
  if (vocabulary > 0 && trie.tokens() != static_cast<size_t>(vocabulary)) {
    return absl::InvalidArgumentError(fmt::format(
        "constraint: is for a vocabulary of {} tokens, but the model has {}",
        trie.tokens(), vocabulary));
  }
  if (options.end_ids.empty() ||
      !std::equal(options.end_ids.begin(), options.end_ids.end(),
                  trie.end_ids().begin(), trie.end_ids().end())) {
    return absl::InvalidArgumentError(
        "constraint: needs end_ids, and they must be those that it was made "
        "for");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateDecodingOptions(const DecodingOptions& options,
                                     int vocabulary) {
  constexpr int kMost = 1 << 24;
  TRIVIUM_RETURN_IF_ERROR(
      CheckRange("beam_size", options.beam_size, 1, kMaxBeamSize));
  if (options.sample && options.beam_size != 1) {
    return absl::InvalidArgumentError(fmt::format(
        "beam_size: {} does not go with sample, give 1 or leave sample out",
        options.beam_size));
  }
  if (options.stop_repetition && options.beam_size != 1) {
    return absl::InvalidArgumentError(fmt::format(
        "beam_size: {} does not go with stop_repetition, give 1 or leave "
        "stop_repetition out",
        options.beam_size));
  }
  TRIVIUM_RETURN_IF_ERROR(
      CheckRange("hypotheses", options.hypotheses, 1,
                 options.sample ? kMaxBeamSize : options.beam_size));
  if (!(std::abs(options.length_penalty) <= kMaxLengthPenalty)) {
    return absl::InvalidArgumentError(fmt::format(
        "length_penalty: {} is out of range, give {} to {}",
        options.length_penalty, -kMaxLengthPenalty, kMaxLengthPenalty));
  }
  TRIVIUM_RETURN_IF_ERROR(
      CheckRange("max_new_tokens", options.max_new_tokens, 1, kMost));
  TRIVIUM_RETURN_IF_ERROR(CheckRange("min_new_tokens", options.min_new_tokens,
                                     0, options.max_new_tokens));
  TRIVIUM_RETURN_IF_ERROR(
      CheckRange("end_growth_start", options.end_growth_start, 0, kMost));
  TRIVIUM_RETURN_IF_ERROR(CheckPositive("end_growth", options.end_growth));
  TRIVIUM_RETURN_IF_ERROR(CheckPositive("temperature", options.temperature));
  TRIVIUM_RETURN_IF_ERROR(CheckRange("top_k", options.top_k, 0, kMost));
  TRIVIUM_RETURN_IF_ERROR(CheckShare("top_p", options.top_p));
  TRIVIUM_RETURN_IF_ERROR(CheckReal("min_p", options.min_p, 0, 1));
  TRIVIUM_RETURN_IF_ERROR(CheckShare("typical_p", options.typical_p));
  TRIVIUM_RETURN_IF_ERROR(CheckPenalties(options, vocabulary));
  TRIVIUM_RETURN_IF_ERROR(CheckRange("no_repeat_ngram_size",
                                     options.no_repeat_ngram_size, 0, kMost));
  TRIVIUM_RETURN_IF_ERROR(
      CheckRange("top_logprobs", options.top_logprobs, 0, kMaxTopLogprobs));
  if (options.trace && options.beam_size == 1) {
    return absl::InvalidArgumentError(
        "trace: needs a beam search, give a beam_size over 1 or leave it out");
  }
  TRIVIUM_RETURN_IF_ERROR(CheckSource(options, vocabulary));
  TRIVIUM_RETURN_IF_ERROR(CheckRequired(options, vocabulary));
  TRIVIUM_RETURN_IF_ERROR(CheckConstraint(options, vocabulary));
  return CheckIds(options, vocabulary);
}

}  // namespace trivium
