// An alignment passes through three texts, and each step only moves spans:
//
//   what the model read   source tokens, with placeholders and maybe a prefix
//     PlaceTokens         leaves out the prefix and tokens of placeholders
//   the call's text       spans of bytes
//   what the model wrote  AlignByAttention: its tokens' spans
//     WithRestored        after placeholders became the spans they stand for
//
// What always holds: pairs ascend by the place in the hypothesis. A token that
// stands for nothing has an empty span, and no pair. A restored span has one
// pair, which outweighs all attention. A span that overlaps a placeholder has
// none, since it is neither before nor after it.
#include "server/translation/pipeline/alignment.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/translation/pipeline/token_texts.h"

namespace trivium {
namespace {

// A token attends to many tokens a little. Weights below this share of the
// largest one are noise.
constexpr float kLeastShare = 0.2f;

// Returns the place of a span after placeholders were replaced; nullopt if the
// span overlaps a placeholder.
std::optional<TextSpan> Moved(TextSpan span,
                              std::span<const Restored::Place> places) {
  const auto next = std::partition_point(
      places.begin(), places.end(), [span](const Restored::Place& place) {
        return place.placeholder.end <= span.begin;
      });
  if (next != places.end() && next->placeholder.begin < span.end) {
    return std::nullopt;
  }
  if (next == places.begin()) return span;
  const Restored::Place& last = *(next - 1);
  const auto move = [&last](size_t at) {
    return at - last.placeholder.end + last.restored.end;
  };
  return TextSpan{move(span.begin), move(span.end)};
}

// Aligns each restored text with its span of the source, with certainty.
void AddRestored(std::span<const Restored::Place> places,
                 std::span<const TextSpan> spans, Alignment* alignment) {
  for (const Restored::Place& place : places) {
    alignment->push_back({place.restored, spans[place.span],
                          AlignedWords::kCertain,
                          /*whole=*/true});
  }
  std::stable_sort(alignment->begin(), alignment->end(),
                   [](const AlignedWords& a, const AlignedWords& b) {
                     return a.target.begin < b.target.begin;
                   });
}

}  // namespace

std::vector<TextSpan> PlaceTokens(std::span<const Token> tokens,
                                  size_t prefix_bytes, TextSpan span,
                                  std::span<const Restored::Place> places) {
  std::vector<TextSpan> spans;
  for (const Token& token : tokens) {
    TextSpan& out = spans.emplace_back();
    const auto begin = static_cast<size_t>(token.byte_begin);
    const auto end = static_cast<size_t>(token.byte_end);
    if (token.special || end <= prefix_bytes) continue;
    const auto moved = Moved(
        {std::max(begin, prefix_bytes) - prefix_bytes, end - prefix_bytes},
        places);
    if (!moved) continue;
    out = {span.begin + moved->begin,
           std::min(span.begin + moved->end, span.end)};
  }
  return spans;
}

Alignment AlignByAttention(const AttentionMap& map,
                           std::span<const TextSpan> source,
                           std::span<const int32_t> ids,
                           const Tokenizer& tokenizer) {
  Alignment alignment;
  const std::vector<TextSpan> targets = SpansOfTokens(ids, tokenizer);
  const size_t keys = std::min<size_t>(map.keys, source.size());
  for (size_t i = 0;
       i < std::min<size_t>(targets.size(), std::max(map.queries, 0)); ++i) {
    if (targets[i].begin == targets[i].end) continue;
    const std::span<const float> row =
        std::span(map.weights).subspan(i * map.keys, keys);
    float sum = 0, most = 0;
    for (size_t key = 0; key < keys; ++key) {
      if (source[key].begin >= source[key].end) continue;
      sum += row[key];
      most = std::max(most, row[key]);
    }
    if (most <= 0) continue;
    for (size_t key = 0; key < keys; ++key) {
      if (source[key].begin >= source[key].end ||
          row[key] < kLeastShare * most) {
        continue;
      }
      alignment.push_back({targets[i], source[key], row[key] / sum});
    }
  }
  return alignment;
}

Alignment WithRestored(Alignment alignment,
                       std::span<const Restored::Place> places,
                       std::span<const TextSpan> spans) {
  Alignment out;
  for (const AlignedWords& words : alignment) {
    if (const auto moved = Moved(words.target, places)) {
      out.push_back({*moved, words.source, words.weight, words.whole});
    }
  }
  AddRestored(places, spans, &out);
  return out;
}

std::vector<Alignment> JoinAlignments(
    const TextParts::Part& part, std::span<const TextSpan> spans,
    const TextParts& pieces,
    const std::vector<std::vector<Alignment>>& of_pieces,
    const TranslatedText& joined) {
  std::vector<Alignment> alignments(joined.hypotheses.size());
  for (size_t h = 0; h < alignments.size(); ++h) {
    std::vector<Restored::Place> places;  // of protected spans
    // The end of the last piece, in the part and in the hypothesis.
    size_t end_in_part = 0, end_in_hypothesis = 0;
    size_t next = 0;
    const auto add_places = [&](size_t end) {
      for (; next < part.protected_spans.size(); ++next) {
        const TextSpan span = part.protected_spans[next];
        const size_t at = span.begin - part.span.begin;
        if (at >= end) break;
        const size_t to = end_in_hypothesis + (at - end_in_part);
        places.push_back({next, {to, to}, {to, to + span.end - span.begin}});
      }
    };
    Alignment& alignment = alignments[h];
    for (size_t i = 0; i < of_pieces.size(); ++i) {
      const TextSpan piece = pieces.parts[i].span;
      add_places(piece.begin);
      const TextSpan target = joined.sentences[i].targets[h];
      if (!of_pieces[i].empty()) {
        const Alignment& own =
            of_pieces[i][std::min(h, of_pieces[i].size() - 1)];
        for (AlignedWords words : own) {
          words.target.begin += target.begin;
          words.target.end += target.begin;
          alignment.push_back(words);
        }
      }
      end_in_part = piece.end;
      end_in_hypothesis = target.end;
    }
    add_places(part.span.end - part.span.begin);
    AddRestored(places, spans, &alignment);
  }
  return alignments;
}

}  // namespace trivium
