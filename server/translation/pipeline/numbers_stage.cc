// Placeholders of protected spans have digits, too. Both texts are compared
// with blanks instead of them, so that bytes keep their places.
#include "server/translation/pipeline/numbers_stage.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "server/translation/number_neighbours.h"
#include "server/translation/pipeline/span_protection.h"
#include "server/translation/pipeline/terminology.h"

namespace trivium {
namespace {

constexpr int kRequire = kPlaceholderStyles + 1;
constexpr int kHoldAll = kRequire + 1;
constexpr int kMostHolds = kHoldAll + kPlaceholderStyles - 1;
constexpr int kBeamsOfNumber = 2;
// A number that is missing is worse than one that was added. One that is said
// twice is no fault: another attempt seldom says it once.
constexpr size_t kFaultsOfMissing = 2;

// True if the part's numbers can be told from its placeholders.
bool Applies(const TranslationJob& job, const Attempt& attempt) {
  return job.prefix.empty() && !attempt.in_pieces() &&
         attempt.readings.size() == 1 &&
         attempt.readings[0].span.end - attempt.readings[0].span.begin <=
             kLongestSentence;
}

// Returns the text with blanks instead of the placeholders of protected spans.
std::string WithoutPlaceholders(const TranslationJob& job,
                                const Attempt& attempt, std::string text) {
  for (const TextSpan& span : PlaceholdersIn(job, attempt, text)) {
    std::fill(text.begin() + static_cast<ptrdiff_t>(span.begin),
              text.begin() + static_cast<ptrdiff_t>(span.end), ' ');
  }
  return text;
}

bool MayHaveNumbers(std::string_view text) {
  return text.find_first_of("0123456789IVX") != text.npos;
}

// Returns the style of the placeholders of an attempt that holds numbers.
int StyleOf(int hold) { return hold < kRequire ? hold - 1 : hold - kHoldAll; }

// True if nothing but a colon, slash or dash is between two numbers.
bool IsJoint(std::string_view between) {
  return between.empty() || between == ":" || between == "/" ||
         between == "-" || between == "\u2013";
}

// Returns the spans to hold: the numbers of these indices, and all that are
// joined to them, as in "10:30" or "2026-11-26".
std::vector<TextSpan> SpansToHold(std::string_view text,
                                  const std::vector<WrittenNumber>& numbers,
                                  const std::set<size_t>& indices) {
  std::vector<TextSpan> spans;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    const auto joined = [&] {
      const TextSpan gap = {numbers[end - 1].span.end, numbers[end].span.begin};
      return IsJoint(gap.Of(text));
    };
    bool held = indices.contains(i);
    for (; end < numbers.size() && joined(); ++end) {
      held |= indices.contains(end);
    }
    if (held) {
      const TextSpan span =
          WithSigns(text, {numbers[i].span.begin, numbers[end - 1].span.end});
      if (!spans.empty() && spans.back().end >= span.begin) {
        spans.back().end = span.end;
      } else {
        spans.push_back(span);
      }
    }
    i = end;
  }
  return spans;
}

}  // namespace

absl::Status NumbersStage::Before(const TranslationJob& job,
                                  Attempt* attempt) const {
  if (attempt->hold == 0 || !Applies(job, *attempt)) return absl::OkStatus();
  const bool with_spans = !job.read_part(*attempt).protected_spans.empty();
  const absl::Status unreadable =
      absl::InvalidArgumentError("has numbers that cannot be held");
  // Tokens of two kinds of placeholders are not traced back.
  if (with_spans && attempt->needs_tokens) return unreadable;
  Reading& reading = attempt->readings[0];
  const std::string text = WithoutPlaceholders(job, *attempt, reading.text);
  const std::vector<WrittenNumber> numbers = numbers_.SourceNumbers(text);
  const std::vector<size_t>& missing = job.best[attempt->part]->missing_numbers;
  std::set<size_t> indices(missing.begin(), missing.end());
  if (attempt->hold >= kHoldAll) {
    for (size_t i = 0; i < numbers.size(); ++i) indices.insert(i);
  }
  HeldNumbers held = {reading.text, SpansToHold(text, numbers, indices)};
  if (held.spans.empty()) return unreadable;
  if (attempt->hold == kRequire) {
    // Numbers are required where the decoder attends to their source.
    if (!with_spans) attempt->needs_tokens = true;
    reading.held = std::move(held);
    return absl::OkStatus();
  }
  held.style = StyleOf(attempt->hold);
  if (with_spans && held.style == attempt->way) return unreadable;
  std::optional<std::string> read = WithPlaceholders(
      held.text, {0, held.text.size()}, held.spans, held.style);
  if (!read) return unreadable;
  reading.text = *std::move(read);
  if (attempt->needs_tokens) {
    std::vector<std::string_view> texts;
    for (const TextSpan& span : held.spans) texts.push_back(span.Of(held.text));
    reading.placeholders = RestoreSpans(reading.text, texts, held.style).places;
  }
  reading.held = std::move(held);
  return absl::OkStatus();
}

