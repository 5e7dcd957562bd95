#include "server/translation/pipeline/word_alignment.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <string>

#include "server/translation/characters.h"
#include "server/translation/pipeline/token_texts.h"

namespace trivium {
namespace {

// A word of the source is aligned if it gets at least this share of the
// attention that the most attended word gets.
constexpr float kShareOfAligned = 0.5f;

std::vector<TextSpan> SplitWords(std::string_view text) {
  std::vector<TextSpan> words;
  bool within = false;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const size_t size = FirstCodePoint(rest).size;
    if (u_isUWhiteSpace(FirstCharacter(rest))) {
      within = false;
    } else if (within) {
      words.back().end = at + size;
    } else {
      words.push_back({at, at + size});
      within = true;
    }
    at += size;
  }
  return words;
}

// The last word that has a byte of [begin, end), or -1.
int LastWordIn(const std::vector<TextSpan>& words, size_t begin, size_t end) {
  const auto after =
      std::partition_point(words.begin(), words.end(),
                           [end](TextSpan word) { return word.begin < end; });
  if (after == words.begin() || (after - 1)->end <= begin) return -1;
  return static_cast<int>(after - words.begin()) - 1;
}

// [ids]: the word that each token belongs to; -1 for tokens after the text and
// special ones. A token of no text, or of white space, belongs to the word that
// follows.
std::vector<int> WordsOfTokens(const std::vector<TextSpan>& words,
                               std::span<const int32_t> ids,
                               const Tokenizer& tokenizer) {
  const std::vector<TextSpan> spans = SpansOfTokens(ids, tokenizer);
  std::vector<int> word_of(ids.size(), -1);
  size_t silent = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const int word = LastWordIn(words, spans[i].begin, spans[i].end);
    if (word < 0) continue;
    std::fill(word_of.begin() + silent, word_of.begin() + i + 1, word);
    silent = i + 1;
  }
  return word_of;
}

}  // namespace

WordAlignment::WordAlignment(std::string_view source,
                             std::span<const Token> tokens, size_t prefix_bytes)
    : words_(SplitWords(source)) {
  for (const Token& token : tokens) {
    const auto begin = static_cast<size_t>(token.byte_begin);
    const auto end = static_cast<size_t>(token.byte_end);
    word_of_token_.push_back(
        token.special || end <= prefix_bytes
            ? -1
            : LastWordIn(words_, std::max(begin, prefix_bytes) - prefix_bytes,
                         end - prefix_bytes));
  }
}

std::vector<TargetWord> WordAlignment::WordsOf(
    std::string_view text, const Hypothesis& hypothesis,
    const AttentionMap& map, const Tokenizer& tokenizer,
    std::span<const int32_t> stop_ids) const {
  const std::vector<TextSpan> spans = SplitWords(text);
  const std::vector<int> word_of =
      WordsOfTokens(spans, WithoutStopId(hypothesis.ids, stop_ids), tokenizer);
  std::vector<TargetWord> words;
  size_t token = 0;
  std::vector<float> keys, shares;
  for (size_t i = 0; i < spans.size(); ++i) {
    TargetWord& word = words.emplace_back(TargetWord{spans[i]});
    double sum = 0;
    float least = 0;
    int count = 0;
    keys.assign(map.keys, 0.0f);
    while (token < word_of.size() && word_of[token] < static_cast<int>(i)) {
      ++token;
    }
    for (; token < word_of.size() && word_of[token] == static_cast<int>(i);
         ++token) {
      sum += hypothesis.logprobs[token];
      least = std::min(least, hypothesis.logprobs[token]);
      ++count;
      const auto row = map.weights.begin() + token * keys.size();
      for (size_t key = 0; key < keys.size(); ++key) keys[key] += row[key];
    }
    if (count == 0) continue;
    word.mean_logprob = static_cast<float>(sum / count);
    word.min_logprob = least;
    shares.assign(words_.size(), 0.0f);
    for (size_t key = 0; key < word_of_token_.size(); ++key) {
      if (word_of_token_[key] >= 0) shares[word_of_token_[key]] += keys[key];
    }
    const float most =
        shares.empty() ? 0 : *std::max_element(shares.begin(), shares.end());
    for (size_t s = 0; s < shares.size() && most > 0; ++s) {
      if (shares[s] >= kShareOfAligned * most) word.source_words.push_back(s);
    }
  }
  return words;
}

}  // namespace trivium
