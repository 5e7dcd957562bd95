#include "server/calls/result_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// Of a second_try that says nothing.
constexpr uint32_t kBeams = 4;
constexpr uint32_t kNgram = 4;

constexpr v1::Check kAll[] = {
    v1::CHECK_REPETITION,         v1::CHECK_SOURCE_COPIED,
    v1::CHECK_LENGTH_RATIO,       v1::CHECK_TRUNCATED,
    v1::CHECK_UNKNOWN_CHARACTERS, v1::CHECK_WRONG_LANGUAGE};

bool Contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// The options that a second try has where nobody says.
v1::DecodingOptions OtherSearch(v1::DecodingOptions first,
                                const DecodingOptions& resolved,
                                const RequestLimits& limits) {
  if (resolved.sample) {
    first.clear_sample();
    first.clear_top_k();
    first.clear_top_p();
    first.clear_min_p();
    first.clear_typical_p();
    first.clear_seed();
    first.set_temperature(0);
  }
  first.set_beam_size(std::min<uint32_t>(
      std::max<uint32_t>({kBeams, static_cast<uint32_t>(resolved.beam_size),
                          static_cast<uint32_t>(resolved.hypotheses)}),
      limits.max_beam_size));
  if (resolved.no_repeat_ngram_size == 0) {
    first.set_no_repeat_ngram_size(kNgram);
  }
  return first;
}

absl::Status CheckSecondTry(const v1::DecodingOptions& in,
                            const std::string& path) {
  const auto refuse = [&path](const char* name) {
    return InvalidField(fmt::format("{}.{}", path, name),
                        "is for both tries; give it in decoding instead");
  };
  if (in.has_num_hypotheses()) return refuse("num_hypotheses");
  if (in.has_top_logprobs()) return refuse("top_logprobs");
  if (in.has_trace()) return refuse("trace");
  return absl::OkStatus();
}

void Add(v1::Check check, uint32_t hypothesis, v1::TranslateResult* result) {
  for (const v1::Suspicion& other : result->suspicions()) {
    if (other.check() == check && other.hypothesis() == hypothesis) return;
  }
  v1::Suspicion* const added = result->add_suspicions();
  added->set_check(check);
  added->set_hypothesis(hypothesis);
}

}  // namespace

absl::StatusOr<ResultChecks> ResultChecks::Create(
    const v1::Checks& in, const std::string& path,
    const v1::DecodingOptions& decoding, const Direction& direction,
    const Model& model, const RequestLimits& limits) {
  ResultChecks result;
  const std::string& target = direction.target_language;
  result.language_ = LanguageCheck::For(target);
  if (in.kinds_size() > static_cast<int>(std::size(kAll))) {
    return InvalidField(path + ".kinds",
                        fmt::format("names {}, and there are {}; give each "
                                    "once",
                                    in.kinds_size(), std::size(kAll)));
  }
  for (int i = 0; i < in.kinds_size(); ++i) {
    const v1::Check kind = in.kinds(i);
    const std::string field = fmt::format("{}.kinds[{}]", path, i);
    if (!v1::Check_IsValid(kind) || kind == v1::CHECK_UNSPECIFIED) {
      return InvalidField(
          field, fmt::format("has no value {}", static_cast<int>(kind)));
    }
    if (kind == v1::CHECK_WRONG_LANGUAGE && !result.language_) {
      return InvalidField(
          field, target.empty()
                     ? "needs the target language, which neither the call nor "
                       "the model tells; give target_language, or leave it out"
                     : fmt::format("cannot be told of '{}', which CLD2 does "
                                   "not know; leave it out",
                                   Shorten(target)));
    }
    result.kinds_.insert(kind);
  }
  if (result.kinds_.empty()) {
    result.kinds_.insert(std::begin(kAll), std::end(kAll));
    if (!result.language_) result.kinds_.erase(v1::CHECK_WRONG_LANGUAGE);
  }
  if (model.tokenizer() != nullptr) {
    result.unknown_id_ = model.tokenizer()->special_token_ids().unknown;
  }
  if (!in.has_second_try()) return result;
  const std::string second = path + ".second_try";
  TRIVIUM_RETURN_IF_ERROR(CheckSecondTry(in.second_try(), second));
  v1::DecodingOptions options = decoding;
  options.MergeFrom(in.second_try());
  TRIVIUM_ASSIGN_OR_RETURN(
      result.second_try_,
      ConvertDecoding(options, second, direction, model, limits));
  if (in.second_try().ByteSizeLong() == 0) {
    TRIVIUM_ASSIGN_OR_RETURN(
        result.second_try_,
        ConvertDecoding(
            OtherSearch(decoding, result.second_try_->options, limits), second,
            direction, model, limits));
  }
  return result;
}

void ResultChecks::LookAtTokens(const PreparedInput& input,
                                const std::vector<Hypothesis>& hypotheses,
                                v1::TranslateResult* result) const {
  if (unknown_id_ < 0 || !Looks(v1::CHECK_UNKNOWN_CHARACTERS)) return;
  const bool read = Contains(input.source.ids, unknown_id_);
  for (size_t h = 0; h < hypotheses.size(); ++h) {
    if (read || Contains(hypotheses[h].ids, unknown_id_)) {
      Add(v1::CHECK_UNKNOWN_CHARACTERS, static_cast<uint32_t>(h), result);
    }
  }
}

void ResultChecks::LookAtTexts(std::string_view source, TextSpan place,
                               v1::TranslateResult* result) const {
  // Those of pieces are the whole's once.
  const auto of_tokens = std::exchange(*result->mutable_suspicions(), {});
  for (const v1::Suspicion& one : of_tokens) {
    Add(one.check(), one.hypothesis(), result);
  }
  for (int h = 0; h < result->hypotheses_size(); ++h) {
    const v1::Hypothesis& hypothesis = result->hypotheses(h);
    const std::string& text = hypothesis.text();
    const auto add = [&](v1::Check kind, auto found) {
      if (Looks(kind) && found()) Add(kind, static_cast<uint32_t>(h), result);
    };
    add(v1::CHECK_REPETITION, [&] { return RepeatsItself(source, text); });
    add(v1::CHECK_SOURCE_COPIED, [&] { return CopiesSource(source, text); });
    add(v1::CHECK_LENGTH_RATIO,
        [&] { return HasUnlikelyLength(source, text); });
    add(v1::CHECK_TRUNCATED, [&] {
      return hypothesis.finish_reason() == v1::FINISH_REASON_LENGTH ||
             result->truncated_tokens() > 0;
    });
    add(v1::CHECK_UNKNOWN_CHARACTERS,
        [&] { return HasReplacementCharacters(source, text); });
    add(v1::CHECK_WRONG_LANGUAGE,
        [&] { return language_ && language_->IsAnother(text); });
  }
  for (v1::Suspicion& found : *result->mutable_suspicions()) {
    found.mutable_source()->set_byte_begin(static_cast<uint32_t>(place.begin));
    found.mutable_source()->set_byte_end(static_cast<uint32_t>(place.end));
  }
}

int ResultChecks::Findings(const v1::TranslateResult& result) {
  return static_cast<int>(std::count_if(
      result.suspicions().begin(), result.suspicions().end(),
      [](const v1::Suspicion& one) { return one.hypothesis() == 0; }));
}

}  // namespace trivium
