// A step of the route is converted in this order: languages, decoding,
// truncation, split and format, exclusions (option_rules.h), checks, exclusions
// again, the rest. The first error is the answer. Exclusions come twice,
// because only a converted second try tells whether it draws tokens.
//
// Always:
// - With two models, an option of the message is refused unless kPivotOptions
//   or kPivotDecoding has it. So a new option is for one model until it is
//   listed.
// - Each step converts a copy of all options with languages of its own. Only
//   the last step keeps num_hypotheses.
// - A second try has the call's decoding options, with its own on top. Without
//   any of its own it becomes another search (OtherSearch), so that it does not
//   repeat the first.
#include "server/calls/convert/translation_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "base/status.h"
#include "model/translator_prompts.h"
#include "server/calls/convert/model_calls.h"
#include "server/calls/convert/translating_model.h"
#include "server/errors/status.h"
#include "server/translation/negation_check.h"
#include "server/translation/pipeline/option_rules.h"
#include "server/translation/translation_checks.h"

namespace trivium {
namespace {

// Options that are allowed if two models translate, one after the other.
constexpr std::string_view kPivotOptions[] = {
    "source_language", "target_language", "decoding", "truncate",
    "split",           "sentences",       "checks",   "truncation_direction",
    "protect",         "format",          "glossary", "text_stages",
};
constexpr std::string_view kPivotDecoding[] = {
    "beam_size",
    "num_hypotheses",
    "length_penalty",
    "early_stopping",
    "max_new_tokens",
    "repetition_penalty",
    "no_repeat_ngram_size",
};
// Options that a second try cannot change: they hold for both tries.
constexpr std::string_view kOfBothTries[] = {"num_hypotheses", "top_logprobs",
                                             "trace"};

// The decoding options of a second try, if the call gives none.
constexpr uint32_t kSecondTryBeams = 4;
constexpr uint32_t kSecondTryNgram = 4;

std::vector<std::string> FieldsOf(const google::protobuf::Message& message) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  std::vector<std::string> names;
  for (const auto* field : fields) names.push_back(field->name());
  return names;
}

template <size_t kSize>
bool IsOneOf(const std::string_view (&names)[kSize], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// INVALID_ARGUMENT for the first field that is set and not in `allowed`.
template <size_t kSize>
absl::Status CheckOnly(const google::protobuf::Message& message,
                       const std::string_view (&allowed)[kSize],
                       const std::string& path, const std::string& pivot) {
  for (const std::string& field : FieldsOf(message)) {
    if (IsOneOf(allowed, field)) continue;
    return InvalidField(
        fmt::format("{}.{}", path, field),
        fmt::format(
            "is only for one model, but two translate, by way of '{}'; leave "
            "it out, or translate to '{}' and from there in two calls",
            pivot, pivot));
  }
  return absl::OkStatus();
}

// Returns the error for an unknown value of an enum.
absl::Status NoValue(const std::string& path, int value) {
  return InvalidField(path, fmt::format("has no value {}", value));
}

// True for a task that is not a translation, such as a summary.
bool IsOtherTask(const v1::TranslateOptions& in) {
  return in.has_task() && !absl::StartsWith(in.task(), "translation");
}

absl::StatusOr<ProtectionOptions> ConvertProtection(const v1::Protection& in,
                                                    const std::string& path) {
  constexpr std::pair<v1::ProtectedKind, ProtectedKind> kKinds[] = {
      {v1::PROTECTED_KIND_PRINTF, ProtectedKind::kPrintf},
      {v1::PROTECTED_KIND_ICU_MESSAGE, ProtectedKind::kIcuMessage},
      {v1::PROTECTED_KIND_MUSTACHE, ProtectedKind::kMustache},
      {v1::PROTECTED_KIND_URL, ProtectedKind::kUrl},
      {v1::PROTECTED_KIND_EMAIL, ProtectedKind::kEmail},
      {v1::PROTECTED_KIND_FILE_NAME, ProtectedKind::kFileName},
      {v1::PROTECTED_KIND_NUMBER_WITH_UNIT, ProtectedKind::kNumberWithUnit},
      {v1::PROTECTED_KIND_NUMBER, ProtectedKind::kNumber},
  };
  if (in.kinds_size() > static_cast<int>(std::size(kKinds))) {
    return InvalidField(
        path + ".kinds",
        fmt::format("has {} values, but only {} exist; give each once",
                    in.kinds_size(), std::size(kKinds)));
  }
  ProtectionOptions out;
  for (int i = 0; i < in.kinds_size(); ++i) {
    const auto found = std::find_if(
        std::begin(kKinds), std::end(kKinds),
        [&](const auto& kind) { return kind.first == in.kinds(i); });
    if (found == std::end(kKinds)) {
      return NoValue(fmt::format("{}.kinds[{}]", path, i), in.kinds(i));
    }
    out.kinds.push_back(found->second);
  }
  out.patterns = {in.patterns().begin(), in.patterns().end()};
  if (in.has_pieces()) out.pieces = in.pieces();
  return out;
}

GlossaryOptions ConvertGlossary(const v1::Glossary& in) {
  GlossaryOptions out;
  for (const v1::GlossaryTerm& term : in.terms()) {
    out.terms.push_back({term.source(), term.target(),
                         term.has_match_case()
                             ? std::optional(term.match_case())
                             : std::nullopt});
  }
  out.inflections = in.inflections();
  return out;
}

// Returns options of a beam search that repeats no run of tokens.
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
      std::max<uint32_t>({kSecondTryBeams,
                          static_cast<uint32_t>(resolved.beam_size),
                          static_cast<uint32_t>(resolved.hypotheses)}),
      limits.max_beam_size));
  if (resolved.no_repeat_ngram_size == 0) {
    first.set_no_repeat_ngram_size(kSecondTryNgram);
  }
  return first;
}

