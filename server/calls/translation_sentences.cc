// A text cut into sentences, and those that the model cannot read as a whole
// at clauses, until it can; each becomes a part of the item.
#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "base/utf8.h"
#include "server/calls/translation.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// A sentence that is too long and has more bytes is cut by its TokenCounts:
// what these say to be far longer than the model reads is not tokenized again.
constexpr size_t kLongBytes = 16 << 10;
constexpr size_t kPartOfUnsure = 8;  // of what the model reads ...
constexpr size_t kUnsure = 16;       // ... and so many tokens more

absl::Status TooManySentences(const std::string& path,
                              const RequestLimits& limits) {
  return InvalidField(
      path + ".text",
      fmt::format("has more than {} sentences, and a call takes no more; send "
                  "the text in parts",
                  limits.max_inputs));
}

std::vector<TextSpan> SpansIn(TextSpan outer,
                              const std::vector<TextSpan>& spans) {
  const auto begin = std::partition_point(
      spans.begin(), spans.end(),
      [outer](TextSpan span) { return span.begin < outer.begin; });
  const auto end = std::partition_point(
      begin, spans.end(),
      [outer](TextSpan span) { return span.end <= outer.end; });
  return {begin, end};
}

}  // namespace

absl::Status Translation::CheckCount(size_t sentences, const std::string& path,
                                     const RequestLimits& limits) {
  return sentences <= static_cast<size_t>(limits.max_inputs)
             ? absl::OkStatus()
             : TooManySentences(path, limits);
}

absl::Status Translation::PrepareSentences(const v1::Input& input,
                                           Item* item) const {
  const std::string& path = item->path;
  TRIVIUM_RETURN_IF_ERROR(
      CheckText(input.text(), path + ".text", input_options_));
  item->text.text = input.text();
  if (format_ && !item->markup) {
    TRIVIUM_ASSIGN_OR_RETURN(
        item->markup, ParseMarkup(*format_, input.text(), path + ".text"));
  }
  if (item->markup) item->text.text = item->markup->plain();
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<TextSpan> sentences, Sentences(*item));
  TRIVIUM_ASSIGN_OR_RETURN(const std::vector<TextSpan> kept, Kept(*item));
  if (protection_) sentences = JoinAtSpans(sentences, kept);
  TRIVIUM_RETURN_IF_ERROR(
      CheckCount(sentences.size(), path, *input_options_.limits));
  if (sentences.size() > 1) {
    TRIVIUM_RETURN_IF_ERROR(CheckSeveral(input, path));
  }
  for (const TextSpan& sentence : sentences) {
    TRIVIUM_RETURN_IF_ERROR(
        AddSentence(input, sentence, /*cut=*/false, kept, nullptr, item));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TextSpan>> Translation::Sentences(
    const Item& item) const {
  const std::string& text = item.text.text;
  if (splitter_) return splitter_->Split(text, input_options_.check_alive);
  // Of a text with markup each line.
  std::vector<TextSpan> whole;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = item.markup
                           ? std::min(text.find('\n', begin), text.size())
                           : text.size();
    const TextSpan span = WithoutWhiteSpace(text, {begin, end});
    if (span.begin < span.end) whole.push_back(span);
    begin = end + 1;
  }
  return whole;
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
                                      bool cut,
                                      const std::vector<TextSpan>& kept,
                                      const TokenCounts* counts,
                                      Item* item) const {
  if (input_options_.check_alive)
    TRIVIUM_RETURN_IF_ERROR(input_options_.check_alive());
  TRIVIUM_RETURN_IF_ERROR(CheckCount(item->requests.size() + 1, item->path,
                                     *input_options_.limits));
  const std::string& text = item->text.text;
  const std::string_view sentence = span.Of(text);
  const std::vector<TextSpan> inner = SpansIn(span, kept);
  // Without words it is in the gap between others, as it is: a model that is
  // asked about signs alone may make up anything. Not where its search is what
  // is asked about.
  const bool words = inner.empty()
                         ? !splitter_ || HasLettersOrDigits(sentence) ||
                               !CheckSeveral(input, item->path).ok()
                         : !WordsBetween(text, span, inner).empty();
  if (!words) return absl::OkStatus();
  // A single character cannot be cut.
  const bool divides =
      splitter_ && FirstCodePoint(sentence).size < sentence.size();
  const auto limit = static_cast<size_t>(model_->info().max_source_tokens);
  // Placeholders may be far shorter than what they stand for.
  if (divides && inner.empty() && counts != nullptr &&
      counts->In(span) > limit + limit / kPartOfUnsure + kUnsure) {
    return AddHalves(input, span, span.begin + ClauseBorder(sentence, {}), kept,
                     counts, item);
  }
  v1::Input one;
  one.set_text(std::string(sentence));
  // Of one sentence: others have none.
  if (input.has_target_prefix()) one.set_target_prefix(input.target_prefix());
  if (input.has_target_prefix_ids()) {
    *one.mutable_target_prefix_ids() = input.target_prefix_ids();
  }
  Asked asked;
  asked.part = item->text.parts.size();
  asked.words = span;
  item->text.parts.push_back({span, cut, inner});
  TRIVIUM_ASSIGN_OR_RETURN(bool fits, AskPart(one, divides, asked, item));
  if (fits) return absl::OkStatus();

  const size_t border =
      ClauseBorder(sentence, item->text.parts.back().KeptInSpan());
  if (border == 0) {
    return AskPart(one, /*divides=*/false, asked, item).status();
  }
  item->text.parts.pop_back();
  TRIVIUM_RETURN_IF_ERROR(CheckSeveral(input, item->path));
  const size_t middle = span.begin + border;
  if (counts != nullptr || sentence.size() <= kLongBytes) {
    return AddHalves(input, span, middle, kept, counts, item);
  }
  TRIVIUM_ASSIGN_OR_RETURN(const TokenCounts found, CountTokens(span, *item));
  return AddHalves(input, span, middle, kept, &found, item);
}

absl::StatusOr<TokenCounts> Translation::CountTokens(TextSpan span,
                                                     const Item& item) const {
  const RequestLimits& limits = *input_options_.limits;
  const auto most =
      static_cast<size_t>((1 + 1.0 / kPartOfUnsure) * limits.max_inputs *
                          model_->info().max_source_tokens);
  TRIVIUM_ASSIGN_OR_RETURN(
      TokenCounts counts,
      TokenCounts::Of(*model_->tokenizer(), item.text.text, span, most,
                      input_options_.check_alive));
  if (counts.all() > most) return TooManySentences(item.path, limits);
  return counts;
}

absl::Status Translation::AddHalves(const v1::Input& input, TextSpan span,
                                    size_t middle,
                                    const std::vector<TextSpan>& kept,
                                    const TokenCounts* counts,
                                    Item* item) const {
  if (input_options_.check_alive)
    TRIVIUM_RETURN_IF_ERROR(input_options_.check_alive());
  for (const TextSpan half :
       {TextSpan{span.begin, middle}, TextSpan{middle, span.end}}) {
    TRIVIUM_RETURN_IF_ERROR(
        AddSentence(input, WithoutWhiteSpace(item->text.text, half),
                    /*cut=*/true, kept, counts, item));
  }
  return absl::OkStatus();
}

}  // namespace trivium
