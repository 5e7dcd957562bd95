// Texts with markup: what of them is not translated, and their tags put back
// into translations.
#include <algorithm>
#include <utility>

#include "base/status.h"
#include "server/calls/convert/generated_text.h"
#include "server/calls/translation.h"

namespace trivium {

absl::StatusOr<std::vector<TextSpan>> Translation::Kept(
    const Item& item) const {
  if (!protection_) return std::vector<TextSpan>();
  const std::string& text = item.text.text;
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<TextSpan> found,
                           protection_->Find(text, input_options_.check_alive));
  if (!item.markup) return found;
  // What is not translated is apart from what is protected, which ends where a
  // line does.
  std::vector<TextSpan> kept = item.markup->opaque();
  const auto opaque = static_cast<ptrdiff_t>(kept.size());
  size_t next = 0;
  for (const TextSpan& span : found) {
    size_t begin = span.begin;
    const auto add = [&](size_t end) {
      const TextSpan part = WithoutWhiteSpace(text, {begin, end});
      if (part.begin < part.end) kept.push_back(part);
    };
    while (next < static_cast<size_t>(opaque) && kept[next].end <= begin) {
      ++next;
    }
    size_t inner = next;
    while (begin < span.end) {
      const TextSpan cut = inner < static_cast<size_t>(opaque)
                               ? kept[inner]
                               : TextSpan{text.size(), text.size()};
      const size_t line = std::min(text.find('\n', begin), text.size());
      const size_t end = std::min({span.end, cut.begin, line});
      add(end);
      begin = end == cut.begin ? cut.end : end + (end == line ? 1 : 0);
      if (end == cut.begin) ++inner;
    }
  }
  std::inplace_merge(kept.begin(), kept.begin() + opaque, kept.end(),
                     [](TextSpan a, TextSpan b) { return a.begin < b.begin; });
  return kept;
}

std::vector<Alignment> Translation::Align(const Asked& asked,
                                          const RequestResult& result) const {
  std::vector<Alignment> alignments(result.hypotheses.size());
  if (asked.tokens.empty()) return alignments;
  for (size_t i = 0; i < result.cross_attention.size(); ++i) {
    alignments[i] =
        AlignByAttention(result.cross_attention[i], asked.tokens,
                         WithoutStopId(result.hypotheses[i].ids,
                                       DecodingOf(asked).options.stop_ids),
                         *model_->tokenizer());
  }
  return alignments;
}

absl::Status Translation::PutMarkup(const Item& item,
                                    const TextParts::Part& part,
                                    const std::vector<Alignment>& alignments,
                                    v1::TranslateResult* result) const {
  if (!item.markup) return absl::OkStatus();
  const Markup& markup = *item.markup;
  const Markup::Sentence sentence = markup.In(part.span);
  for (int i = 0; i < result->hypotheses_size(); ++i) {
    if (input_options_.check_alive) {
      TRIVIUM_RETURN_IF_ERROR(input_options_.check_alive());
    }
    if (goes_on_) break;  // who reads it wants words
    v1::Hypothesis& hypothesis = *result->mutable_hypotheses(i);
    hypothesis.set_text(
        markup.Place(sentence, hypothesis.text(), alignments[i]));
  }
  // What is not translated has its place now.
  auto& unkept = *result->mutable_unkept();
  unkept.erase(
      std::remove_if(unkept.begin(), unkept.end(),
                     [&markup](const v1::UnkeptSpan& span) {
                       return markup.IsOpaque(span.source().byte_begin());
                     }),
      unkept.end());
  const auto place = [&markup](auto* found) {
    for (auto& one : *found) {
      v1::SentencePair::Span& source = *one.mutable_source();
      const TextSpan in_text =
          markup.InText({source.byte_begin(), source.byte_end()});
      source.set_byte_begin(static_cast<uint32_t>(in_text.begin));
      source.set_byte_end(static_cast<uint32_t>(in_text.end));
    }
  };
  place(&unkept);
  place(result->mutable_suspicions());
  place(result->mutable_glossary_uses());
  return absl::OkStatus();
}

}  // namespace trivium
