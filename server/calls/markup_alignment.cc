#include "server/calls/markup_alignment.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/calls/convert/generated_text.h"

namespace trivium {
namespace {

// What a token's attention is shared among; less than this part of the most is
// no sign of anything.
constexpr float kLeastShare = 0.2f;
// As sure as no attention is.
constexpr float kCertain = 1000;

// What became of a span where placeholders were replaced; nothing of what is
// in one.
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

void AddRestored(std::span<const Restored::Place> places,
                 std::span<const TextSpan> spans, Alignment* alignment) {
  for (const Restored::Place& place : places) {
    alignment->push_back(
        {place.restored, spans[place.span], kCertain, /*whole=*/true});
  }
  std::stable_sort(alignment->begin(), alignment->end(),
                   [](const AlignedWords& a, const AlignedWords& b) {
                     return a.target.begin < b.target.begin;
                   });
}

std::vector<Alignment> JoinAlignments(
    const TextParts::Part& part, std::span<const TextSpan> spans,
    const TextParts& pieces,
    const std::vector<std::vector<Alignment>>& of_pieces,
    const v1::TranslateResult& joined) {
  std::vector<Alignment> alignments(joined.hypotheses_size());
  for (int h = 0; h < joined.hypotheses_size(); ++h) {
    std::vector<Restored::Place> kept;
    size_t behind = 0;         // of the pieces up to here, in the part ...
    size_t behind_joined = 0;  // ... and in the hypothesis
    size_t next = 0;
    const auto add_kept = [&](size_t end) {
      for (; next < part.kept.size(); ++next) {
        const size_t at = part.kept[next].begin - part.span.begin;
        if (at >= end) break;
        const size_t to = behind_joined + (at - behind);
        kept.push_back(
            {next,
             {to, to},
             {to, to + part.kept[next].end - part.kept[next].begin}});
      }
    };
    Alignment& alignment = alignments[h];
    for (size_t i = 0; i < of_pieces.size(); ++i) {
      const TextSpan piece = pieces.parts[i].span;
      add_kept(piece.begin);
      const auto& target = joined.sentences(static_cast<int>(i)).targets(h);
      if (!of_pieces[i].empty()) {
        const Alignment& own =
            of_pieces[i][std::min<size_t>(h, of_pieces[i].size() - 1)];
        for (AlignedWords words : own) {
          words.target.begin += target.byte_begin();
          words.target.end += target.byte_begin();
          alignment.push_back(words);
        }
      }
      behind = piece.end;
      behind_joined = target.byte_end();
    }
    add_kept(part.span.end - part.span.begin);
    AddRestored(kept, spans, &alignment);
  }
  return alignments;
}

}  // namespace trivium