absl::StatusOr<CallDecoding> ConvertSecondTry(
    const v1::DecodingOptions& in, const std::string& path,
    const v1::DecodingOptions& decoding, const Direction& direction,
    const Model& model, const RequestLimits& limits) {
  for (const std::string& field : FieldsOf(in)) {
    if (IsOneOf(kOfBothTries, field)) {
      return InvalidField(fmt::format("{}.{}", path, field),
                          "is for both tries; give it in decoding instead");
    }
  }
  v1::DecodingOptions options = decoding;
  options.MergeFrom(in);
  absl::StatusOr<CallDecoding> out =
      ConvertDecoding(options, path, direction, model, limits);
  if (!out.ok() || in.ByteSizeLong() > 0) return out;
  return ConvertDecoding(OtherSearch(decoding, out->options, limits), path,
                         direction, model, limits);
}

// A language in an error.
std::string NameOrUnknown(const std::string& language) {
  return language.empty() ? "an unknown language"
                          : fmt::format("'{}'", Shorten(language));
}

absl::StatusOr<CheckOptions> ConvertChecks(const v1::TranslateOptions& in,
                                           const std::string& path,
                                           const Direction& direction,
                                           const Model& model,
                                           const RequestLimits& limits) {
  constexpr std::pair<v1::Check, Check> kKinds[] = {
      {v1::CHECK_REPETITION, Check::kRepetition},
      {v1::CHECK_SOURCE_COPIED, Check::kSourceCopied},
      {v1::CHECK_LENGTH_RATIO, Check::kLengthRatio},
      {v1::CHECK_TRUNCATED, Check::kTruncated},
      {v1::CHECK_UNKNOWN_CHARACTERS, Check::kUnknownCharacters},
      {v1::CHECK_WRONG_LANGUAGE, Check::kWrongLanguage},
      {v1::CHECK_NUMBERS, Check::kNumbers},
      {v1::CHECK_NEGATION, Check::kNegation},
  };
  const v1::Checks& checks = in.checks();
  if (checks.kinds_size() > static_cast<int>(std::size(kKinds))) {
    return InvalidField(
        path + ".kinds",
        fmt::format("has {} values, but only {} exist; give each once",
                    checks.kinds_size(), std::size(kKinds)));
  }
  CheckOptions out;
  for (int i = 0; i < checks.kinds_size(); ++i) {
    const std::string field = fmt::format("{}.kinds[{}]", path, i);
    const auto found = std::find_if(
        std::begin(kKinds), std::end(kKinds),
        [&](const auto& kind) { return kind.first == checks.kinds(i); });
    if (found == std::end(kKinds)) return NoValue(field, checks.kinds(i));
    const std::string& target = direction.target_language;
    if (found->second == Check::kWrongLanguage && !LanguageCheck::For(target)) {
      return InvalidField(
          field, target.empty()
                     ? "needs the target language, which neither the call nor "
                       "the model names; give target_language, or leave it out"
                     : fmt::format("cannot check '{}', which CLD2 does not "
                                   "know; leave it out",
                                   Shorten(target)));
    }
    if (found->second == Check::kNegation &&
        !NegationCheck::For(direction.source_language, target)) {
      return InvalidField(
          field,
          fmt::format("is between English and German only, and this is {} to "
                      "{}; leave it out",
                      NameOrUnknown(direction.source_language),
                      NameOrUnknown(target)));
    }
    out.kinds.push_back(found->second);
  }
  if (checks.has_second_try()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        out.second_try,
        ConvertSecondTry(checks.second_try(), path + ".second_try",
                         in.decoding(), direction, model, limits));
  }
  return out;
}

