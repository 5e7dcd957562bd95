// The loop around the stages.
//
// What always holds:
//   - Results arrive in the order of requests, whatever their round.
//   - Of a part's candidates, the one with the fewest losses is kept; of
//     several, the one with the fewest faults in numbers; then one that is no
//     copied word; then the fewest findings; then the first.
//   - A retry goes to a later way, or a later way of holding numbers, or reads
//     a word in small letters for the first time, or is the single second try.
//     So a part is asked a bounded number of times.
#include "server/translation/pipeline/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "server/errors/status.h"
#include "server/translation/pipeline/part_cutter.h"
#include "server/translation/pipeline/token_texts.h"
#include "server/translation/protected_spans.h"

namespace trivium {
namespace {

void KeepBetter(TranslationCandidate made, const Attempt& attempt,
                TranslationJob* job) {
  std::optional<TranslationCandidate>& best = job->best[attempt.part];
  const size_t second = attempt.second_try ? 1 : 0;
  const auto faults = [](const TranslationCandidate& one) {
    return std::tuple(one.losses, one.number_faults, one.copied_word,
                      one.findings());
  };
  if (!best || faults(made) < faults(*best)) {
    best = std::move(made);
    best->translation.second_kept_count = second;
  }
  best->translation.second_try_count = second;
}

// Replaces the source of a result, an edited text, by the original.
void ToOriginal(const EditedText& edited, TranslatedText* result) {
  result->source = edited.original();
  const auto move = [&edited](TextSpan* span) {
    *span = edited.InOriginal(*span);
  };
  const auto move_sources = [&move](auto* all) {
    for (auto& one : *all) move(&one.source);
  };
  move_sources(&result->sentences);
  move_sources(&result->lost);
  move_sources(&result->findings);
  move_sources(&result->term_uses);
}

// Moves the bytes of a hypothesis back by `bytes`, which its text has lost at
// the beginning.
void MoveBack(size_t bytes, Alignment* alignment) {
  for (AlignedWords& words : *alignment) {
    words.target.begin -= std::min(bytes, words.target.begin);
    words.target.end -= std::min(bytes, words.target.end);
  }
  std::erase_if(*alignment, [](const AlignedWords& words) {
    return words.target.begin >= words.target.end;
  });
}

}  // namespace

Pipeline::Pipeline(TranslationOptions options, Stages stages, bool feeds_pivot)
    : options_(std::move(options)),
      stages_(std::move(stages)),
      feeds_pivot_(feeds_pivot) {
  if (options_.split) {
    splitter_.emplace(options_.model->direction().source_language);
  }
}

absl::StatusOr<TranslationJob> Pipeline::Prepare(
    const TranslationInput& input, std::optional<Markup> markup) const {
  TranslationJob job;
  job.path = input.path;
  job.markup = std::move(markup);
  job.prefix = input.prefix;
  OptionSet given = options_.given;
  given.Add(CallOption::kTargetPrefix, job.prefix.text.has_value());
  given.Add(CallOption::kTargetPrefixIds, job.prefix.ids.has_value());
  const OptionPaths paths = {options_.path, job.path};
  if (!input.text) TRIVIUM_RETURN_IF_ERROR(CheckNotAboutTexts(given, paths));
  TRIVIUM_RETURN_IF_ERROR(CheckExclusions(given, paths));
  if (input.text) {
    TRIVIUM_RETURN_IF_ERROR(
        options_.model->CheckText(*input.text, job.path + ".text"));
    job.text.text = *input.text;
    for (const auto& stage : stages_) {
      TRIVIUM_RETURN_IF_ERROR(stage->Open(&job));
    }
    // A text without letters has no part that a model reads.
    const bool no_letters =
        options_.text_stages &&
        WordsBetween(job.text.text, {0, job.text.text.size()}, {}).empty();
    // A blank text with a prefix is not cut: the prefix can be continued.
    job.text.split = (splitter_ || options_.protect || options_.format ||
                      !job.protected_spans.empty() || no_letters) &&
                     (job.prefix.empty() || !IsBlank(job.text.text));
  }
  if (job.text.split) {
    PartCutter cutter(
        options_, splitter_ ? &*splitter_ : nullptr, given, &job,
        [&](bool divides) {
          return AskPart(job.text.parts.size() - 1, divides, &job);
        },
        [&](std::string_view sentence) { return Keeps(sentence, &job); });
    TRIVIUM_RETURN_IF_ERROR(cutter.Cut());
  } else if (!input.text || !Keeps(*input.text, &job)) {
    TRIVIUM_RETURN_IF_ERROR(AskWhole(input, &job));
  }
  job.best.resize(job.text.parts.size());
  return job;
}

absl::Status Pipeline::PreparePivot(const std::vector<TranslatedText>& first,
                                    TranslationJob* job) const {
  PivotText pivot;
  for (size_t i = 0; i < first.size(); ++i) {
    std::vector<Alignment>& alignments = job->best[i]->alignments;
    pivot.Add(first[i].hypotheses[0].text,
              alignments.empty() ? Alignment() : std::move(alignments[0]));
  }
  job->pivot = std::move(pivot);
  job->best.assign(first.size(), std::nullopt);
  for (size_t i = 0; i < first.size(); ++i) {
    Attempt attempt;
    attempt.part = i;
    if (IsBlank(job->read_part(attempt).span.Of(job->read().text))) {
      TranslationCandidate blank;
      blank.translation.hypotheses.resize(options_.decoding.options.hypotheses);
      blank.alignments.resize(blank.translation.hypotheses.size());
      TRIVIUM_ASSIGN_OR_RETURN(job->best[i],
                               RunAfter(*job, attempt, std::move(blank)));
      continue;
    }
    const absl::Status status = AskPart(i, /*divides=*/false, job).status();
    if (absl::IsInvalidArgument(status)) {
      return InvalidField(
          job->path + ".text",
          fmt::format("has a sentence whose translation to '{}' cannot be "
                      "translated further: {}",
                      options_.model->direction().source_language,
                      std::string(status.message())));
    }
    TRIVIUM_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status Pipeline::AskWhole(const TranslationInput& input,
                                TranslationJob* job) const {
  job->text.parts.push_back({{0, job->text.text.size()}});
  Attempt attempt;
  TRIVIUM_RETURN_IF_ERROR(RunBefore(*job, &attempt));
  Reading& reading = attempt.readings[0];
  if (input.text) {
    TRIVIUM_RETURN_IF_ERROR(
        Tokenize(attempt, /*divides=*/false, *job, &reading));
  } else {
    TRIVIUM_ASSIGN_OR_RETURN(reading.input, options_.model->ReadInput(input));
  }
  if (reading.input->blank) {
    job->text.parts.clear();
    return absl::OkStatus();
  }
  return AskReadings(std::move(attempt), /*divides=*/false, job).status();
}

absl::StatusOr<bool> Pipeline::AskPart(size_t part, bool divides,
                                       TranslationJob* job) const {
  Attempt attempt;
  attempt.part = part;
  TRIVIUM_RETURN_IF_ERROR(RunBefore(*job, &attempt));
  return AskReadings(std::move(attempt), divides, job);
}

absl::StatusOr<bool> Pipeline::AskAgain(Attempt attempt,
                                        TranslationJob* job) const {
  for (; attempt.way <= Attempt::kInPieces; ++attempt.way) {
    // An attempt whose readings were tokenized before is asked as it is.
    if (attempt.readings.empty()) {
      const absl::Status before = RunBefore(*job, &attempt);
      // No way is left, so the best candidate stands.
      if (absl::IsInvalidArgument(before)) return false;
      TRIVIUM_RETURN_IF_ERROR(before);
    }
    TRIVIUM_ASSIGN_OR_RETURN(const bool fits,
                             AskReadings(attempt, /*divides=*/true, job));
    if (fits) return true;
    attempt.readings.clear();
  }
  return false;
}

bool Pipeline::Keeps(std::string_view sentence, TranslationJob* job) const {
  for (const auto& stage : stages_) {
    if (const std::optional<TextStage> keeps = stage->Keeps(*job, sentence)) {
      job->text_stages.insert(*keeps);
      return true;
    }
  }
  return false;
}

absl::Status Pipeline::RunBefore(const TranslationJob& job,
                                 Attempt* attempt) const {
  const TextSpan span = job.read_part(*attempt).span;
  attempt->readings.push_back({span, std::string(span.Of(job.read().text))});
  for (const auto& stage : stages_) {
    TRIVIUM_RETURN_IF_ERROR(stage->Before(job, attempt));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Pipeline::AskReadings(Attempt attempt, bool divides,
                                           TranslationJob* job) const {
  for (Reading& reading : attempt.readings) {
    TRIVIUM_RETURN_IF_ERROR(
        Tokenize(attempt, divides && !attempt.in_pieces(), *job, &reading));
    if (reading.input->too_long) return false;
    TRIVIUM_RETURN_IF_ERROR(AddRequest(attempt, &reading, job));
  }
  job->pending.push_back(std::move(attempt));
  return true;
}

absl::Status Pipeline::Tokenize(const Attempt& attempt, bool divides,
                                const TranslationJob& job,
                                Reading* reading) const {
  if (reading->input) return absl::OkStatus();
  TRIVIUM_ASSIGN_OR_RETURN(
      reading->input, options_.model->Read({reading->text, &job.prefix, divides,
                                            attempt.needs_tokens, job.path}));
  if (!attempt.needs_tokens || reading->input->too_long) {
    return absl::OkStatus();
  }
  reading->tokens =
      PlaceTokens(reading->input->tokens, reading->input->text_begin,
                  reading->span, reading->placeholders);
  if (job.pivot) {
    reading->tokens = job.pivot->OriginsOf(attempt.part, reading->tokens);
  }
  return absl::OkStatus();
}

absl::Status Pipeline::AddRequest(const Attempt& attempt, Reading* reading,
                                  TranslationJob* job) const {
  const CallDecoding& decoding = DecodingOf(attempt);
  Request request;
  TRIVIUM_ASSIGN_OR_RETURN(
      request.decoding,
      options_.model->DecodingFor(decoding, *reading->input, job->path));
  request.model = options_.model->handle();
  request.source = reading->input->source;
  request.prefix = reading->input->prefix;
  request.default_max_new_tokens = decoding.default_max_new_tokens;
  request.stop = decoding.matcher;
  if (options_.cross_attention) {
    request.cross_attention = options_.cross_attention->maps;
  }
  if (options_.decoder_attention) {
    request.decoder_attention = options_.decoder_attention->maps;
  }
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    TRIVIUM_RETURN_IF_ERROR((*stage)->Ask(*job, attempt, reading, &request));
  }
  if (reading->aligned || reading->words) {
    // The mean of all layers and heads.
    if (options_.model->prompted()) {
      request.decoder_attention.emplace();
      request.mean_decoder_attention = true;
    } else {
      request.cross_attention.emplace();
      request.mean_cross_attention = true;
    }
  }
  reading->stop_ids = request.decoding->stop_ids;
  // Nothing but the stages needs these.
  reading->input->tokens.clear();
  if (!reading->aligned) reading->tokens.clear();
  job->response_bytes += options_.model->ResponseBytes(
      options_, request,
      reading->terms && !feeds_pivot_ ? reading->terms->uses : 0);
  job->requests.push_back(std::move(request));
  return absl::OkStatus();
}

absl::Status Pipeline::AddResult(RequestResult result,
                                 TranslationJob* job) const {
  Attempt& attempt = job->pending.front();
  attempt.readings[attempt.results++].output = std::move(result);
  if (attempt.results < attempt.readings.size()) return absl::OkStatus();
  Attempt complete = std::move(attempt);
  job->pending.pop_front();
  return Finish(std::move(complete), job);
}

absl::Status Pipeline::Finish(Attempt attempt, TranslationJob* job) const {
  TRIVIUM_ASSIGN_OR_RETURN(
      TranslationCandidate made,
      RunAfter(*job, attempt, CandidateOf(*job, &attempt)));
  const int losses = made.losses;
  KeepBetter(std::move(made), attempt, job);
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    std::optional<Attempt> next =
        (*stage)->Retry(*job, attempt, losses, *job->best[attempt.part]);
    if (!next) continue;
    TRIVIUM_ASSIGN_OR_RETURN(const bool asked, AskAgain(*std::move(next), job));
    if (asked) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<TranslationCandidate> Pipeline::RunAfter(
    const TranslationJob& job, const Attempt& attempt,
    TranslationCandidate candidate) const {
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    TRIVIUM_RETURN_IF_ERROR((*stage)->After(job, attempt, &candidate));
  }
  candidate.pieces.clear();
  if (!feeds_pivot_) candidate.alignments.clear();
  return candidate;
}

TranslationCandidate Pipeline::CandidateOf(const TranslationJob& job,
                                           Attempt* attempt) const {
  TranslationCandidate candidate;
  if (!attempt->in_pieces()) {
    Reading& reading = attempt->readings[0];
    candidate.alignments = AlignmentsOf(reading);
    candidate.translation = TranslationOf(*attempt, &reading);
    return candidate;
  }
  const TextParts::Part& part = job.read_part(*attempt);
  TextParts pieces;
  pieces.split = true;
  pieces.text = std::string(part.span.Of(job.read().text));
  std::vector<std::vector<Alignment>> alignments;
  for (Reading& reading : attempt->readings) {
    pieces.parts.push_back({{reading.span.begin - part.span.begin,
                             reading.span.end - part.span.begin}});
    alignments.push_back(AlignmentsOf(reading));
    candidate.pieces.push_back(TranslationOf(*attempt, &reading));
  }
  candidate.translation =
      JoinParts(pieces, candidate.pieces, /*sentences=*/true);
  candidate.alignments = JoinAlignments(part, job.origins(*attempt), pieces,
                                        alignments, candidate.translation);
  candidate.translation.sentences.clear();
  return candidate;
}

std::vector<Alignment> Pipeline::AlignmentsOf(const Reading& reading) const {
  const RequestResult& output = reading.output;
  std::vector<Alignment> alignments(output.hypotheses.size());
  if (!reading.aligned) return alignments;
  const Tokenizer& tokenizer = *options_.model->tokenizer();
  const std::vector<AttentionMap>& maps = options_.model->prompted()
                                              ? output.decoder_attention
                                              : output.cross_attention;
  for (size_t i = 0; i < maps.size(); ++i) {
    const std::span<const int32_t> ids =
        WithoutStopId(output.hypotheses[i].ids, reading.stop_ids);
    alignments[i] = AlignByAttention(maps[i], reading.tokens, ids, tokenizer);
    if (!trims(reading)) continue;
    const std::string text = tokenizer.Decode(ids);
    MoveBack(WithoutWhiteSpace(text, {0, text.size()}).begin, &alignments[i]);
  }
  return alignments;
}

TranslatedText Pipeline::TranslationOf(const Attempt& attempt,
                                       Reading* reading) const {
  const CallDecoding& decoding = DecodingOf(attempt);
  const Tokenizer* const tokenizer = options_.model->tokenizer();
  RequestResult& output = reading->output;
  TranslatedText out;
  for (size_t i = 0; i < output.hypotheses.size(); ++i) {
    const Hypothesis& in = output.hypotheses[i];
    TranslatedHypothesis& hypothesis = out.hypotheses.emplace_back();
    if (tokenizer != nullptr) {
      hypothesis.text =
          TextOfTokens(in.ids, reading->stop_ids, decoding.stop, *tokenizer);
      if (trims(*reading)) {
        const TextSpan all = {0, hypothesis.text.size()};
        hypothesis.text = std::string(
            WithoutWhiteSpace(hypothesis.text, all).Of(hypothesis.text));
      }
    }
    hypothesis.score = in.score;
    hypothesis.log_probability = in.log_probability;
    hypothesis.token_count = in.ids.size();
    hypothesis.reason = in.reason;
    // Without a tokenizer the ids are the answer.
    if (options_.report_tokens || tokenizer == nullptr ||
        !in.top_logprobs.empty()) {
      hypothesis.ids = in.ids;
      hypothesis.logprobs = in.logprobs;
      hypothesis.top_logprobs = in.top_logprobs;
    }
    if (options_.cross_attention && i < output.cross_attention.size()) {
      hypothesis.cross_attention = std::move(output.cross_attention[i]);
    }
    if (i < output.decoder_attention.size()) {
      hypothesis.decoder_attention = std::move(output.decoder_attention[i]);
    }
  }
  const PreparedInput& input = *reading->input;
  out.trace = std::move(output.trace);
  out.source_tokens = options_.model->prompted() ? input.prefix.size()
                                                 : input.source.ids.size();
  out.truncated_tokens = static_cast<size_t>(input.truncated);
  if (options_.report_tokens) {
    out.source_ids = input.source.ids;
    out.prefix_ids = input.prefix;
  }
  if (decoding.options.sample) out.seed = decoding.options.seed;
  return out;
}

std::vector<TranslatedText> Pipeline::Translations(TranslationJob* job) {
  std::vector<TranslatedText> translations;
  for (std::optional<TranslationCandidate>& best : job->best) {
    translations.push_back(std::move(best->translation));
  }
  return translations;
}

TranslatedText Pipeline::Result(
    TranslationJob job, std::vector<TranslatedText> translations) const {
  if (job.markup) {
    for (TextParts::Part& part : job.text.parts) {
      part.span = job.markup->In(part.span).source;
    }
    job.text.text = job.markup->text();
    job.text.spaces.clear();
  }
  TranslatedText result;
  if (translations.empty()) {
    // White space, signs and protected spans come back as they are.
    result.hypotheses.emplace_back().text = job.text.text;
    if (options_.decoding.options.sample) {
      result.seed = options_.decoding.options.seed;
    }
  } else if (job.text.split) {
    result =
        JoinParts(job.text, std::move(translations), options_.report_sentences);
  } else {
    result = std::move(translations[0]);
    result.sentence_count = 1;
  }
  result.text_stages.merge(job.text_stages);
  result.source = std::move(job.text.text);
  if (job.edited) {
    ToOriginal(*job.edited, &result);
    // A text of which nothing was translated comes back as it is.
    if (job.text.parts.empty()) result.hypotheses[0].text = result.source;
  }
  return result;
}

}  // namespace trivium
