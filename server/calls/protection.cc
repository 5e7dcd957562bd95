// A span counts as kept where its placeholder was copied once and the rest of
// the translation has no other span of the same bytes.
#include "server/calls/protection.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr int kMostPatterns = 16;
constexpr size_t kMostPatternBytes = 512;

std::optional<ProtectedKind> ToKind(int kind) {
  switch (kind) {
    case v1::PROTECTED_KIND_PRINTF:
      return ProtectedKind::kPrintf;
    case v1::PROTECTED_KIND_ICU_MESSAGE:
      return ProtectedKind::kIcuMessage;
    case v1::PROTECTED_KIND_MUSTACHE:
      return ProtectedKind::kMustache;
    case v1::PROTECTED_KIND_URL:
      return ProtectedKind::kUrl;
    case v1::PROTECTED_KIND_EMAIL:
      return ProtectedKind::kEmail;
    case v1::PROTECTED_KIND_FILE_NAME:
      return ProtectedKind::kFileName;
    case v1::PROTECTED_KIND_NUMBER_WITH_UNIT:
      return ProtectedKind::kNumberWithUnit;
  }
  return std::nullopt;
}

absl::Status CheckPatterns(const v1::Protection& in, const std::string& path) {
  if (in.patterns_size() > kMostPatterns) {
    return InvalidField(path + ".patterns",
                        fmt::format("has {}; give at most {}, joined by |",
                                    in.patterns_size(), kMostPatterns));
  }
  for (int i = 0; i < in.patterns_size(); ++i) {
    const size_t bytes = in.patterns(i).size();
    if (bytes > 0 && bytes <= kMostPatternBytes) continue;
    return InvalidField(fmt::format("{}.patterns[{}]", path, i),
                        fmt::format("has {} bytes; a pattern has 1 to {}",
                                    bytes, kMostPatternBytes));
  }
  return absl::OkStatus();
}

// What of `counts`, [hypotheses][kept], is not 1.
int AddUnkept(const TextParts& text, const TextParts::Part& part,
              const std::vector<std::vector<int>>& counts,
              v1::TranslateResult* result) {
  int wrong = 0;
  for (size_t i = 0; i < part.kept.size(); ++i) {
    for (size_t h = 0; h < counts.size(); ++h) {
      if (counts[h][i] == 1) continue;
      ++wrong;
      v1::UnkeptSpan* const unkept = result->add_unkept();
      unkept->set_text(std::string(part.kept[i].Of(text.text)));
      auto* const source = unkept->mutable_source();
      source->set_byte_begin(static_cast<uint32_t>(part.kept[i].begin));
      source->set_byte_end(static_cast<uint32_t>(part.kept[i].end));
      unkept->set_hypothesis(static_cast<uint32_t>(h));
      unkept->set_count(static_cast<uint32_t>(counts[h][i]));
    }
  }
  return wrong;
}

}  // namespace

absl::StatusOr<SpanProtection> SpanProtection::Create(const v1::Protection& in,
                                                      const std::string& path) {
  if (in.kinds().empty() && in.patterns().empty()) {
    return InvalidField(path,
                        "protects nothing; give kinds or patterns, or leave "
                        "it out");
  }
  constexpr int kKinds = v1::ProtectedKind_ARRAYSIZE - 1;  // one is none
  if (in.kinds_size() > kKinds) {
    return InvalidField(path + ".kinds",
                        fmt::format("names {}, and there are {}; give each "
                                    "once",
                                    in.kinds_size(), kKinds));
  }
  std::set<ProtectedKind> kinds;
  for (int i = 0; i < in.kinds_size(); ++i) {
    const std::optional<ProtectedKind> kind = ToKind(in.kinds(i));
    if (!kind) {
      return InvalidField(
          fmt::format("{}.kinds[{}]", path, i),
          fmt::format("has no value {}", static_cast<int>(in.kinds(i))));
    }
    kinds.insert(*kind);
  }
  TRIVIUM_RETURN_IF_ERROR(CheckPatterns(in, path));
  absl::StatusOr<ProtectedSpans> spans =
      ProtectedSpans::Create({kinds.begin(), kinds.end()},
                             {in.patterns().begin(), in.patterns().end()});
  if (!spans.ok()) {
    return InvalidField(
        path + ".patterns",
        std::string(spans.status().message()) + "; write it as RE2 reads it");
  }
  SpanProtection result(*std::move(spans), path);
  if (in.has_pieces()) result.pieces_ = in.pieces();
  return result;
}

absl::StatusOr<std::vector<TextSpan>> SpanProtection::Find(
    std::string_view text, const std::function<absl::Status()>& wanted) const {
  const absl::StatusOr<std::vector<TextSpan>> found = spans_.Find(text, wanted);
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
                                   const std::vector<std::string_view>& kept,
                                   const std::function<absl::Status()>& wanted,
                                   std::vector<int>* counts) const {
  absl::flat_hash_map<std::string_view, int> in_texts;
  for (const std::string_view text : texts) {
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<TextSpan> found,
                             Find(text, wanted));
    for (const TextSpan& span : found) ++in_texts[span.Of(text)];
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    const auto count = in_texts.find(kept[i]);
    if (count != in_texts.end()) (*counts)[i] += count->second;
  }
  return absl::OkStatus();
}

absl::StatusOr<int> SpanProtection::Restore(
    const TextParts& text, const TextParts::Part& part, int style,
    const std::function<absl::Status()>& wanted, v1::TranslateResult* result,
    std::vector<std::vector<Restored::Place>>* places) const {
  const std::vector<std::string_view> kept = text.KeptOf(part);
  std::vector<std::vector<int>> counts;
  int strays = 0;
  for (v1::Hypothesis& hypothesis : *result->mutable_hypotheses()) {
    Restored restored = RestoreSpans(hypothesis.text(), kept, style);
    TRIVIUM_RETURN_IF_ERROR(
        Count({restored.between.begin(), restored.between.end()}, kept, wanted,
              &restored.counts));
    strays += restored.stray ? 1 : 0;
    places->push_back(std::move(restored.places));
    hypothesis.set_text(std::move(restored.text));
    counts.push_back(std::move(restored.counts));
  }
  return strays + AddUnkept(text, part, counts, result);
}

absl::StatusOr<int> SpanProtection::CheckPieces(
    const TextParts& text, const TextParts::Part& part,
    const std::vector<v1::TranslateResult>& pieces,
    const std::function<absl::Status()>& wanted,
    v1::TranslateResult* joined) const {
  const std::vector<std::string_view> kept = text.KeptOf(part);
  std::vector<std::vector<int>> counts(joined->hypotheses_size(),
                                       std::vector<int>(kept.size(), 1));
  for (size_t h = 0; h < counts.size(); ++h) {
    std::vector<std::string_view> texts;
    for (const v1::TranslateResult& piece : pieces) {
      if (static_cast<int>(h) < piece.hypotheses_size()) {
        texts.push_back(piece.hypotheses(static_cast<int>(h)).text());
      }
    }
    TRIVIUM_RETURN_IF_ERROR(Count(texts, kept, wanted, &counts[h]));
  }
  return AddUnkept(text, part, counts, joined);
}

}  // namespace trivium
