// A span is lost unless it is in a hypothesis exactly once. It counts as there
// for each copied placeholder, and for each place where the model wrote the
// same bytes itself: Count looks for spans in the text between the restored
// ones, as in the source. So a span that the model makes up counts, too.
//
// What always holds:
// - Spans ascend, do not overlap, are not empty and have no white space at
//   their ends. Those that stages add (AddProtectedSpans) lose whatever an
//   earlier span has already, and are cut at line breaks, where sentences end.
// - `counts` is [hypotheses][spans]. In pieces, each count begins at 1, because
//   the span itself stands between two pieces.
#include "server/translation/pipeline/span_protection.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "server/errors/status.h"
#include "server/translation/pipeline/translation_job.h"

namespace trivium {
namespace {

constexpr size_t kMostPatterns = 16;
constexpr size_t kMostPatternBytes = 512;

absl::Status CheckPatterns(const std::vector<std::string>& patterns,
                           const std::string& path) {
  if (patterns.size() > kMostPatterns) {
    return InvalidField(path, fmt::format("has {}; give at most {}, joined by "
                                          "|",
                                          patterns.size(), kMostPatterns));
  }
  for (size_t i = 0; i < patterns.size(); ++i) {
    const size_t bytes = patterns[i].size();
    if (bytes > 0 && bytes <= kMostPatternBytes) continue;
    return InvalidField(fmt::format("{}[{}]", path, i),
                        fmt::format("has {} bytes; a pattern has 1 to {}",
                                    bytes, kMostPatternBytes));
  }
  return absl::OkStatus();
}

// Appends the spans whose count, [hypotheses][spans], is not 1. Returns the
// number of spans that it appends.
int AddLost(const SpanProtection::Part& part,
            const std::vector<std::vector<int>>& counts,
            TranslatedText* translation) {
  int lost = 0;
  for (size_t i = 0; i < part.spans.size(); ++i) {
    for (size_t h = 0; h < counts.size(); ++h) {
      if (counts[h][i] == 1) continue;
      ++lost;
      translation->lost.push_back(
          {std::string(part.spans[i]), part.origins[i], h, counts[h][i]});
    }
  }
  return lost;
}

// Returns what remains of `spans` outside `apart`, cut at line breaks, where
// sentences end. Both lists ascend, and their spans do not overlap.
std::vector<TextSpan> Outside(std::string_view text,
                              const std::vector<TextSpan>& spans,
                              const std::vector<TextSpan>& apart) {
  std::vector<TextSpan> outside;
  auto next = apart.begin();
  for (const TextSpan& span : spans) {
    size_t begin = span.begin;
    while (next != apart.end() && next->end <= begin) ++next;
    auto inner = next;
    while (begin < span.end) {
      const TextSpan cut =
          inner != apart.end() ? *inner : TextSpan{text.size(), text.size()};
      // Beyond the span a search would cost the rest of the text each time.
      const size_t line =
          std::min(text.substr(0, span.end).find('\n', begin), text.size());
      const size_t end = std::min({span.end, cut.begin, line});
      const TextSpan part = WithoutWhiteSpace(text, {begin, end});
      if (part.begin < part.end) outside.push_back(part);
      begin = end == cut.begin ? cut.end : end + (end == line ? 1 : 0);
      if (end == cut.begin) ++inner;
    }
  }
  return outside;
}

}  // namespace

absl::StatusOr<SpanProtection> SpanProtection::Create(
    const ProtectionOptions& options, const std::string& path) {
  if (options.kinds.empty() && options.patterns.empty()) {
    return InvalidField(path,
                        "protects nothing; give kinds or patterns, or leave "
                        "it out");
  }
  TRIVIUM_RETURN_IF_ERROR(CheckPatterns(options.patterns, path + ".patterns"));
  const std::set<ProtectedKind> kinds(options.kinds.begin(),
                                      options.kinds.end());
  absl::StatusOr<ProtectedSpans> spans =
      ProtectedSpans::Create({kinds.begin(), kinds.end()}, options.patterns);
  if (!spans.ok()) {
    return InvalidField(
        path + ".patterns",
        std::string(spans.status().message()) + "; write it as RE2 reads it");
  }
  return SpanProtection(*std::move(spans), path);
}

absl::StatusOr<std::vector<TextSpan>> SpanProtection::Find(
    std::string_view text, const AliveCheck& check_alive) const {
  const absl::StatusOr<std::vector<TextSpan>> found =
      spans_.Find(text, check_alive);
  if (absl::IsInvalidArgument(found.status())) {
    return absl::InvalidArgumentError(
        fmt::format("{}.{}", path_, std::string(found.status().message())));
  }
  TRIVIUM_RETURN_IF_ERROR(found.status());
  std::vector<TextSpan> spans;
  for (const TextSpan& span : *found) {
    const TextSpan inner = WithoutWhiteSpace(text, span);
    if (inner.begin < inner.end) spans.push_back(inner);
  }
  return spans;
}

absl::Status SpanProtection::Count(const std::vector<std::string_view>& texts,
                                   const std::vector<std::string_view>& spans,
                                   const AliveCheck& check_alive,
                                   std::vector<int>* counts) const {
  absl::flat_hash_map<std::string_view, int> in_texts;
  for (const std::string_view text : texts) {
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<TextSpan> found,
                             Find(text, check_alive));
    for (const TextSpan& span : found) ++in_texts[span.Of(text)];
  }
  for (size_t i = 0; i < spans.size(); ++i) {
    const auto count = in_texts.find(spans[i]);
    if (count != in_texts.end()) (*counts)[i] += count->second;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<Restored::Place>>>
SpanProtection::Restore(const Part& part, int style,
                        const AliveCheck& check_alive,
                        TranslatedText* translation, int* losses) const {
  std::vector<std::vector<Restored::Place>> places;
  std::vector<std::vector<int>> counts;
  for (TranslatedHypothesis& hypothesis : translation->hypotheses) {
    Restored restored = RestoreSpans(hypothesis.text, part.spans, style);
    TRIVIUM_RETURN_IF_ERROR(
        Count({restored.between.begin(), restored.between.end()}, part.spans,
              check_alive, &restored.counts));
    if (restored.stray) ++*losses;
    places.push_back(std::move(restored.places));
    hypothesis.text = std::move(restored.text);
    counts.push_back(std::move(restored.counts));
  }
  *losses += AddLost(part, counts, translation);
  return places;
}

absl::Status SpanProtection::CheckPieces(
    const Part& part, const std::vector<TranslatedText>& pieces,
    const AliveCheck& check_alive, TranslatedText* joined, int* losses) const {
  // Each span is between two pieces.
  std::vector<std::vector<int>> counts(joined->hypotheses.size(),
                                       std::vector<int>(part.spans.size(), 1));
  for (size_t h = 0; h < counts.size(); ++h) {
    std::vector<std::string_view> texts;
    for (const TranslatedText& piece : pieces) {
      if (h < piece.hypotheses.size()) {
        texts.push_back(piece.hypotheses[h].text);
      }
    }
    TRIVIUM_RETURN_IF_ERROR(Count(texts, part.spans, check_alive, &counts[h]));
  }
  *losses += AddLost(part, counts, joined);
  return absl::OkStatus();
}

std::vector<TextSpan> PlaceholdersIn(const TranslationJob& job,
                                     const Attempt& attempt,
                                     std::string_view text) {
  std::vector<TextSpan> spans;
  const TextParts::Part& part = job.read_part(attempt);
  if (part.protected_spans.empty() || attempt.in_pieces()) return spans;
  const Restored restored =
      RestoreSpans(text, job.read().ProtectedTexts(part), attempt.way);
  for (const Restored::Place& place : restored.places) {
    spans.push_back(place.placeholder);
  }
  return spans;
}

void AddProtectedSpans(const std::vector<TextSpan>& found,
                       TranslationJob* job) {
  std::vector<TextSpan>& spans = job->protected_spans;
  const std::vector<TextSpan> outside = Outside(job->text.text, found, spans);
  const auto middle = static_cast<ptrdiff_t>(spans.size());
  spans.insert(spans.end(), outside.begin(), outside.end());
  std::inplace_merge(spans.begin(), spans.begin() + middle, spans.end(),
                     [](TextSpan a, TextSpan b) { return a.begin < b.begin; });
}

}  // namespace trivium