OptionSet GivenOptions(const v1::TranslateOptions& in,
                       const TranslationOptions& out) {
  OptionSet given;
  given.Add(CallOption::kFormat, out.format.has_value());
  given.Add(CallOption::kSentences, in.sentences());
  given.Add(CallOption::kProtect, in.has_protect());
  given.Add(CallOption::kSplit, in.split() == v1::SPLIT_SENTENCES);
  given.Add(CallOption::kChecks, in.has_checks());
  given.Add(CallOption::kWords, in.words());
  given.Add(CallOption::kGlossary, in.has_glossary());
  given.Add(CallOption::kCrossAttention, in.has_cross_attention());
  given.Add(CallOption::kDecoderAttention, in.has_decoder_attention());
  given.Add(CallOption::kTrace, out.decoding.options.trace);
  given.Add(CallOption::kSecondTry, in.checks().has_second_try());
  given.Add(CallOption::kOtherTask, IsOtherTask(in));
  given.Add(CallOption::kWholeTexts, !out.split);
  given.Add(CallOption::kDraws, out.decoding.options.sample);
  return given;
}

absl::Status CheckTranslates(const ServedModel& served) {
  const Model& model = *served.model;
  if (model.translates()) return absl::OkStatus();
  if (model.info().design == Design::kDecoder) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' is a decoder, and its folder does not tell how to ask "
        "it for a translation; if it is a translator, start the server with "
        "--translate-with, or name the prompt in --model, as "
        "FOLDER,translate_with=tower; else send a chat to Generate",
        served.name));
  }
  return absl::FailedPreconditionError(fmt::format(
      "the model '{}' is not an encoder-decoder, so it cannot translate; it "
      "serves {}",
      served.name, NamesOfServedCalls(model)));
}

// INVALID_ARGUMENT for options that a model with a prompt cannot serve.
absl::Status CheckPrompted(const v1::TranslateOptions& in,
                           const std::string& path) {
  if (in.has_cross_attention()) {
    return InvalidField(path + ".cross_attention",
                        "is attention to an encoder, and this model is a "
                        "decoder that reads the text in its prompt; ask for "
                        "decoder_attention");
  }
  if (in.words()) {
    return InvalidField(path + ".words",
                        "are aligned by the attention to an encoder, and this "
                        "model is a decoder; leave it out");
  }
  if (in.truncate()) {
    return InvalidField(path + ".truncate",
                        "cuts the end of what the model reads, which is the "
                        "end of this model's prompt; leave it out");
  }
  return absl::OkStatus();
}

