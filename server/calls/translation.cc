#include "server/calls/translation.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/match.h"
#include "base/status.h"
#include "server/calls/convert/character_places.h"
#include "server/calls/word_alignment.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// About what a TokenLogprob with its piece takes on the wire.
constexpr int64_t kLogprobBytes = 24;

// About what a GlossaryUse takes there.
constexpr int64_t kUseBytes = 24;

// About what a TargetWord and its source word take there.
constexpr int64_t kWordBytes = 48;

// As a summary.
bool IsOtherTask(const v1::TranslateOptions& options) {
  return options.has_task() && !absl::StartsWith(options.task(), "translation");
}

}  // namespace

absl::StatusOr<std::optional<Markup>> ParseMarkup(v1::TextFormat format,
                                                  const std::string& text,
                                                  const std::string& path) {
  std::optional<MarkupFormat> kind;
  if (format == v1::TEXT_FORMAT_HTML) kind = MarkupFormat::kHtml;
  if (format == v1::TEXT_FORMAT_XML) kind = MarkupFormat::kXml;
  if (format == v1::TEXT_FORMAT_MARKDOWN) kind = MarkupFormat::kMarkdown;
  if (!kind) return std::nullopt;
  absl::StatusOr<Markup> markup = Markup::Parse(*kind, text);
  if (!markup.ok()) {
    return InvalidField(path, std::string(markup.status().message()));
  }
  return *std::move(markup);
}

absl::Status Translation::ReadSplit(const v1::TranslateOptions& options,
                                    const std::string& path) {
  path_ = path;
  split_ = options.split();
  sentences_ = options.sentences();
  if (!v1::Split_IsValid(split_)) {
    return InvalidField(path + ".split", fmt::format("has no value {}",
                                                     static_cast<int>(split_)));
  }
  per_source_ = !IsOtherTask(options);
  // A summary is of a whole text.
  if (split_ == v1::SPLIT_UNSPECIFIED && IsOtherTask(options)) {
    split_ = v1::SPLIT_NONE;
  }
  if (split_ != v1::SPLIT_NONE) {
    splitter_.emplace(input_options_.direction.source_language);
  } else if (sentences_) {
    return InvalidField(path + ".sentences",
                        "is given, and texts are not split; leave one of them "
                        "out");
  }
  return absl::OkStatus();
}

absl::Status Translation::CheckProtection(const v1::TranslateOptions& options,
                                          const std::string& path) const {
  if (!options.has_protect() && !format_) return absl::OkStatus();
  const auto refuse = [](const std::string& field, const char* why) {
    return InvalidField(field, fmt::format("{}; leave one of them out", why));
  };
  if (IsOtherTask(options)) {
    return refuse(path + (format_ ? ".format" : ".protect"),
                  "is for translations, and the task is another");
  }
  const char* const kOneSearch =
      format_ ? "is of one search, and sentences with markup may take several"
              : "is of one search, and sentences with protected spans may take "
                "several";
  if (options.has_cross_attention()) {
    return refuse(path + ".cross_attention", kOneSearch);
  }
  if (options.has_decoder_attention()) {
    return refuse(path + ".decoder_attention", kOneSearch);
  }
  if (decoding_.options.trace) {
    return refuse(path + ".decoding.trace", kOneSearch);
  }
  return absl::OkStatus();
}

absl::Status Translation::ReadFormat(const v1::TranslateOptions& options,
                                     const std::string& path) {
  if (!v1::TextFormat_IsValid(options.format())) {
    return InvalidField(
        path + ".format",
        fmt::format("has no value {}", static_cast<int>(options.format())));
  }
  if (options.format() != v1::TEXT_FORMAT_UNSPECIFIED &&
      options.format() != v1::TEXT_FORMAT_PLAIN) {
    format_ = options.format();
  }
  return absl::OkStatus();
}

