// An input's parts, and what is asked of the model for each: first the part,
// with placeholders for what is protected; where a hypothesis lacks one, or has
// it twice, the part again with the next style, and at last what is between the
// spans, each piece by itself. Where checks find something of the best that
// came of it, all this once more with the second try's options.
//
// Invariants: results are taken in the order of requests, whichever round they
// are of; the result of a part that is kept is the first one with the fewest
// losses, of these with the fewest findings; a try ends with none; no call has
// more than max_inputs requests in a round of one input.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "server/calls/translation.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr int kInPieces = kPlaceholderStyles;
}  // namespace

absl::StatusOr<Translation::Item> Translation::Prepare(
    const v1::Input& input, const std::string& path,
    std::optional<Markup> markup) const {
  Item item;
  item.path = path;
  item.markup = std::move(markup);
  TRIVIUM_RETURN_IF_ERROR(CheckKind(input, path));
  const bool prefixed = input.target_case() != v1::Input::TARGET_NOT_SET;
  // With a prefix there is something to continue, also of a blank text.
  item.text.split = (splitter_ || protection_) && input.has_text() &&
                    !(prefixed && IsBlank(input.text()));
  if (item.text.split) {
    TRIVIUM_RETURN_IF_ERROR(PrepareSentences(input, &item));
  } else {
    Asked asked;
    TRIVIUM_ASSIGN_OR_RETURN(asked.input,
                             ConvertInput(input, path, input_options_));
    if (!asked.input.blank) {
      item.text.text = input.text();
      asked.words = {0, input.text().size()};
      item.text.parts.push_back({asked.words});
      TRIVIUM_RETURN_IF_ERROR(FindTermsAndWords(input.text(), item, &asked));
      TRIVIUM_RETURN_IF_ERROR(AddRequest(std::move(asked), &item));
    }
  }
  item.results.resize(item.text.parts.size());
  item.losses.resize(item.text.parts.size(), -1);
  item.alignments.resize(item.text.parts.size());
  return item;
}