// Lets the search end at the tokens that end an answer, as at the folder's.
void AddEnds(const TranslatorPrompt& prompt, const Model& model,
             const v1::DecodingOptions& in, CallDecoding* decoding) {
  if (in.ignore_eos()) return;
  std::vector<int32_t>& ends = decoding->options.end_ids;
  for (const std::string_view token : prompt.ends) {
    const int32_t id = model.tokenizer()->PieceToId(token, TextSide::kTarget);
    if (id < 0 || id >= model.info().vocabulary) continue;
    if (std::find(ends.begin(), ends.end(), id) == ends.end()) {
      ends.push_back(id);
    }
  }
}

absl::StatusOr<TranslationOptions> ConvertStep(const v1::TranslateOptions& in,
                                               const std::string& path,
                                               const ModelHandle& served,
                                               const Environment& environment,
                                               const AliveCheck& check_alive) {
  const Model& model = *served->model;
  const RequestLimits& limits = environment.limits;
  TRIVIUM_RETURN_IF_ERROR(CheckTranslates(*served));
  const TranslatorPrompt* const prompt = model.translator_prompt();
  if (prompt != nullptr) TRIVIUM_RETURN_IF_ERROR(CheckPrompted(in, path));
  InputOptions input;
  TRIVIUM_ASSIGN_OR_RETURN(input.direction,
                           ConvertDirection(in, path + ".", model));
  TranslationOptions out;
  if (in.decoding().has_constraint()) {
    return InvalidField(path + ".decoding.constraint",
                        "is for Generate: a translation has the form of its "
                        "source; leave it out");
  }
  if (in.decoding().keep_stop()) {
    return InvalidField(path + ".decoding.keep_stop",
                        "is for Generate; leave it out");
  }
  TRIVIUM_ASSIGN_OR_RETURN(out.decoding,
                           ConvertDecoding(in.decoding(), path + ".decoding",
                                           input.direction, model, limits));
  if (prompt != nullptr) AddEnds(*prompt, model, in.decoding(), &out.decoding);
  input.now = environment.clock->WallTime(environment.clock->Now());
  input.model = &model;
  input.limits = &limits;
  TRIVIUM_RETURN_IF_ERROR(
      ConvertTruncation(in, path + ".", environment, *served, &input));
  input.decodes = true;
  input.check_alive = check_alive;
  if (!v1::Split_IsValid(in.split())) {
    return NoValue(path + ".split", in.split());
  }
  out.path = path;
  // A summary needs the whole text.
  out.split = in.split() == v1::SPLIT_SENTENCES ||
              (in.split() == v1::SPLIT_UNSPECIFIED && !IsOtherTask(in));
  TRIVIUM_ASSIGN_OR_RETURN(out.format, ConvertFormat(in, path));
  out.given = GivenOptions(in, out);
  TRIVIUM_RETURN_IF_ERROR(CheckExclusions(out.given, {path, ""}));
  if (in.has_checks()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        out.checks,
        ConvertChecks(in, path + ".checks", input.direction, model, limits));
    if (prompt != nullptr && out.checks->second_try) {
      AddEnds(*prompt, model, in.decoding(), &*out.checks->second_try);
    }
    out.given.Add(
        CallOption::kSecondTryDraws,
        out.checks->second_try && out.checks->second_try->options.sample);
    TRIVIUM_RETURN_IF_ERROR(CheckExclusions(out.given, {path, ""}));
  }
  if (in.has_cross_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        out.cross_attention,
        ConvertSelection(in.cross_attention(), path + ".cross_attention",
                         model.info().decoder_layers,
                         model.info().decoder_heads));
  }
  if (in.has_decoder_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        out.decoder_attention,
        ConvertDecoderSelection(in.decoder_attention(),
                                path + ".decoder_attention", model.info()));
  }
  if (in.has_protect()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        out.protect, ConvertProtection(in.protect(), path + ".protect"));
  }
  if (in.has_glossary()) out.glossary = ConvertGlossary(in.glossary());
  out.report_sentences = in.sentences();
  out.report_tokens = in.tokens();
  out.report_words = in.words();
  if (!v1::TextStages_IsValid(in.text_stages())) {
    return NoValue(path + ".text_stages", in.text_stages());
  }
  // The rest show one search as the model made it, or make no translation.
  out.text_stages = in.text_stages() != v1::TEXT_STAGES_OFF && !in.words() &&
                    !in.has_cross_attention() && !in.has_decoder_attention() &&
                    !out.decoding.options.trace && !IsOtherTask(in);
  out.max_parts = static_cast<size_t>(limits.max_inputs);
  out.max_beam_size = limits.max_beam_size;
  out.check_alive = check_alive;
  out.model = std::make_shared<CallTranslatingModel>(served, std::move(input),
                                                     !IsOtherTask(in));
  return out;
}

}  // namespace

