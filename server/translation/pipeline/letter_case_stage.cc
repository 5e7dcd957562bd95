// Placeholders stay as they are, in what the model reads and in what it writes.
#include "server/translation/pipeline/letter_case_stage.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "server/translation/characters.h"
#include "server/translation/language_code.h"
#include "server/translation/pipeline/span_protection.h"

namespace trivium {
namespace {

// True if the text has two capitals, as capitals and titles do.
bool HasCapitals(std::string_view text) {
  size_t capitals = 0;
  for (; !text.empty() && capitals < 2;
       text.remove_prefix(FirstCodePoint(text).size)) {
    if (u_isupper(FirstCharacter(text))) ++capitals;
  }
  return capitals == 2;
}

// True if a sentence with a capital has a translation without one. Names such
// as "iPhone" are copied, so they are in the source, too.
bool BeginsSmall(std::string_view sentence, std::string_view translation) {
  constexpr std::string_view kEnds = ".!?";
  if (sentence.empty() || translation.empty() ||
      kEnds.find(sentence.back()) == sentence.npos ||
      !u_isupper(FirstCharacter(sentence)) ||
      !u_islower(FirstCharacter(translation))) {
    return false;
  }
  const std::string_view word =
      translation.substr(0, translation.find_first_of(" ,.;:!?-/"));
  return sentence.find(word) == sentence.npos &&
         std::none_of(word.begin(), word.end(), absl::ascii_isdigit) &&
         std::none_of(word.begin(), word.end(), absl::ascii_isupper);
}

LetterCases::IdsOfWord WordsOf(const Tokenizer* tokenizer) {
  return [tokenizer](std::string_view word) {
    EncodeOptions options;
    options.add_special_tokens = false;
    auto encoding = tokenizer->Encode(word, options);
    return encoding.ok() ? std::move(encoding->ids) : std::vector<int32_t>();
  };
}

}  // namespace

LetterCaseStage::LetterCaseStage(const TranslationOptions& options)
    : cases_(options.model->direction().source_language,
             WordsOf(options.model->tokenizer())) {
  titles_ = LanguageCode(options.model->direction().target_language) == "en";
  // It is known how English begins. Words of results have their places before
  // this stage takes an article away.
  articles_ = titles_ && !options.report_words;
}

std::optional<LetterCases::OtherForm> LetterCaseStage::FormIfCopied(
    const TranslationJob& job, const Attempt& attempt) const {
  const TextParts::Part& part = job.read_part(attempt);
  if (!job.prefix.empty() || !part.protected_spans.empty()) return std::nullopt;
  std::optional<LetterCases::OtherForm> form =
      cases_.FormIfCopied(part.span.Of(job.read().text));
  if (form && !form->before.empty() && !articles_) return std::nullopt;
  return form;
}

absl::Status LetterCaseStage::Before(const TranslationJob& job,
                                     Attempt* attempt) const {
  if (!job.prefix.empty()) return absl::OkStatus();
  if (attempt->other_form && attempt->readings.size() == 1) {
    Reading& reading = attempt->readings[0];
    auto form = FormIfCopied(job, *attempt);
    if (form) reading.text = std::move(form->text);
    reading.other_case = true;
    return absl::OkStatus();
  }
  std::optional<LetterCases::KnownWords> known;
  for (Reading& reading : attempt->readings) {
    if (reading.text.size() > kLongestSentence || !HasCapitals(reading.text)) {
      continue;
    }
    const std::vector<TextSpan> apart =
        PlaceholdersIn(job, *attempt, reading.text);
    LetterCases::Normal normal = cases_.InNormalCase(reading.text, apart, {});
    if (normal.was != LetterCase::kNormal) {
      if (!known) known = cases_.WordsOf(job.read().text);
      normal = cases_.InNormalCase(reading.text, apart, *known);
    }
    reading.letter_case = normal.was;
    reading.whole_title = normal.whole_title;
    reading.other_case = normal.text != reading.text;
    reading.text = std::move(normal.text);
  }
  return absl::OkStatus();
}

absl::Status LetterCaseStage::After(const TranslationJob& job,
                                    const Attempt& attempt,
                                    TranslationCandidate* candidate) const {
  TranslatedText& translation = candidate->translation;
  if (std::any_of(attempt.readings.begin(), attempt.readings.end(),
                  [](const Reading& one) { return one.other_case; })) {
    translation.text_stages.insert(TextStage::kLetterCase);
  }
  // Pieces have protected spans between them.
  if (attempt.readings.size() != 1 || attempt.in_pieces()) {
    return absl::OkStatus();
  }
  const Reading& reading = attempt.readings[0];
  const auto form = FormIfCopied(job, attempt);
  bool with_before = true;  // the other form has its translation
  for (size_t h = 0; h < translation.hypotheses.size(); ++h) {
    TranslatedHypothesis& hypothesis = translation.hypotheses[h];
    const std::vector<TextSpan> apart =
        PlaceholdersIn(job, attempt, hypothesis.text);
    if (reading.letter_case == LetterCase::kCapitals) {
      hypothesis.text = InCapitals(hypothesis.text, apart);
    } else if (reading.letter_case == LetterCase::kTitle) {
      hypothesis.text =
          titles_ ? InTitleCase(hypothesis.text, apart, reading.whole_title)
                  : cases_.WithCopiedNames(reading.span.Of(job.read().text),
                                           std::move(hypothesis.text));
    }
    if (BeginsSmall(reading.span.Of(job.read().text), hypothesis.text)) {
      hypothesis.text = Capitalized(hypothesis.text);
      translation.text_stages.insert(TextStage::kLetterCase);
    }
    if (!attempt.other_form) continue;
    if (!form) {
      with_before = false;
    } else if (hypothesis.text.starts_with(form->before)) {
      const size_t bytes = form->before.size();
      hypothesis.text.erase(0, bytes);
      for (AlignedWords& words : candidate->alignments[h]) {
        words.target.begin -= std::min(bytes, words.target.begin);
        words.target.end -= std::min(bytes, words.target.end);
      }
    } else {
      with_before = false;
    }
    hypothesis.text = Capitalized(hypothesis.text);
  }
  if (!translation.hypotheses.empty()) {
    const std::string word(job.read_part(attempt).span.Of(job.read().text));
    candidate->copied_word =
        form &&
        (!with_before || InSmallLetters(translation.hypotheses[0].text) ==
                             InSmallLetters(word));
  }
  return absl::OkStatus();
}

std::optional<Attempt> LetterCaseStage::Retry(
    const TranslationJob& job, const Attempt& attempt, int losses,
    const TranslationCandidate& best) const {
  if (attempt.other_form || attempt.second_try || !best.copied_word) {
    return std::nullopt;
  }
  Attempt next;
  next.part = attempt.part;
  next.other_form = true;
  return next;
}

}  // namespace trivium
