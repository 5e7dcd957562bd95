// Invariants: of the text, every byte that is in no part is in each
// hypothesis's text, in its place; a part's hypothesis is there as it would be
// alone.
#include "server/calls/text_parts.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "server/calls/convert/character_places.h"
#include "server/calls/word_alignment.h"

namespace trivium {
namespace {

// From here on: Chinese, Japanese and Korean, which put no space after a
// sentence's mark.
constexpr char32_t kFirstIdeographic = 0x2E80;

bool EndsIdeographic(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && IsContinuation(text[begin - 1])) --begin;
  return begin > 0 &&
         FirstCodePoint(text.substr(begin - 1)).value >= kFirstIdeographic;
}

v1::FinishReason Worse(v1::FinishReason a, v1::FinishReason b) {
  const auto rank = [](v1::FinishReason reason) {
    return reason == v1::FINISH_REASON_LENGTH ? 2
           : reason == v1::FINISH_REASON_STOP ? 1
                                              : 0;
  };
  return rank(a) >= rank(b) ? a : b;
}

// Hypotheses of the same rank, one after the other.
class JoinedHypothesis {
 public:
  explicit JoinedHypothesis(const TextParts& text) : text_(text) {}

  // `source_words`: those of the parts before.
  v1::SentencePair::Span Add(size_t part, int source_words, v1::Hypothesis in) {
    AddGap(part);
    std::string& text = *out_.mutable_text();
    const size_t begin = text.size();
    text += in.text();
    ShiftWords(begin, source_words, &in);
    if (part == 0) {
      in.set_text(std::move(text));
      scores_ = 1.0 * in.score() * in.token_count();
      out_ = std::move(in);
    } else {
      scores_ += 1.0 * in.score() * in.token_count();
      out_.set_total_logprob(out_.total_logprob() + in.total_logprob());
      out_.set_token_count(out_.token_count() + in.token_count());
      out_.set_finish_reason(Worse(out_.finish_reason(), in.finish_reason()));
      out_.mutable_ids()->MergeFrom(in.ids());
      out_.mutable_pieces()->MergeFrom(in.pieces());
      out_.mutable_logprobs()->MergeFrom(in.logprobs());
      out_.mutable_words()->MergeFrom(in.words());
    }
    return places_.Next(out_.text(), {begin, out_.text().size()});
  }

  v1::Hypothesis Finish() {
    const size_t end = text_.parts.empty() ? 0 : text_.parts.back().span.end;
    out_.mutable_text()->append(text_.text, end);
    if (text_.parts.size() > 1 && out_.token_count() > 0) {
      out_.set_score(static_cast<float>(scores_ / out_.token_count()));
    }
    return std::move(out_);
  }

 private:
  // What stands before the part.
  void AddGap(size_t part) {
    const TextSpan span = text_.parts[part].span;
    const size_t end = part == 0 ? 0 : text_.parts[part - 1].span.end;
    std::string& out = *out_.mutable_text();
    out.append(text_.text, end, span.begin - end);
    if (part > 0 && end == span.begin && !out.empty() &&
        !EndsIdeographic(out) &&
        EndsIdeographic(std::string_view(text_.text).substr(0, end))) {
      out += ' ';
    }
  }

  const TextParts& text_;
  v1::Hypothesis out_;
  double scores_ = 0;  // the sum of tokens x score
  CharacterPlaces places_;
};

}  // namespace

v1::TranslateResult JoinParts(const TextParts& text,
                              std::vector<v1::TranslateResult> results,
                              bool sentences) {
  int hypotheses = 0;
  for (const v1::TranslateResult& result : results) {
    hypotheses = std::max(hypotheses, result.hypotheses_size());
  }
  std::vector<JoinedHypothesis> joined(hypotheses, JoinedHypothesis(text));
  v1::TranslateResult out;
  CharacterPlaces sources;
  for (size_t i = 0; i < results.size(); ++i) {
    v1::TranslateResult& result = results[i];
    const TextParts::Part& part = text.parts[i];
    v1::SentencePair* pair = sentences ? out.add_sentences() : nullptr;
    if (pair != nullptr) {
      *pair->mutable_source() = sources.Next(text.text, part.span);
      pair->set_cut(part.cut);
    }
    const int last = result.hypotheses_size() - 1;
    for (int h = 0; h < hypotheses && last >= 0; ++h) {
      v1::Hypothesis& best = *result.mutable_hypotheses(std::min(h, last));
      // The last one stands for those that others have more of.
      const auto span = joined[h].Add(
          i, out.source_words_size(),
          h < last || h + 1 == hypotheses ? std::move(best) : best);
      if (pair != nullptr) *pair->add_targets() = span;
    }
    if (part.cut) out.set_cut_count(out.cut_count() + 1);
    result.clear_hypotheses();
    out.set_source_token_count(out.source_token_count() +
                               result.source_token_count());
    out.set_truncated_tokens(out.truncated_tokens() +
                             result.truncated_tokens());
    out.mutable_source_pieces()->MergeFrom(result.source_pieces());
    out.mutable_prefix_pieces()->MergeFrom(result.prefix_pieces());
    out.mutable_unkept()->MergeFrom(result.unkept());
    out.mutable_suspicions()->MergeFrom(result.suspicions());
    out.set_second_try_count(out.second_try_count() +
                             result.second_try_count());
    out.set_second_kept_count(out.second_kept_count() +
                              result.second_kept_count());
    out.mutable_glossary_uses()->MergeFrom(result.glossary_uses());
    out.mutable_source_words()->MergeFrom(result.source_words());
    if (result.has_seed()) out.set_seed(result.seed());
    if (result.has_beam_trace()) {
      out.mutable_beam_trace()->Swap(result.mutable_beam_trace());
    }
  }
  out.set_sentence_count(static_cast<uint32_t>(results.size()));
  for (JoinedHypothesis& hypothesis : joined) {
    *out.add_hypotheses() = hypothesis.Finish();
  }
  return out;
}

}  // namespace trivium