absl::Status Translation::ReadChecks(const v1::TranslateOptions& options,
                                     const std::string& path,
                                     const RequestLimits& limits) {
  if (!options.has_checks()) return absl::OkStatus();
  const auto refuse = [](const std::string& field, const char* why) {
    return InvalidField(field, fmt::format("{}; leave one of them out", why));
  };
  if (IsOtherTask(options)) {
    return refuse(path + ".checks",
                  "are of translations, and the task is another");
  }
  if (options.checks().has_second_try()) {
    constexpr char kTwoSearches[] =
        "is of one search, and checks.second_try makes a second one";
    if (options.has_cross_attention()) {
      return refuse(path + ".cross_attention", kTwoSearches);
    }
    if (options.has_decoder_attention()) {
      return refuse(path + ".decoder_attention", kTwoSearches);
    }
    if (decoding_.options.trace) {
      return refuse(path + ".decoding.trace", kTwoSearches);
    }
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      checks_, ResultChecks::Create(options.checks(), path + ".checks",
                                    options.decoding(),
                                    input_options_.direction, *model_, limits));
  return absl::OkStatus();
}

absl::Status Translation::ReadWords(const v1::TranslateOptions& options,
                                    const std::string& path) {
  words_ = options.words();
  if (!words_) return absl::OkStatus();
  const auto refuse = [&path](const char* field, const char* why) {
    return InvalidField(path + field,
                        fmt::format("{}; leave one of them out", why));
  };
  if (options.has_cross_attention()) {
    return refuse(".cross_attention",
                  "is read for words, which may have other layers and rows");
  }
  if (options.has_protect()) {
    return refuse(".words",
                  "are of what the model reads and writes, which has "
                  "placeholders where spans are protected");
  }
  if (format_) {
    return refuse(
        ".words",
        "are of what the model reads and writes, which has no markup");
  }
  // Pieces and places of texts.
  input_options_.tokens = true;
  return absl::OkStatus();
}

absl::Status Translation::ReadPatternsAndTerms(
    const v1::TranslateOptions& options, const std::string& path,
    std::string_view language) {
  if (options.has_protect()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        SpanProtection protection,
        SpanProtection::Create(options.protect(), path + ".protect"));
    protection_ = std::make_shared<SpanProtection>(std::move(protection));
  }
  return ReadGlossary(options, path, language);
}

void Translation::TakePatternsAndTerms(const Translation& last) {
  protection_ = last.protection_;
  glossary_ = last.glossary_;
  input_options_.tokens = last.input_options_.tokens;
}

absl::Status Translation::ReadGlossary(const v1::TranslateOptions& options,
                                       const std::string& path,
                                       std::string_view language) {
  if (!options.has_glossary()) return absl::OkStatus();
  const char* why = nullptr;
  if (IsOtherTask(options)) {
    why = "is for translations, and the task is another";
  } else if (decoding_.options.sample) {
    why = "is for searches, and decoding draws tokens";
  } else if (checks_ && checks_->second_try() != nullptr &&
             checks_->second_try()->options.sample) {
    why = "is for searches, and checks.second_try draws tokens";
  }
  if (why != nullptr) {
    return InvalidField(path + ".glossary",
                        fmt::format("{}; leave one of them out", why));
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      Terminology glossary,
      Terminology::Create(options.glossary(), path + ".glossary", language,
                          *model_, input_options_.check_alive));
  glossary_ = std::make_shared<Terminology>(std::move(glossary));
  input_options_.tokens = true;
  return absl::OkStatus();
}

absl::StatusOr<Translation> Translation::Create(
    const Environment& environment, const ServedModel& served,
    const v1::TranslateOptions& options, const std::string& path, bool goes_on,
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
  result.goes_on_ = goes_on;
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
  input.check_alive = std::move(wanted);
  result.tokens_ = options.tokens();
  TRIVIUM_RETURN_IF_ERROR(result.ReadSplit(options, path));
  TRIVIUM_RETURN_IF_ERROR(result.ReadFormat(options, path));
  TRIVIUM_RETURN_IF_ERROR(result.CheckProtection(options, path));
  // What ReadPatternsAndTerms finds takes this one's place.
  if (options.has_protect() || result.format_) {
    result.protection_ = std::make_shared<SpanProtection>();
  }
  TRIVIUM_RETURN_IF_ERROR(result.ReadChecks(options, path, environment.limits));
  TRIVIUM_RETURN_IF_ERROR(result.ReadWords(options, path));
  if (options.has_cross_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        result.cross_attention_,
        ConvertSelection(options.cross_attention(), path + ".cross_attention",
                         model.info().decoder_layers,
                         model.info().decoder_heads));
  }
  if (options.has_decoder_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        result.decoder_attention_,
        ConvertDecoderSelection(options.decoder_attention(),
                                path + ".decoder_attention", model.info()));
  }
  return result;
}

