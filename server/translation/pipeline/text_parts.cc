// Each hypothesis has every byte of the text that is in no part, in its place,
// with unusual spaces as the call has them. A part's hypothesis stays as it
// would be alone. The only byte that is added is a space between two sentences,
// if the source is Chinese, Japanese or Korean and has none there, and the
// translation's script needs it.
#include "server/translation/pipeline/text_parts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/utf8.h"

namespace trivium {
namespace {

// The first character of the Chinese, Japanese and Korean scripts, which put no
// space after a sentence's mark.
constexpr char32_t kFirstIdeographic = 0x2E80;

bool EndsIdeographic(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && IsContinuation(text[begin - 1])) --begin;
  return begin > 0 &&
         FirstCodePoint(text.substr(begin - 1)).value >= kFirstIdeographic;
}

FinishReason Worse(FinishReason a, FinishReason b) {
  const auto rank = [](FinishReason reason) {
    return reason == FinishReason::kLength       ? 3
           : reason == FinishReason::kRepetition ? 2
           : reason == FinishReason::kStop       ? 1
                                                 : 0;
  };
  return rank(a) >= rank(b) ? a : b;
}

template <typename T>
void Append(std::vector<T> more, std::vector<T>* to) {
  to->insert(to->end(), std::make_move_iterator(more.begin()),
             std::make_move_iterator(more.end()));
}

// Joins hypotheses of the same rank, part by part.
class JoinedHypothesis {
 public:
  explicit JoinedHypothesis(const TextParts& text) : text_(text) {}

  // Appends the hypothesis of the next part, and returns its span.
  // `source_words`: the number of source words in the parts before it.
  TextSpan Add(size_t part, size_t source_words, TranslatedHypothesis in) {
    AddGap(part);
    const size_t begin = out_.text.size();
    out_.text += in.text;
    ShiftWords(begin, source_words, &in.words);
    scores_ += 1.0 * in.score * static_cast<double>(in.token_count);
    if (part == 0) {
      in.text = std::move(out_.text);
      out_ = std::move(in);
    } else {
      out_.log_probability += in.log_probability;
      out_.token_count += in.token_count;
      out_.reason = Worse(out_.reason, in.reason);
      Append(std::move(in.ids), &out_.ids);
      Append(std::move(in.logprobs), &out_.logprobs);
      Append(std::move(in.top_logprobs), &out_.top_logprobs);
      Append(std::move(in.words), &out_.words);
    }
    return {begin, out_.text.size()};
  }

  TranslatedHypothesis Finish() {
    const size_t end = text_.parts.empty() ? 0 : text_.parts.back().span.end;
    AddText({end, text_.text.size()});
    if (text_.parts.size() > 1 && out_.token_count > 0) {
      out_.score =
          static_cast<float>(scores_ / static_cast<double>(out_.token_count));
    }
    return std::move(out_);
  }

 private:
  void AddText(TextSpan span) {
    const EditedText text(std::string(span.Of(text_.text)),
                          text_.SpacesIn(span));
    out_.text += text.text();
  }

  // Appends the text between the previous part and this one.
  void AddGap(size_t part) {
    const TextSpan span = text_.parts[part].span;
    const size_t end = part == 0 ? 0 : text_.parts[part - 1].span.end;
    std::string& out = out_.text;
    AddText({end, span.begin});
    if (part > 0 && end == span.begin && !out.empty() &&
        !EndsIdeographic(out) &&
        EndsIdeographic(std::string_view(text_.text).substr(0, end))) {
      out += ' ';
    }
  }

  static void ShiftWords(size_t bytes, size_t source_words,
                         std::vector<TargetWord>* words) {
    for (TargetWord& word : *words) {
      word.span = {word.span.begin + bytes, word.span.end + bytes};
      for (size_t& source : word.source_words) source += source_words;
    }
  }

  const TextParts& text_;
  TranslatedHypothesis out_;
  double scores_ = 0;  // sum of token_count x score
};

}  // namespace

std::vector<TextEdit> TextParts::SpacesIn(TextSpan span) const {
  std::vector<TextEdit> in;
  const auto first = std::partition_point(
      spaces.begin(), spaces.end(),
      [span](const TextEdit& one) { return one.span.begin < span.begin; });
  for (auto one = first; one != spaces.end() && one->span.end <= span.end;
       ++one) {
    in.push_back({{one->span.begin - span.begin, one->span.end - span.begin},
                  one->replacement});
  }
  return in;
}

TranslatedText JoinParts(const TextParts& text,
                         std::vector<TranslatedText> translations,
                         bool sentences) {
  size_t hypotheses = 0;
  for (const TranslatedText& one : translations) {
    hypotheses = std::max(hypotheses, one.hypotheses.size());
  }
  std::vector<JoinedHypothesis> joined(hypotheses, JoinedHypothesis(text));
  TranslatedText out;
  for (size_t i = 0; i < translations.size(); ++i) {
    TranslatedText& one = translations[i];
    const TextParts::Part& part = text.parts[i];
    SentencePair* const pair =
        sentences
            ? &out.sentences.emplace_back(SentencePair{part.span, {}, part.cut})
            : nullptr;
    const size_t own = one.hypotheses.size();
    for (size_t h = 0; h < hypotheses && own > 0; ++h) {
      TranslatedHypothesis& best = one.hypotheses[std::min(h, own - 1)];
      const bool last_use = h + 1 < own || h + 1 == hypotheses;
      const TextSpan span = joined[h].Add(i, out.source_words.size(),
                                          last_use ? std::move(best) : best);
      if (pair != nullptr) pair->targets.push_back(span);
    }
    if (part.cut) ++out.cut_count;
    out.source_tokens += one.source_tokens;
    out.truncated_tokens += one.truncated_tokens;
    Append(std::move(one.source_ids), &out.source_ids);
    Append(std::move(one.prefix_ids), &out.prefix_ids);
    Append(std::move(one.lost), &out.lost);
    Append(std::move(one.findings), &out.findings);
    out.second_try_count += one.second_try_count;
    out.second_kept_count += one.second_kept_count;
    out.text_stages.merge(one.text_stages);
    Append(std::move(one.term_uses), &out.term_uses);
    Append(std::move(one.source_words), &out.source_words);
    if (one.seed) out.seed = one.seed;
    if (one.trace) out.trace = std::move(one.trace);
  }
  out.sentence_count = translations.size();
  for (JoinedHypothesis& hypothesis : joined) {
    out.hypotheses.push_back(hypothesis.Finish());
  }
  return out;
}

}  // namespace trivium
