#include "server/handlers/translation.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/match.h"
#include "base/status.h"
#include "server/handlers/status.h"

namespace trivium {
namespace {

// About what a TokenLogprob with its piece takes on the wire.
constexpr int64_t kLogprobBytes = 24;

// The BCP 47 tag of the language that texts are in, as far as it is said or
// there is no choice; else empty.
std::string SourceLanguage(const v1::TranslateOptions& options,
                           const ModelInfo& info) {
  const auto is = [](const Language& language, const std::string& name) {
    return language.bcp47 == name || language.code == name;
  };
  if (options.has_source_language()) {
    for (const Language& language : info.source_languages) {
      if (is(language, options.source_language())) return language.bcp47;
    }
    return options.source_language();
  }
  const std::string target =
      options.has_target_language()       ? options.target_language()
      : info.default_target_language      ? info.default_target_language->code
      : info.target_languages.size() == 1 ? info.target_languages[0].code
                                          : "";
  std::string found;
  for (const Language& language : info.source_languages) {
    if (is(language, target)) continue;
    if (!found.empty()) return "";
    found = language.bcp47;
  }
  return found;
}

// As a summary.
bool IsOtherTask(const v1::TranslateOptions& options) {
  return options.has_task() && !absl::StartsWith(options.task(), "translation");
}

}  // namespace

absl::Status Translation::ReadSplit(const v1::TranslateOptions& options,
                                    const std::string& path) {
  path_ = path;
  split_ = options.split();
  sentences_ = options.sentences();
  if (!v1::Split_IsValid(split_)) {
    return InvalidField(path + ".split", fmt::format("has no value {}",
                                                     static_cast<int>(split_)));
  }
  // A summary is of a whole text.
  if (split_ == v1::SPLIT_UNSPECIFIED && IsOtherTask(options)) {
    split_ = v1::SPLIT_NONE;
  }
  if (split_ != v1::SPLIT_NONE) {
    splitter_.emplace(SourceLanguage(options, model_->info()));
  } else if (sentences_) {
    return InvalidField(path + ".sentences",
                        "is given, and texts are not split; leave one of them "
                        "out");
  }
  return absl::OkStatus();
}

absl::Status Translation::ReadProtection(const v1::TranslateOptions& options,
                                         const std::string& path) {
  if (!options.has_protect()) return absl::OkStatus();
  const auto refuse = [](const std::string& field, const char* why) {
    return InvalidField(field, fmt::format("{}; leave one of them out", why));
  };
  if (IsOtherTask(options)) {
    return refuse(path + ".protect",
                  "is for translations, and the task is another");
  }
  constexpr char kOneSearch[] =
      "is of one search, and sentences with protected spans may take several";
  if (options.has_cross_attention()) {
    return refuse(path + ".cross_attention", kOneSearch);
  }
  if (options.has_decoder_attention()) {
    return refuse(path + ".decoder_attention", kOneSearch);
  }
  if (decoding_.options.trace) {
    return refuse(path + ".decoding.trace", kOneSearch);
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      protection_,
      SpanProtection::Create(options.protect(), path + ".protect"));
  return absl::OkStatus();
}

absl::StatusOr<Translation> Translation::Create(
    const Environment& environment, const ServedModel& served,
    const v1::TranslateOptions& options, const std::string& path,
    std::function<absl::Status()> wanted) {
  const Model& model = *served.model;
  if (model.info().design != Design::kEncoderDecoder) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' is not an encoder-decoder, so it cannot translate; "
        "GetModel tells the calls it serves",
        served.name));
  }
  Translation result;
  result.model_ = &model;
  InputOptions& input = result.input_options_;
  TRIVIUM_ASSIGN_OR_RETURN(input.direction,
                           ConvertDirection(options, path + ".", model));
  TRIVIUM_ASSIGN_OR_RETURN(
      result.decoding_,
      ConvertDecoding(options.decoding(), path + ".decoding", input.direction,
                      model, environment.limits));
  input.model = &model;
  input.limits = &environment.limits;
  TRIVIUM_RETURN_IF_ERROR(
      ConvertTruncation(options, path + ".", environment, served, &input));
  input.decodes = true;
  input.wanted = std::move(wanted);
  result.tokens_ = options.tokens();
  TRIVIUM_RETURN_IF_ERROR(result.ReadSplit(options, path));
  TRIVIUM_RETURN_IF_ERROR(result.ReadProtection(options, path));
  const int layers = model.info().decoder_layers;
  const int heads = model.info().decoder_heads;
  if (options.has_cross_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        result.cross_attention_,
        ConvertSelection(options.cross_attention(), path + ".cross_attention",
                         layers, heads));
  }
  if (options.has_decoder_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        result.decoder_attention_,
        ConvertSelection(options.decoder_attention(),
                         path + ".decoder_attention", layers, heads));
  }
  return result;
}

