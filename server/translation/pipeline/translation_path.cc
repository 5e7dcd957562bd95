// The list of stages (StagesOf), and the pivot.
//
// A pivot is two pipelines. The first translates all parts of a text, with its
// own retries, until its job is done. Then Advance gives the best hypothesis of
// each part to the second pipeline, which reads it as one part. What always
// holds:
//   - The number of parts stays the same, so results of both steps belong to
//     the same sentences.
//   - Spans in results are bytes of the call's text, never of the pivot text.
//   - Only the last pipeline places tags and writes terms. The first one is
//     aligned instead, so that the last one can trace words back.
//   - Faults of the first step (lost spans, findings, cut output) are faults of
//     every final hypothesis, since all are made from the one translation.
#include "server/translation/pipeline/translation_path.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/status.h"
#include "server/errors/status.h"
#include "server/translation/pipeline/checks_stage.h"
#include "server/translation/pipeline/emoji_stage.h"
#include "server/translation/pipeline/end_marks_stage.h"
#include "server/translation/pipeline/glossary_stage.h"
#include "server/translation/pipeline/invisible_characters_stage.h"
#include "server/translation/pipeline/known_characters.h"
#include "server/translation/pipeline/language_tags_stage.h"
#include "server/translation/pipeline/letter_case_stage.h"
#include "server/translation/pipeline/links_stage.h"
#include "server/translation/pipeline/markup_stage.h"
#include "server/translation/pipeline/numbers_stage.h"
#include "server/translation/pipeline/placeholder_spaces_stage.h"
#include "server/translation/pipeline/protection_stage.h"
#include "server/translation/pipeline/target_language_stage.h"
#include "server/translation/pipeline/unknown_letters_stage.h"
#include "server/translation/pipeline/whole_characters_stage.h"
#include "server/translation/pipeline/words_stage.h"