absl::Status Translation::AddRequest(Asked asked, Item* item) const {
  const CallDecoding& call = DecodingOf(asked);
  TRIVIUM_ASSIGN_OR_RETURN(DecodingOptions decoding,
                           ForInput(call, asked.input, input_options_.direction,
                                    per_source_, item->path, *model_));
  if (glossary_ && !goes_on_) {
    glossary_->Require(asked.terms.phrases, *input_options_.limits, &decoding);
    item->response_bytes += static_cast<int64_t>(asked.terms.uses) * kUseBytes;
  }
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
  if (words_) item->response_bytes += kWordBytes * tokens;
  if (decoding.top_logprobs > 0) {
    item->response_bytes +=
        tokens * (1 + decoding.top_logprobs) * kLogprobBytes;
  }
  Request& request = item->requests.emplace_back();
  request.source = asked.input.source;
  request.prefix = asked.input.prefix;
  request.default_max_new_tokens = call.default_max_new_tokens;
  request.decoding = std::move(decoding);
  request.stop = call.matcher;
  if (cross_attention_) request.cross_attention = cross_attention_->maps;
  if (words_ || !asked.tokens.empty()) {
    request.cross_attention.emplace();  // of all layers and heads
    request.mean_cross_attention = true;
  }
  if (decoder_attention_) request.decoder_attention = decoder_attention_->maps;
  item->asked.push_back(std::move(asked));
  return absl::OkStatus();
}

const CallDecoding& Translation::DecodingOf(const Asked& asked) const {
  return asked.second ? *checks_->second_try() : decoding_;
}

v1::TranslateResult Translation::PartResult(const Asked& asked,
                                            const Item& item,
                                            RequestResult result) const {
  const PreparedInput& input = asked.input;
  const CallDecoding& decoding = DecodingOf(asked);
  const HypothesisView view = {model_->tokenizer(), &decoding.stop,
                               decoding.options.stop_ids, tokens_};
  v1::TranslateResult out;
  std::optional<WordAlignment> words;
  if (words_) {
    const TextSpan span = item.text.parts[asked.part].span;
    words.emplace(span.Of(item.text.text), input.tokens,
                  input_options_.direction.text_prefix.size());
    words->AddSource(span.begin, &out);
  }
  for (size_t i = 0; i < result.hypotheses.size(); ++i) {
    v1::Hypothesis* hypothesis = out.add_hypotheses();
    *hypothesis = ConvertHypothesis(result.hypotheses[i], view);
    if (words && i < result.cross_attention.size()) {
      words->AddTarget(result.hypotheses[i], result.cross_attention[i],
                       *model_->tokenizer(), decoding.options.stop_ids,
                       hypothesis);
    } else if (cross_attention_ && i < result.cross_attention.size()) {
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
  if (decoding.options.sample) out.set_seed(decoding.options.seed);
  if (checks_) checks_->LookAtTokens(input, result.hypotheses, &out);
  return out;
}

v1::TranslateResult Translation::Result(Item item) const {
  if (item.markup) {
    for (TextParts::Part& part : item.text.parts) {
      part.span = item.markup->In(part.span).source;
    }
    item.text.text = item.markup->text();
  }
  if (!item.results.empty()) {
    v1::TranslateResult result;
    if (item.text.split) {
      result = JoinParts(item.text, std::move(item.results), sentences_);
    } else {
      result = std::move(item.results[0]);
      result.set_sentence_count(1);
    }
    const std::string& text = item.text.text;
    PlaceSources(text, result.mutable_unkept());
    PlaceSources(text, result.mutable_glossary_uses());
    PlaceSources(text, result.mutable_suspicions());
    PlaceWords(text, &result);
    return result;
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
