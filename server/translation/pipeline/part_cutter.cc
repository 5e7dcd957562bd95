// Parts ascend and do not overlap. Text in no part is white space, signs
// without letters and digits, or protected; with text stages, also digits
// without letters, marks between items, and emoji at the ends of sentences. No
// border is within a protected span.
//
// A sentence that is too long is halved at the best clause border near its
// middle, and each half again. To see whether a half fits, it must be
// tokenized; doing so at every level would tokenize n log n tokens for a text
// of n. So a long sentence is tokenized once, in pieces, and the counts
// (TokenCounts) show which halves are certainly too long. Only halves that may
// fit are tokenized again.
#include "server/translation/pipeline/part_cutter.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "server/errors/status.h"
#include "server/translation/characters.h"
#include "server/translation/emoji.h"
#include "server/translation/mark_borders.h"
#include "server/translation/protected_spans.h"

namespace trivium {
namespace {

// Sentences that are too long and have more bytes get TokenCounts.
constexpr size_t kLongBytes = 16 << 10;
// By its counts, a half is certainly too long if it exceeds the model's limit
// by more than one in kUnsureShare of the limit, plus kUnsureTokens.
constexpr size_t kUnsureShare = 8;
constexpr size_t kUnsureTokens = 16;

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

absl::Status TooManySentences(const std::string& path, size_t max_parts) {
  return InvalidField(
      path + ".text",
      fmt::format("has more than {} sentences, and a call takes no more; send "
                  "the text in parts",
                  max_parts));
}

absl::Status PartCutter::Cut() {
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<TextSpan> sentences, Sentences());
  if (has_text_stages() && splitter_ != nullptr) {
    std::vector<TextSpan> items = ItemsOf(sentences);
    // Marks must not make a text too long.
    if (items.size() <= options_.max_parts) sentences = std::move(items);
  }
  sentences = JoinAtSpans(sentences, job_.protected_spans);
  TRIVIUM_RETURN_IF_ERROR(CheckCount(sentences.size()));
  if (sentences.size() > 1) TRIVIUM_RETURN_IF_ERROR(CheckNotAboutOneSentence());
  for (const TextSpan& sentence : sentences) {
    if (keep_(sentence.Of(job_.text.text))) continue;
    TRIVIUM_RETURN_IF_ERROR(Add(sentence, /*cut=*/false, nullptr));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TextSpan>> PartCutter::Sentences() const {
  const std::string& text = job_.text.text;
  if (splitter_ != nullptr) return splitter_->Split(text, options_.check_alive);
  std::vector<TextSpan> whole;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = job_.markup
                           ? std::min(text.find('\n', begin), text.size())
                           : text.size();
    const TextSpan span = WithoutWhiteSpace(text, {begin, end});
    if (span.begin < span.end) whole.push_back(span);
    begin = end + 1;
  }
  return whole;
}

std::vector<TextSpan> PartCutter::ItemsOf(
    const std::vector<TextSpan>& sentences) const {
  std::vector<TextSpan> items;
  for (const TextSpan& sentence : sentences) {
    for (const TextSpan& item : CutAtMarks(job_.text.text, sentence)) {
      const std::vector<TextSpan> links =
          job_.markup ? job_.markup->LinksOf(item) : std::vector<TextSpan>();
      items.insert(items.end(), links.begin(), links.end());
      if (links.empty()) items.push_back(item);
    }
  }
  return items;
}

TextSpan PartCutter::WithoutEmoji(TextSpan span,
                                  std::vector<TextSpan>* spans) const {
  const std::string& text = job_.text.text;
  const auto is_emoji = [&text](TextSpan one) {
    return EmojiRowSize(one.Of(text)) == one.end - one.begin;
  };
  auto first = spans->begin(), last = spans->end();
  for (; first != last && first->begin == span.begin && is_emoji(*first);
       ++first) {
    const TextSpan rest = WithoutWhiteSpace(text, {first->end, span.end});
    // The sentence goes on, so the emoji is a word of it: "🐶 is my friend."
    if (rest.begin < rest.end && u_islower(FirstCharacter(rest.Of(text)))) {
      break;
    }
    span = rest;
  }
  for (; first != last && (last - 1)->end == span.end && is_emoji(*(last - 1));
       --last) {
    span = WithoutWhiteSpace(text, {span.begin, (last - 1)->begin});
  }
  *spans = std::vector<TextSpan>(first, last);
  return span;
}

absl::Status PartCutter::CheckNotAboutOneSentence() const {
  return trivium::CheckNotAboutOneSentence(given_, {options_.path, job_.path});
}

absl::Status PartCutter::CheckCount(size_t parts) const {
  return parts <= options_.max_parts
             ? absl::OkStatus()
             : TooManySentences(job_.path, options_.max_parts);
}

// A model that reads signs alone may make up anything, so signs stay as they
// are; but not if the call is about the search itself. The same is true of
// digits alone, if there are text stages.
bool PartCutter::IsWorthAsking(
    TextSpan span, const std::vector<TextSpan>& protected_spans) const {
  const std::string& text = job_.text.text;
  if (!protected_spans.empty() || has_text_stages()) {
    return !WordsBetween(text, span, protected_spans).empty();
  }
  return splitter_ == nullptr || HasLettersOrDigits(span.Of(text)) ||
         !CheckNotAboutOneSentence().ok();
}

absl::Status PartCutter::Add(TextSpan span, bool cut,
                             const TokenCounts* counts) {
  TRIVIUM_RETURN_IF_ERROR(options_.check_alive());
  TRIVIUM_RETURN_IF_ERROR(CheckCount(job_.requests.size() + 1));
  std::vector<TextSpan> spans = SpansIn(span, job_.protected_spans);
  if (has_text_stages()) span = WithoutEmoji(span, &spans);
  const std::string_view sentence = span.Of(job_.text.text);
  if (!IsWorthAsking(span, spans)) return absl::OkStatus();
  // A single character cannot be cut.
  const bool divides =
      splitter_ != nullptr && FirstCodePoint(sentence).size < sentence.size();
  const auto limit = static_cast<size_t>(options_.model->MostTokens());
  // With protected spans the counts say little, since placeholders may be far
  // shorter.
  if (divides && spans.empty() && counts != nullptr &&
      counts->In(span) > limit + limit / kUnsureShare + kUnsureTokens) {
    return AddHalves(span, span.begin + ClauseBorder(sentence, {}), counts);
  }
  job_.text.parts.push_back({span, cut, spans});
  TRIVIUM_ASSIGN_OR_RETURN(const bool fits, ask_(divides));
  if (fits) return absl::OkStatus();

  const size_t border =
      ClauseBorder(sentence, job_.text.parts.back().ProtectedInPart());
  if (border == 0) return ask_(/*divides=*/false).status();
  job_.text.parts.pop_back();
  TRIVIUM_RETURN_IF_ERROR(CheckNotAboutOneSentence());
  const size_t middle = span.begin + border;
  if (counts != nullptr || sentence.size() <= kLongBytes) {
    return AddHalves(span, middle, counts);
  }
  TRIVIUM_ASSIGN_OR_RETURN(const TokenCounts found, CountTokens(span));
  return AddHalves(span, middle, &found);
}

absl::StatusOr<TokenCounts> PartCutter::CountTokens(TextSpan span) const {
  const Model& model = options_.model->model();
  const auto most = static_cast<size_t>(
      (1 + 1.0 / kUnsureShare) * static_cast<double>(options_.max_parts) *
      options_.model->MostTokens());
  TRIVIUM_ASSIGN_OR_RETURN(TokenCounts counts,
                           TokenCounts::Of(*model.tokenizer(), job_.text.text,
                                           span, most, options_.check_alive));
  if (counts.all() > most) {
    return TooManySentences(job_.path, options_.max_parts);
  }
  return counts;
}

absl::Status PartCutter::AddHalves(TextSpan span, size_t middle,
                                   const TokenCounts* counts) {
  TRIVIUM_RETURN_IF_ERROR(options_.check_alive());
  for (const TextSpan half :
       {TextSpan{span.begin, middle}, TextSpan{middle, span.end}}) {
    TRIVIUM_RETURN_IF_ERROR(Add(WithoutWhiteSpace(job_.text.text, half),
                                /*cut=*/true, counts));
  }
  return absl::OkStatus();
}

}  // namespace trivium
