#include "server/calls/convert/token_spans.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace trivium {
namespace {

using Span = v1::TokenClassification::Span;

size_t Largest(std::span<const float> values) {
  return std::max_element(values.begin(), values.end()) - values.begin();
}

// "B-PER" begins a PER; "I-PER" and "PER" continue one.
struct Tag {
  bool begins = false;
  std::string_view name;

  explicit Tag(std::string_view label) : name(label) {
    if (label.substr(0, 2) == "B-" || label.substr(0, 2) == "I-") {
      begins = label[0] == 'B';
      name.remove_prefix(2);
    }
  }
};

// The label and score of the tokens of a word together.
std::vector<float> ScoresOfWord(std::span<const LabeledToken> word,
                                v1::Aggregation aggregation) {
  switch (aggregation) {
    case v1::AGGREGATION_AVERAGE: {
      std::vector<float> mean(word[0].scores.size());
      for (const LabeledToken& token : word) {
        for (size_t i = 0; i < mean.size(); ++i) mean[i] += token.scores[i];
      }
      for (float& score : mean) score /= static_cast<float>(word.size());
      return mean;
    }
    case v1::AGGREGATION_MAX: {
      const auto most = [](const LabeledToken& token) {
        return token.scores[Largest(token.scores)];
      };
      return std::max_element(
                 word.begin(), word.end(),
                 [&](const LabeledToken& a, const LabeledToken& b) {
                   return most(a) < most(b);
                 })
          ->scores;
    }
    default:
      return word[0].scores;
  }
}

// A span of `tokens` with neither label nor score.
Span Cover(std::span<const LabeledToken> tokens) {
  Span span;
  span.set_token_begin(static_cast<uint32_t>(tokens.front().index));
  span.set_token_end(static_cast<uint32_t>(tokens.back().index) + 1);
  if (tokens.front().token != nullptr) {
    span.set_byte_begin(tokens.front().token->byte_begin);
    span.set_char_begin(tokens.front().token->char_begin);
    span.set_byte_end(tokens.back().token->byte_end);
    span.set_char_end(tokens.back().token->char_end);
  }
  return span;
}

// Extends `to` up to the end of `span`.
void Extend(const Span& span, Span* to) {
  to->set_token_end(span.token_end());
  to->set_byte_end(span.byte_end());
  to->set_char_end(span.char_end());
}

}  // namespace

bool IsInsideWord(const Tokenizer& tokenizer, std::string_view text,
                  const Token& token) {
  if (token.id == tokenizer.special_token_ids().unknown) return false;
  if (tokenizer.marks_pieces_inside_words()) {
    return static_cast<int>(CountCharacters(token.piece)) !=
           token.char_end - token.char_begin;
  }
  return token.byte_begin > 0 &&
         text.substr(token.byte_begin - 1, 2).find(' ') ==
             std::string_view::npos;
}

std::vector<Span> MakeSpans(std::span<const LabeledToken> tokens,
                            std::span<const std::string> labels,
                            v1::Aggregation aggregation) {
  const bool words = aggregation == v1::AGGREGATION_FIRST ||
                     aggregation == v1::AGGREGATION_AVERAGE ||
                     aggregation == v1::AGGREGATION_MAX;
  const bool groups = aggregation != v1::AGGREGATION_NONE;
  std::vector<Span> spans;
  int parts = 0;  // words, or else tokens, of the last span
  const auto end = [&] {
    if (parts > 1) spans.back().set_score(spans.back().score() / parts);
    parts = 0;
  };
  for (size_t begin = 0, next; begin < tokens.size(); begin = next) {
    next = begin + 1;
    while (words && next < tokens.size() && tokens[next].inside_word &&
           tokens[next].index == tokens[next - 1].index + 1) {
      ++next;
    }
    const auto word = tokens.subspan(begin, next - begin);
    const std::vector<float> scores = ScoresOfWord(word, aggregation);
    const size_t best = Largest(scores);
    const Tag tag(labels[best]);
    Span span = Cover(word);
    if (groups && parts > 0 && !tag.begins &&
        spans.back().label() == tag.name &&
        spans.back().token_end() == span.token_begin()) {
      Extend(span, &spans.back());
      spans.back().set_score(spans.back().score() + scores[best]);
      ++parts;
      continue;
    }
    end();
    span.set_label(groups ? std::string(tag.name) : labels[best]);
    span.set_score(scores[best]);
    spans.push_back(std::move(span));
    parts = 1;
  }
  end();
  return spans;
}

}  // namespace trivium