absl::Status NumbersStage::Ask(const TranslationJob& job,
                               const Attempt& attempt, Reading* reading,
                               Request* request) const {
  if (attempt.hold != kRequire || !reading->held) {
    return absl::OkStatus();
  }
  const HeldNumbers& held = *reading->held;
  const Tokenizer& tokenizer = *model_->tokenizer();
  DecodingOptions& decoding = *request->decoding;
  for (const TextSpan& span : held.spans) {
    if (decoding.required.size() == kMaxRequiredPhrases) break;
    const std::string text = numbers_.Write(span.Of(held.text));
    EncodeOptions options;
    options.side = TextSide::kTarget;
    options.add_special_tokens = false;
    TRIVIUM_ASSIGN_OR_RETURN(Encoding encoding,
                             tokenizer.Encode(text, options));
    // The model cannot write it.
    if (encoding.ids.empty() || tokenizer.Decode(encoding.ids) != text) {
      continue;
    }
    RequiredPhrase phrase;
    phrase.forms.push_back(std::move(encoding.ids));
    const TextSpan origin = {reading->span.begin + span.begin,
                             reading->span.begin + span.end};
    for (size_t i = 0; !job.pivot && i < reading->tokens.size(); ++i) {
      const TextSpan token = reading->tokens[i];
      if (token.begin < token.end && token.begin < origin.end &&
          origin.begin < token.end) {
        phrase.source.push_back(static_cast<int32_t>(i));
      }
    }
    decoding.required.push_back(std::move(phrase));
    decoding.beam_size =
        std::max(decoding.beam_size,
                 std::min(decoding.beam_size + kBeamsOfNumber, max_beam_size_));
    if (!decoding.word_pieces) decoding.word_pieces = WordPiecesOf(&tokenizer);
  }
  return absl::OkStatus();
}

void NumbersStage::Restore(const TranslationJob& job, const Attempt& attempt,
                           TranslationCandidate* candidate) const {
  const Reading& reading = attempt.readings[0];
  const HeldNumbers& held = *reading.held;
  std::vector<std::string> written;
  std::vector<TextSpan> origins;  // in the call's text
  for (const TextSpan& span : held.spans) {
    written.push_back(numbers_.Write(span.Of(held.text)));
    origins.push_back(
        {reading.span.begin + span.begin, reading.span.begin + span.end});
  }
  if (job.pivot) origins = job.pivot->OriginsOf(attempt.part, origins);
  const std::vector<std::string_view> spans(written.begin(), written.end());
  auto& hypotheses = candidate->translation.hypotheses;
  for (size_t h = 0; h < hypotheses.size(); ++h) {
    Restored restored = RestoreSpans(hypotheses[h].text, spans, held.style);
    hypotheses[h].text = std::move(restored.text);
    if (!attempt.needs_tokens) continue;
    Alignment& alignment = candidate->alignments[h];
    alignment = WithRestored(std::move(alignment), restored.places, origins);
  }
}

absl::Status NumbersStage::After(const TranslationJob& job,
                                 const Attempt& attempt,
                                 TranslationCandidate* candidate) const {
  if (!Applies(job, attempt)) return absl::OkStatus();
  const Reading& reading = attempt.readings[0];
  if (reading.held) {
    candidate->translation.text_stages.insert(TextStage::kNumbers);
    if (attempt.hold != kRequire) Restore(job, attempt, candidate);
  }
  const std::string source = WithoutPlaceholders(
      job, attempt, reading.held ? reading.held->text : reading.text);
  auto& hypotheses = candidate->translation.hypotheses;
  for (size_t h = 0; h < hypotheses.size(); ++h) {
    const std::string& text = hypotheses[h].text;
    if (!MayHaveNumbers(source) && !MayHaveNumbers(text)) continue;
    std::string translation = WithoutPlaceholders(job, attempt, text);
    const auto apply = [&](const std::vector<TextEdit>& edits) {
      if (edits.empty()) return;
      translation = EditedText(translation, edits).text();
      candidate->Edit(h, edits);
      candidate->translation.text_stages.insert(TextStage::kNumbers);
    };
    apply(numbers_.Corrections(source, translation));
    apply(numbers_.Repairs(source, translation));
    apply(numbers_.Neighbours(source, translation));
    if (h > 0) continue;
    NumberCheck::Differences differences =
        numbers_.Compare(source, translation);
    std::vector<size_t> lost = numbers_.LostCurrencies(source, translation);
    differences.missing.insert(differences.missing.end(), lost.begin(),
                               lost.end());
    candidate->number_faults =
        static_cast<int>(kFaultsOfMissing * differences.missing.size() +
                         differences.added.size() - differences.repeated);
    candidate->missing_numbers = std::move(differences.missing);
  }
  return absl::OkStatus();
}

std::optional<Attempt> NumbersStage::Retry(
    const TranslationJob& job, const Attempt& attempt, int losses,
    const TranslationCandidate& best) const {
  // Protected spans come first.
  if (best.number_faults == 0 || losses > 0 || attempt.hold == kMostHolds ||
      !Applies(job, attempt)) {
    return std::nullopt;
  }
  Attempt next;
  next.part = attempt.part;
  next.way = attempt.way;
  next.second_try = attempt.second_try;
  next.hold = attempt.hold + 1;
  const bool with_spans = !job.read_part(attempt).protected_spans.empty();
  const auto cannot = [&](int hold) {
    if (hold == kRequire) return draws_ || best.missing_numbers.empty();
    // Numbers that are only too many are held with all others.
    if (hold < kRequire && best.missing_numbers.empty()) return true;
    // Protected spans have placeholders of this style.
    return with_spans && StyleOf(hold) == attempt.way;
  };
  while (next.hold <= kMostHolds && cannot(next.hold)) ++next.hold;
  if (next.hold > kMostHolds) return std::nullopt;
  return next;
}

}  // namespace trivium
