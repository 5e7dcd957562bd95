#include "server/calls/word_alignment.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <string>

#include "server/calls/convert/character_places.h"
#include "server/calls/convert/generated_text.h"
#include "server/translation/characters.h"

namespace trivium {
namespace {

// Of the attention that the most attended word gets.
constexpr float kShareOfAligned = 0.5f;

std::vector<TextSpan> WordsOf(std::string_view text) {
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

// The last word that has a byte of [begin, end); -1: none has.
int LastWordIn(const std::vector<TextSpan>& words, size_t begin, size_t end) {
  const auto after =
      std::partition_point(words.begin(), words.end(),
                           [end](TextSpan word) { return word.begin < end; });
  if (after == words.begin() || (after - 1)->end <= begin) return -1;
  return static_cast<int>(after - words.begin()) - 1;
}

// The word that each of `ids` says something of, and -1 for those after the
// text, and special ones. What says nothing, or white space, is of the word
// that follows.
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

void PlaceTarget(v1::Hypothesis* hypothesis) {
  CharacterPlaces places;
  for (v1::TargetWord& word : *hypothesis->mutable_words()) {
    const auto place =
        places.Next(hypothesis->text(), {word.byte_begin(), word.byte_end()});
    word.set_char_begin(place.char_begin());
    word.set_char_end(place.char_end());
  }
}

}  // namespace

WordAlignment::WordAlignment(std::string_view source,
                             std::span<const Token> tokens, size_t prefix_bytes)
    : words_(WordsOf(source)) {
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

void WordAlignment::AddSource(size_t begin, v1::TranslateResult* result) const {
  for (const TextSpan& word : words_) {
    v1::SentencePair::Span* const span = result->add_source_words();
    span->set_byte_begin(static_cast<uint32_t>(begin + word.begin));
    span->set_byte_end(static_cast<uint32_t>(begin + word.end));
  }
}

void WordAlignment::AddTarget(const Hypothesis& hypothesis,
                              const AttentionMap& map,
                              const Tokenizer& tokenizer,
                              std::span<const int32_t> stop_ids,
                              v1::Hypothesis* out) const {
  const std::vector<TextSpan> words = WordsOf(out->text());
  const std::vector<int> word_of =
      WordsOfTokens(words, WithoutStopId(hypothesis.ids, stop_ids), tokenizer);
  size_t token = 0;
  std::vector<float> keys, shares;
  for (size_t i = 0; i < words.size(); ++i) {
    v1::TargetWord* const word = out->add_words();
    word->set_byte_begin(static_cast<uint32_t>(words[i].begin));
    word->set_byte_end(static_cast<uint32_t>(words[i].end));
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
    word->set_mean_logprob(static_cast<float>(sum / count));
    word->set_min_logprob(least);
    shares.assign(words_.size(), 0.0f);
    for (size_t key = 0; key < word_of_token_.size(); ++key) {
      if (word_of_token_[key] >= 0) shares[word_of_token_[key]] += keys[key];
    }
    const float most =
        shares.empty() ? 0 : *std::max_element(shares.begin(), shares.end());
    for (size_t s = 0; s < shares.size() && most > 0; ++s) {
      if (shares[s] >= kShareOfAligned * most) {
        word->add_source_words(static_cast<uint32_t>(s));
      }
    }
  }
}

void ShiftWords(size_t bytes, int source_words, v1::Hypothesis* hypothesis) {
  const auto by = static_cast<uint32_t>(bytes);
  for (v1::TargetWord& word : *hypothesis->mutable_words()) {
    word.set_byte_begin(word.byte_begin() + by);
    word.set_byte_end(word.byte_end() + by);
    for (uint32_t& source : *word.mutable_source_words()) {
      source += static_cast<uint32_t>(source_words);
    }
  }
}

void PlaceWords(std::string_view source, v1::TranslateResult* result) {
  CharacterPlaces places;
  for (v1::SentencePair::Span& word : *result->mutable_source_words()) {
    word = places.Next(source, {word.byte_begin(), word.byte_end()});
  }
  for (v1::Hypothesis& hypothesis : *result->mutable_hypotheses()) {
    PlaceTarget(&hypothesis);
  }
}

}  // namespace trivium