absl::Status Translation::PrepareParts(
    const std::vector<v1::TranslateResult>& results, Item* item) const {
  PivotText& pivot = item->pivot.emplace();
  for (size_t i = 0; i < results.size(); ++i) {
    pivot.Add(results[i].hypotheses(0).text(), std::move(item->alignments[i]));
  }
  item->results.assign(results.size(), {});
  item->losses.assign(results.size(), -1);
  item->alignments.assign(results.size(), {});
  for (size_t i = 0; i < results.size(); ++i) {
    const TextParts::Part& part = pivot.text.parts[i];
    v1::Input one;
    one.set_text(std::string(part.span.Of(pivot.text.text)));
    if (IsBlank(one.text())) {
      for (int h = 0; h < decoding_.options.hypotheses; ++h) {
        item->results[i].add_hypotheses()->set_finish_reason(
            v1::FINISH_REASON_END);
      }
      TRIVIUM_RETURN_IF_ERROR(
          PutMarkup(*item, item->text.parts[i],
                    std::vector<Alignment>(decoding_.options.hypotheses),
                    &item->results[i]));
      continue;
    }
    Asked asked;
    asked.part = i;
    asked.words = part.span;
    const absl::Status status =
        AskPart(std::move(one), /*divides=*/false, std::move(asked), item)
            .status();
    if (absl::IsInvalidArgument(status)) {
      return InvalidField(
          item->path + ".text",
          fmt::format("has a sentence whose translation to '{}' cannot be "
                      "translated further: {}",
                      input_options_.direction.source_language,
                      std::string(status.message())));
    }
    TRIVIUM_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status Translation::CheckKind(const v1::Input& input,
                                    const std::string& path) const {
  const char* const of_texts = format_                         ? "format"
                               : sentences_                    ? "sentences"
                               : protection_                   ? "protect"
                               : split_ == v1::SPLIT_SENTENCES ? "split"
                               : checks_                       ? "checks"
                               : words_                        ? "words"
                               : glossary_                     ? "glossary"
                                                               : nullptr;
  if (!input.has_text() && of_texts != nullptr) {
    return InvalidField(fmt::format("{}.{}", path_, of_texts),
                        fmt::format("is about texts, and {} is none; leave it "
                                    "out",
                                    path));
  }
  if (input.target_case() == v1::Input::TARGET_NOT_SET) return absl::OkStatus();
  const std::string field =
      path +
      (input.has_target_prefix() ? ".target_prefix" : ".target_prefix_ids");
  if (protection_) {
    return InvalidField(
        field,
        fmt::format("is of one search, and {}.{} may take several; leave one "
                    "of them out",
                    path_, format_ ? "format" : "protect"));
  }
  if (checks_ || glossary_) {
    return InvalidField(
        field, fmt::format("is a part of a translation, and {}.{} is about "
                           "whole ones; leave one of them out",
                           path_, checks_ ? "checks" : "glossary"));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Translation::AskPart(v1::Input input, bool divides,
                                          Asked asked, Item* item) const {
  const TextParts& text = item->read();
  const TextParts::Part& part = text.parts[asked.part];
  if (part.kept.empty()) {
    return Ask(input, divides, std::move(asked), item);
  }
  for (; asked.style < kInPieces; ++asked.style) {
    auto read = WithPlaceholders(text.text, part.span, part.kept, asked.style);
    if (!read) continue;
    input.set_text(*std::move(read));
    return Ask(input, divides, std::move(asked), item);
  }
  if (!protection_->pieces()) {
    return InvalidField(item->path + ".text",
                        "has <x1>, {1} and %1, so no placeholder is left; "
                        "protect those, too, or leave out protect.pieces");
  }
  TRIVIUM_RETURN_IF_ERROR(TryInPieces(std::move(asked), item));
  return true;
}

absl::StatusOr<bool> Translation::Ask(const v1::Input& input, bool divides,
                                      Asked asked, Item* item) const {
  InputOptions options = input_options_;
  options.divides = divides;
  options.tokens = options.tokens || TagsNeedWords(*item, asked.part);
  TRIVIUM_ASSIGN_OR_RETURN(asked.input,
                           ConvertInput(input, item->path, options));
  if (asked.input.too_long) return false;
  TRIVIUM_RETURN_IF_ERROR(FindTermsAndWords(input.text(), *item, &asked));
  TRIVIUM_RETURN_IF_ERROR(AddRequest(std::move(asked), item));
  return true;
}

bool Translation::TagsNeedWords(const Item& item, size_t part) {
  return item.markup &&
         item.markup->NeedsWords(item.markup->In(item.text.parts[part].span));
}

absl::Status Translation::FindTermsAndWords(const std::string& read,
                                            const Item& item,
                                            Asked* asked) const {
  bool aligns = TagsNeedWords(item, asked->part);
  if (!aligns && !glossary_) return absl::OkStatus();
  const TextParts& text = item.read();
  const TextParts::Part& read_part = text.parts[asked->part];
  const bool in_pieces = asked->style == kInPieces;
  std::vector<Restored::Place> places;
  if (!in_pieces && !read_part.kept.empty()) {
    places = RestoreSpans(read, text.KeptOf(read_part), asked->style).places;
  }
  std::vector<TextSpan> tokens = PlaceTokens(
      asked->input.tokens, input_options_.direction.text_prefix.size(),
      asked->words, places);
  if (item.pivot) tokens = item.pivot->InText(asked->part, tokens);
  if (glossary_) {
    const TextParts::Part& part = item.text.parts[asked->part];
    const TextSpan span = item.pivot ? part.span : asked->words;
    // Of what a model between has lost, the last one says it all the same.
    TRIVIUM_ASSIGN_OR_RETURN(
        asked->terms,
        glossary_->TermsOf(item.text.text, span, part.kept, tokens,
                           /*all=*/!in_pieces, input_options_.check_alive));
    aligns = aligns || (goes_on_ && asked->terms.uses > 0);
  }
  if (!words_) asked->input.tokens.clear();
  if (aligns) asked->tokens = std::move(tokens);
  return absl::OkStatus();
}

absl::Status Translation::Try(Asked asked, Item* item) const {
  const TextParts& text = item->read();
  const TextParts::Part& sentence = text.parts[asked.part];
  for (; asked.style < kInPieces; ++asked.style) {
    const std::optional<std::string> read =
        WithPlaceholders(text.text, sentence.span, sentence.kept, asked.style);
    if (!read) continue;
    v1::Input one;
    one.set_text(*read);
    TRIVIUM_ASSIGN_OR_RETURN(const bool fits,
                             Ask(one, /*divides=*/true, asked, item));
    if (fits) return absl::OkStatus();
  }
  if (!protection_->pieces()) return absl::OkStatus();
  return TryInPieces(std::move(asked), item);
}

absl::Status Translation::TryInPieces(Asked asked, Item* item) const {
  const TextParts& text = item->read();
  const TextParts::Part& sentence = text.parts[asked.part];
  TextParts pieces;
  pieces.split = true;
  pieces.text = std::string(sentence.span.Of(text.text));
  for (const TextSpan& words : WordsBetween(
           pieces.text, {0, pieces.text.size()}, sentence.KeptInSpan())) {
    pieces.parts.push_back({words});
  }
  if (const absl::Status count =
          CheckCount(item->requests.size() + pieces.parts.size(), item->path,
                     *input_options_.limits);
      !count.ok()) {
    // What was made with placeholders stands.
    return item->results.empty() ? count : absl::OkStatus();
  }
  for (const TextParts::Part& piece : pieces.parts) {
    v1::Input one;
    one.set_text(std::string(piece.span.Of(pieces.text)));
    asked.style = kInPieces;
    asked.words = {sentence.span.begin + piece.span.begin,
                   sentence.span.begin + piece.span.end};
    TRIVIUM_RETURN_IF_ERROR(Ask(one, /*divides=*/false, asked, item).status());
  }
  item->pieces[asked.part].text = std::move(pieces);
  return absl::OkStatus();
}

absl::Status Translation::TryAgain(Asked asked, Item* item) const {
  asked.second = true;
  const TextParts::Part& part = item->read().parts[asked.part];
  if (part.kept.empty()) return AddRequest(std::move(asked), item);
  asked.style = 0;
  asked.words = part.span;
  return Try(std::move(asked), item);
}

void Translation::Keep(v1::TranslateResult made, Alignment alignment,
                       int losses, const Asked& asked, Item* item) {
  v1::TranslateResult& best = item->results[asked.part];
  int& least = item->losses[asked.part];
  const uint32_t tries = asked.second ? 1 : 0;
  if (least < 0 || losses < least ||
      (losses == least &&
       ResultChecks::Findings(made) < ResultChecks::Findings(best))) {
    least = losses;
    best = std::move(made);
    item->alignments[asked.part] = std::move(alignment);
    best.set_second_kept_count(tries);
  }
  best.set_second_try_count(tries);
}

absl::Status Translation::Take(Item* item, RequestResult result) const {
  Asked asked = std::move(item->asked.front());
  item->asked.pop_front();
  std::vector<Alignment> alignments = Align(asked, result);
  v1::TranslateResult made = PartResult(asked, *item, std::move(result));
  const TextParts::Part& part = item->text.parts[asked.part];
  const TextParts& read = item->read();
  const TextParts::Part& read_part = read.parts[asked.part];
  const std::vector<TextSpan>& kept =
      item->pivot ? item->pivot->kept[asked.part] : part.kept;
  int losses = 0;
  if (asked.style == kInPieces) {
    Pieces& pieces = item->pieces[asked.part];
    pieces.results.push_back(std::move(made));
    pieces.alignments.push_back(std::move(alignments));
    if (pieces.results.size() < pieces.text.parts.size()) {
      return absl::OkStatus();
    }
    made = JoinParts(pieces.text, pieces.results, /*sentences=*/true);
    alignments =
        JoinAlignments(read_part, kept, pieces.text, pieces.alignments, made);
    made.clear_sentences();
    TRIVIUM_ASSIGN_OR_RETURN(
        losses, protection_->CheckPieces(read, read_part, pieces.results,
                                         input_options_.check_alive, &made));
    item->pieces.erase(asked.part);
  } else if (!read_part.kept.empty()) {
    std::vector<std::vector<Restored::Place>> places;
    TRIVIUM_ASSIGN_OR_RETURN(
        losses,
        protection_->Restore(read, read_part, asked.style,
                             input_options_.check_alive, &made, &places));
    for (size_t i = 0; i < places.size(); ++i) {
      alignments[i] = WithRestored(std::move(alignments[i]), places[i], kept);
    }
  }
  if (item->pivot) item->pivot->PlaceUnkept(asked.part, &made);
  if (glossary_ && !goes_on_) {
    TRIVIUM_RETURN_IF_ERROR(
        glossary_->Report(item->text.text, part.span, part.kept,
                          input_options_.check_alive, &made));
  }
  if (checks_) {
    checks_->LookAtTexts(part.span.Of(item->text.text), part.span, &made);
  }
  TRIVIUM_RETURN_IF_ERROR(PutMarkup(*item, part, alignments, &made));
  Keep(std::move(made),
       goes_on_ && !alignments.empty() ? std::move(alignments[0]) : Alignment(),
       losses, asked, item);
  if (losses > 0 && asked.style != kInPieces) {
    const size_t before = item->asked.size();
    Asked next;
    next.part = asked.part;
    next.words = read_part.span;
    next.style = asked.style + 1;
    next.second = asked.second;
    TRIVIUM_RETURN_IF_ERROR(Try(std::move(next), item));
    if (item->asked.size() > before) return absl::OkStatus();
  }
  const bool again = checks_ && checks_->second_try() != nullptr &&
                     !asked.second &&
                     ResultChecks::Findings(item->results[asked.part]) > 0;
  return again ? TryAgain(std::move(asked), item) : absl::OkStatus();
}

}  // namespace trivium