namespace trivium {
namespace {

// Parts that both pipelines of a path share; null unless the call needs them.
struct SharedParts {
  std::shared_ptr<const SpanProtection> protection;
  std::shared_ptr<const Terminology> terminology;
  // The vocabularies of all models that read texts, for the text stages.
  std::vector<std::shared_ptr<const KnownCharacters>> known;
  std::string source_language, target_language;  // of the whole path; BCP 47
};

absl::StatusOr<SharedParts> MakeSharedParts(
    const std::vector<TranslationOptions>& steps) {
  const TranslationOptions& last = steps.back();
  SharedParts shared;
  shared.source_language = steps[0].model->direction().source_language;
  shared.target_language = last.model->direction().target_language;
  for (const TranslationOptions& step : steps) {
    if (step.text_stages && step.model->tokenizer() != nullptr) {
      shared.known.push_back(KnownCharacters::Of(step.model->handle()));
    }
  }
  if (last.protect) {
    TRIVIUM_ASSIGN_OR_RETURN(
        SpanProtection protection,
        SpanProtection::Create(*last.protect, last.path + ".protect"));
    shared.protection = std::make_shared<SpanProtection>(std::move(protection));
  } else if (last.format || last.text_stages) {
    shared.protection = std::make_shared<SpanProtection>();
  }
  if (last.glossary) {
    TRIVIUM_ASSIGN_OR_RETURN(
        Terminology terminology,
        Terminology::Create(*last.glossary, last.path + ".glossary",
                            shared.source_language, last.model->model(),
                            last.check_alive));
    shared.terminology = std::make_shared<Terminology>(std::move(terminology));
  }
  return shared;
}

// Returns the stages of a pipeline, outermost first. A new stage is one line
// here.
//
// The order follows from what each stage needs on the way back, which runs from
// the last line to the first. Protection restores protected spans. The glossary
// and the checks then look at texts that have these spans and no tags yet.
// Markup places tags last, by bytes of the restored text. Numbers are corrected
// where protected spans are still placeholders, which no stage changes. Words
// are those of the model's own text, so that stage is the innermost. Retry asks
// in the same order: lost spans are tried again before findings are.
//
// On the way in, language tags change before markup is parsed, and invisible
// characters go before anything is looked for. Links, emoji and words with
// unknown letters are protected after the spans that the call protects.
Stages StagesOf(const TranslationOptions& options, const SharedParts& shared,
                bool feeds_pivot) {
  Stages stages;
  const auto add = [&stages](bool asked_for, const auto& make) {
    if (asked_for) stages.push_back(make());
  };
  add(options.text_stages,
      [&] { return std::make_unique<WholeCharactersStage>(); });
  add(options.text_stages && options.format &&
          *options.format != MarkupFormat::kMarkdown,
      [&] {
        return std::make_unique<LanguageTagsStage>(
            *options.format, shared.source_language, shared.target_language);
      });
  add(options.format.has_value(),
      [&] { return std::make_unique<MarkupStage>(options, feeds_pivot); });
  add(options.text_stages, [&] {
    return std::make_unique<InvisibleCharactersStage>(
        shared.known,
        InvisibleCharactersOptions{.prices = !options.protect,
                                   .labels = !options.report_words,
                                   .feeds_pivot = feeds_pivot});
  });
  add(options.checks.has_value(),
      [&] { return std::make_unique<ChecksStage>(options); });
  add(shared.terminology != nullptr, [&] {
    return std::make_unique<GlossaryStage>(shared.terminology, options,
                                           feeds_pivot);
  });
  add(shared.protection != nullptr, [&] {
    return std::make_unique<ProtectionStage>(shared.protection, options);
  });
  add(options.text_stages,
      [&] { return std::make_unique<LinksStage>(options.check_alive); });
  add(options.text_stages,
      [&] { return std::make_unique<EmojiStage>(options.check_alive); });
  add(options.text_stages, [&] {
    return std::make_unique<UnknownLettersStage>(
        shared.known,
        TargetLetters::Of(shared.source_language, shared.target_language));
  });
  const Direction& direction = options.model->direction();
  const bool texts = options.model->tokenizer() != nullptr;
  // Terms are required as the glossary writes them.
  add(options.text_stages && texts && !options.glossary,
      [&] { return std::make_unique<LetterCaseStage>(options); });
  if (std::optional<NumberCheck> numbers = NumberCheck::For(
          direction.source_language, direction.target_language)) {
    add(options.text_stages, [&] {
      return std::make_unique<NumbersStage>(*std::move(numbers), options);
    });
  }
  if (std::optional<LanguageCheck> target =
          LanguageCheck::For(direction.target_language)) {
    add(options.text_stages && !options.source_named, [&] {
      return std::make_unique<TargetLanguageStage>(*std::move(target));
    });
  }
  // Words of results have places in the model's own text.
  add(options.text_stages && !options.report_words,
      [&] { return std::make_unique<EndMarksStage>(); });
  add(options.text_stages && !options.report_words,
      [&] { return std::make_unique<PlaceholderSpacesStage>(); });
  add(options.report_words,
      [&] { return std::make_unique<WordsStage>(options); });
  return stages;
}

// Adds to `last`, the final translation of a part, what the client must know of
// the first step.
void AddFirstStep(const TranslatedText& first, TranslatedText* last) {
  last->source_tokens = first.source_tokens;
  last->truncated_tokens += first.truncated_tokens;
  last->second_try_count += first.second_try_count;
  last->second_kept_count += first.second_kept_count;
  last->text_stages.insert(first.text_stages.begin(), first.text_stages.end());
  if (first.hypotheses[0].reason == FinishReason::kLength) {
    for (TranslatedHypothesis& hypothesis : last->hypotheses) {
      hypothesis.reason = FinishReason::kLength;
    }
  }
  // All hypotheses are made from the first translation, so they have its
  // faults.
  for (const LostSpan& lost : first.lost) {
    for (size_t h = 0; h < last->hypotheses.size(); ++h) {
      last->lost.emplace_back(lost).hypothesis = h;
    }
  }
  for (const Finding& finding : first.findings) {
    for (size_t h = 0; h < last->hypotheses.size(); ++h) {
      const bool known = std::any_of(
          last->findings.begin(), last->findings.end(),
          [&](const Finding& other) {
            return other.check == finding.check && other.hypothesis == h;
          });
      if (!known) last->findings.emplace_back(finding).hypothesis = h;
    }
  }
}

}  // namespace

absl::Status TranslationPath::Compose() {
  TRIVIUM_ASSIGN_OR_RETURN(const SharedParts shared, MakeSharedParts(steps_));
  for (size_t i = 0; i < steps_.size(); ++i) {
    const bool feeds_pivot = i + 1 < steps_.size();
    Stages stages = StagesOf(steps_[i], shared, feeds_pivot);
    pipelines_.emplace_back(std::move(steps_[i]), std::move(stages),
                            feeds_pivot);
  }
  steps_.clear();
  return absl::OkStatus();
}

absl::StatusOr<TranslationPath::Job> TranslationPath::Prepare(
    const TranslationInput& input, std::optional<Markup> markup) const {
  if (pipelines_.size() > 1 && (!input.text || !input.prefix.empty())) {
    return InvalidField(input.path,
                        "is not just a text, but two models translate only "
                        "texts; send a text without target prefix");
  }
  TRIVIUM_ASSIGN_OR_RETURN(TranslationJob prepared,
                           pipelines_[0].Prepare(input, std::move(markup)));
  Job job = {std::move(prepared)};
  TRIVIUM_RETURN_IF_ERROR(Advance(&job));
  return job;
}

absl::Status TranslationPath::AddResult(RequestResult result, Job* job) const {
  TRIVIUM_RETURN_IF_ERROR(
      pipelines_[job->step].AddResult(std::move(result), job));
  return Advance(job);
}

absl::Status TranslationPath::Advance(Job* job) const {
  if (!job->done() || job->step + 1 == pipelines_.size()) {
    return absl::OkStatus();
  }
  job->first = Pipeline::Translations(job);
  ++job->step;
  return pipelines_[job->step].PreparePivot(job->first, job);
}

TranslatedText TranslationPath::Result(Job job) const {
  std::vector<TranslatedText> translations = Pipeline::Translations(&job);
  for (size_t i = 0; i < job.first.size(); ++i) {
    AddFirstStep(job.first[i], &translations[i]);
  }
  return pipelines_.back().Result(std::move(job), std::move(translations));
}

}  // namespace trivium