absl::StatusOr<std::optional<MarkupFormat>> ConvertFormat(
    const v1::TranslateOptions& in, const std::string& path) {
  switch (in.format()) {
    case v1::TEXT_FORMAT_UNSPECIFIED:
    case v1::TEXT_FORMAT_PLAIN:
      return std::nullopt;
    case v1::TEXT_FORMAT_HTML:
      return MarkupFormat::kHtml;
    case v1::TEXT_FORMAT_XML:
      return MarkupFormat::kXml;
    case v1::TEXT_FORMAT_MARKDOWN:
      return MarkupFormat::kMarkdown;
    default:
      return NoValue(path + ".format", in.format());
  }
}

absl::StatusOr<std::vector<TranslationOptions>> ConvertTranslation(
    const v1::TranslateOptions& in, const std::string& path,
    const TranslationRoute& route, bool source_named,
    const Environment& environment, const AliveCheck& check_alive) {
  if (route.steps.size() > 1) {
    const std::string& pivot = route.steps[0].target_tag;
    TRIVIUM_RETURN_IF_ERROR(CheckOnly(in, kPivotOptions, path, pivot));
    TRIVIUM_RETURN_IF_ERROR(
        CheckOnly(in.decoding(), kPivotDecoding, path + ".decoding", pivot));
  }
  std::vector<TranslationOptions> steps;
  for (const TranslationRoute::Step& step : route.steps) {
    v1::TranslateOptions own = in;
    if (step.source) own.set_source_language(*step.source);
    if (step.target) own.set_target_language(*step.target);
    // Only the best hypothesis is translated further.
    const bool last = &step == &route.steps.back();
    if (!last) own.mutable_decoding()->clear_num_hypotheses();
    TRIVIUM_ASSIGN_OR_RETURN(
        steps.emplace_back(),
        ConvertStep(own, path, step.model, environment, check_alive));
    steps.back().source_named = source_named || steps.size() > 1;
  }
  return steps;
}

bool AsksForTextsOnly(const v1::TranslateOptions& in) {
  return !in.tokens() && !in.words() && !in.has_cross_attention() &&
         !in.has_decoder_attention() && !in.decoding().trace();
}

TranslationInput ConvertTranslationInput(const v1::Input& in,
                                         const std::string& path) {
  TranslationInput out;
  out.path = path;
  if (in.has_text()) out.text = in.text();
  if (in.has_pair()) out.pair = {in.pair().first(), in.pair().second()};
  if (in.has_ids()) {
    out.ids = {{in.ids().ids().begin(), in.ids().ids().end()},
               {in.ids().type_ids().begin(), in.ids().type_ids().end()}};
  }
  if (in.has_target_prefix()) out.prefix.text = in.target_prefix();
  if (in.has_target_prefix_ids()) {
    out.prefix.ids = {in.target_prefix_ids().ids().begin(),
                      in.target_prefix_ids().ids().end()};
  }
  return out;
}

}  // namespace trivium