absl::Status Translation::AddRequest(Asked asked, Item* item) const {
  TRIVIUM_ASSIGN_OR_RETURN(
      DecodingOptions decoding,
      ForInput(decoding_, asked.input, input_options_.direction,
               /*per_source=*/true, item->path, *model_));
  const int64_t tokens = int64_t{decoding.hypotheses} * decoding.max_new_tokens;
  const int layers = model_->info().decoder_layers;
  const int heads = model_->info().decoder_heads;
  const auto add_maps = [&](const std::optional<MapSelection>& maps,
                            size_t keys) {
    if (!maps) return;
    item->response_bytes +=
        decoding.hypotheses * AttentionBytes(*maps, layers, heads,
                                             decoding.max_new_tokens,
                                             static_cast<int64_t>(keys));
  };
  add_maps(cross_attention_, asked.input.source.ids.size());
  add_maps(decoder_attention_,
           asked.input.prefix.size() + decoding.max_new_tokens - 1);
  item->response_bytes += TraceBytes(decoding);
  if (decoding.top_logprobs > 0) {
    item->response_bytes +=
        tokens * (1 + decoding.top_logprobs) * kLogprobBytes;
  }
  Request& request = item->requests.emplace_back();
  request.source = asked.input.source;
  request.prefix = asked.input.prefix;
  request.default_max_new_tokens = decoding_.default_max_new_tokens;
  request.decoding = std::move(decoding);
  request.stop = decoding_.matcher;
  if (cross_attention_) request.cross_attention = cross_attention_->maps;
  if (decoder_attention_) request.decoder_attention = decoder_attention_->maps;
  item->asked.push_back(std::move(asked));
  return absl::OkStatus();
}

v1::TranslateResult Translation::PartResult(const PreparedInput& input,
                                            RequestResult result) const {
  const HypothesisView view = {model_->tokenizer(), &decoding_.stop,
                               decoding_.options.stop_ids, tokens_};
  v1::TranslateResult out;
  for (size_t i = 0; i < result.hypotheses.size(); ++i) {
    v1::Hypothesis* hypothesis = out.add_hypotheses();
    *hypothesis = ConvertHypothesis(result.hypotheses[i], view);
    if (i < result.cross_attention.size()) {
      *hypothesis->mutable_cross_attention() =
          ConvertAttention(result.cross_attention[i], cross_attention_->rows);
    }
    if (i < result.decoder_attention.size()) {
      *hypothesis->mutable_decoder_attention() = ConvertAttention(
          result.decoder_attention[i], decoder_attention_->rows);
    }
  }
  if (result.trace) {
    *out.mutable_beam_trace() =
        ConvertTrace(*result.trace, model_->tokenizer());
  }
  out.set_source_token_count(static_cast<uint32_t>(input.source.ids.size()));
  out.set_truncated_tokens(static_cast<uint32_t>(input.truncated));
  if (tokens_) {
    AddPieces(input.source.ids, model_->tokenizer(), TextSide::kSource,
              out.mutable_source_pieces());
    AddPieces(input.prefix, model_->tokenizer(), TextSide::kTarget,
              out.mutable_prefix_pieces());
  }
  if (decoding_.options.sample) out.set_seed(decoding_.options.seed);
  return out;
}

v1::TranslateResult Translation::Result(Item item) const {
  if (!item.results.empty()) {
    if (item.text.split) {
      return JoinParts(item.text, std::move(item.results), sentences_);
    }
    item.results[0].set_sentence_count(1);
    return std::move(item.results[0]);
  }
  v1::TranslateResult blank;
  v1::Hypothesis* const hypothesis = blank.add_hypotheses();
  // White space, and what is protected.
  hypothesis->set_text(item.text.text);
  hypothesis->set_finish_reason(v1::FINISH_REASON_END);
  if (decoding_.options.sample) blank.set_seed(decoding_.options.seed);
  return blank;
}

}  // namespace trivium
