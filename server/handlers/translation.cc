#include "server/handlers/translation.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/match.h"
#include "base/status.h"
#include "base/utf8.h"
#include "server/handlers/status.h"

namespace trivium {
namespace {

// About what a TokenLogprob with its piece takes on the wire.
constexpr int64_t kLogprobBytes = 24;
// A sentence that is too long and has more bytes is cut by its TokenCounts:
// what these say to be far longer than the model reads is not tokenized again.
constexpr size_t kLongBytes = 16 << 10;
constexpr size_t kPartOfUnsure = 8;  // of what the model reads ...
constexpr size_t kUnsure = 16;       // ... and so many tokens more

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

absl::Status TooManySentences(const std::string& path,
                              const RequestLimits& limits) {
  return InvalidField(
      path + ".text",
      fmt::format("has more than {} sentences, and a call takes no more; send "
                  "the text in parts",
                  limits.max_inputs));
}

// Sentences of a text are bounded as a call's inputs are.
absl::Status CheckCount(size_t sentences, const std::string& path,
                        const RequestLimits& limits) {
  return sentences <= static_cast<size_t>(limits.max_inputs)
             ? absl::OkStatus()
             : TooManySentences(path, limits);
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
  if (split_ == v1::SPLIT_UNSPECIFIED && options.has_task() &&
      !absl::StartsWith(options.task(), "translation")) {
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

absl::StatusOr<Translation::Item> Translation::Prepare(
    const v1::Input& input, const std::string& path) const {
  Item item;
  if (!input.has_text() && (sentences_ || split_ == v1::SPLIT_SENTENCES)) {
    return InvalidField(
        fmt::format("{}.{}", path_, sentences_ ? "sentences" : "split"),
        fmt::format("is about texts, and {} is none; leave it out", path));
  }
  const bool prefixed = input.target_case() != v1::Input::TARGET_NOT_SET;
  // With a prefix there is something to continue, also of a blank text.
  item.text.split =
      splitter_ && input.has_text() && !(prefixed && IsBlank(input.text()));
  if (item.text.split) {
    TRIVIUM_RETURN_IF_ERROR(PrepareSentences(input, path, &item));
    return item;
  }
  TextParts::Part part;
  TRIVIUM_ASSIGN_OR_RETURN(part.input,
                           ConvertInput(input, path, input_options_));
  if (!part.input.blank) {
    TRIVIUM_RETURN_IF_ERROR(AddPart(std::move(part), path, &item));
  }
  return item;
}

absl::Status Translation::PrepareSentences(const v1::Input& input,
                                           const std::string& path,
                                           Item* item) const {
  TRIVIUM_RETURN_IF_ERROR(
      CheckText(input.text(), path + ".text", input_options_));
  item->text.text = input.text();
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::vector<TextSpan> sentences,
      splitter_->Split(item->text.text, input_options_.wanted));
  TRIVIUM_RETURN_IF_ERROR(
      CheckCount(sentences.size(), path, *input_options_.limits));
  if (sentences.size() > 1) {
    TRIVIUM_RETURN_IF_ERROR(CheckSeveral(input, path));
  }
  for (const TextSpan& sentence : sentences) {
    TRIVIUM_RETURN_IF_ERROR(
        AddSentence(input, sentence, /*cut=*/false, nullptr, path, item));
  }
  return absl::OkStatus();
}

absl::Status Translation::CheckSeveral(const v1::Input& input,
                                       const std::string& path) const {
  const auto refuse = [&path](const std::string& field) {
    return InvalidField(
        field, fmt::format("is for one sentence, and {}.text has several; send "
                           "each as an input, or split: SPLIT_NONE",
                           path));
  };
  if (input.has_target_prefix()) return refuse(path + ".target_prefix");
  if (input.has_target_prefix_ids()) return refuse(path + ".target_prefix_ids");
  if (cross_attention_) return refuse(path_ + ".cross_attention");
  if (decoder_attention_) return refuse(path_ + ".decoder_attention");
  if (decoding_.options.trace) return refuse(path_ + ".decoding.trace");
  return absl::OkStatus();
}

absl::Status Translation::AddSentence(const v1::Input& input, TextSpan span,
                                      bool cut, const TokenCounts* counts,
                                      const std::string& path,
                                      Item* item) const {
  if (input_options_.wanted) TRIVIUM_RETURN_IF_ERROR(input_options_.wanted());
  TRIVIUM_RETURN_IF_ERROR(
      CheckCount(item->requests.size() + 1, path, *input_options_.limits));
  const auto limit = static_cast<size_t>(model_->info().max_source_tokens);
  const std::string_view sentence = span.Of(item->text.text);
  // A single character cannot be cut.
  const bool divides = FirstCodePoint(sentence).size < sentence.size();
  if (divides && counts != nullptr &&
      counts->In(span) > limit + limit / kPartOfUnsure + kUnsure) {
    return AddHalves(input, span, counts, path, item);
  }
  v1::Input one;
  one.set_text(std::string(sentence));
  // Of one sentence: others have none.
  if (input.has_target_prefix()) one.set_target_prefix(input.target_prefix());
  if (input.has_target_prefix_ids()) {
    *one.mutable_target_prefix_ids() = input.target_prefix_ids();
  }
  InputOptions options = input_options_;
  options.divides = divides;
  TextParts::Part part;
  part.span = span;
  part.cut = cut;
  TRIVIUM_ASSIGN_OR_RETURN(part.input, ConvertInput(one, path, options));
  if (!part.input.too_long) return AddPart(std::move(part), path, item);

  TRIVIUM_RETURN_IF_ERROR(CheckSeveral(input, path));
  if (counts != nullptr || sentence.size() <= kLongBytes) {
    return AddHalves(input, span, counts, path, item);
  }
  TRIVIUM_ASSIGN_OR_RETURN(const TokenCounts found,
                           CountTokens(span, path, *item));
  return AddHalves(input, span, &found, path, item);
}

absl::StatusOr<TokenCounts> Translation::CountTokens(TextSpan span,
                                                     const std::string& path,
                                                     const Item& item) const {
  const RequestLimits& limits = *input_options_.limits;
  const auto most =
      static_cast<size_t>((1 + 1.0 / kPartOfUnsure) * limits.max_inputs *
                          model_->info().max_source_tokens);
  TRIVIUM_ASSIGN_OR_RETURN(TokenCounts counts,
                           TokenCounts::Of(*model_->tokenizer(), item.text.text,
                                           span, most, input_options_.wanted));
  if (counts.all() > most) return TooManySentences(path, limits);
  return counts;
}

absl::Status Translation::AddHalves(const v1::Input& input, TextSpan span,
                                    const TokenCounts* counts,
                                    const std::string& path, Item* item) const {
  if (input_options_.wanted) TRIVIUM_RETURN_IF_ERROR(input_options_.wanted());
  const size_t middle = span.begin + ClauseBorder(span.Of(item->text.text));
  for (const TextSpan half :
       {TextSpan{span.begin, middle}, TextSpan{middle, span.end}}) {
    TRIVIUM_RETURN_IF_ERROR(
        AddSentence(input, WithoutWhiteSpace(item->text.text, half),
                    /*cut=*/true, counts, path, item));
  }
  return absl::OkStatus();
}

absl::Status Translation::AddPart(TextParts::Part part, const std::string& path,
                                  Item* item) const {
  TRIVIUM_ASSIGN_OR_RETURN(
      DecodingOptions decoding,
      ForInput(decoding_, part.input, input_options_.direction,
               /*per_source=*/true, path, *model_));
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
  add_maps(cross_attention_, part.input.source.ids.size());
  add_maps(decoder_attention_,
           part.input.prefix.size() + decoding.max_new_tokens - 1);
  item->response_bytes += TraceBytes(decoding);
  if (decoding.top_logprobs > 0) {
    item->response_bytes +=
        tokens * (1 + decoding.top_logprobs) * kLogprobBytes;
  }
  Request& request = item->requests.emplace_back();
  request.source = part.input.source;
  request.prefix = part.input.prefix;
  request.default_max_new_tokens = decoding_.default_max_new_tokens;
  request.decoding = std::move(decoding);
  request.stop = decoding_.matcher;
  if (cross_attention_) request.cross_attention = cross_attention_->maps;
  if (decoder_attention_) request.decoder_attention = decoder_attention_->maps;
  item->text.parts.push_back(std::move(part));
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

v1::TranslateResult Translation::Result(
    const TextParts& text, std::vector<v1::TranslateResult> parts) const {
  if (!parts.empty()) {
    if (text.split) return JoinParts(text, std::move(parts), sentences_);
    parts[0].set_sentence_count(1);
    return std::move(parts[0]);
  }
  v1::TranslateResult blank;
  v1::Hypothesis* const hypothesis = blank.add_hypotheses();
  hypothesis->set_text(text.text);  // white space
  hypothesis->set_finish_reason(v1::FINISH_REASON_END);
  if (decoding_.options.sample) blank.set_seed(decoding_.options.seed);
  return blank;
}

}  // namespace trivium
