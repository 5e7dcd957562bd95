// Added tokens are found in two passes, as in the reference: tokens that are
// not `normalized` in the original text, then the others in the normalized text
// of each part between them. A token's id is the model's if the model knows its
// text, else the next free one.
//
// With literal text, no control token may be made of any of its bytes. In the
// second pass this is checked by the spans, which map normalized bytes to the
// original.
#include "model/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/cpu_time.h"
#include "fmt/format.h"
#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

// Limit of the time for normalizing all tokens.
constexpr absl::Duration kMaxTime = absl::Seconds(3);

// Returns where the last character of text[0, end) begins.
size_t LastCharacter(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && end - at < 4 && IsContinuation(text[at])) --at;
  return at;
}

bool EndsWithWord(std::string_view text, size_t end) {
  if (end == 0) return false;
  size_t at = LastCharacter(text, end);
  return IsWordCharacter(NextCharacter(text, &at));
}

bool StartsWithWord(std::string_view text, size_t at) {
  return at < text.size() && IsWordCharacter(NextCharacter(text, &at));
}

// True for "<|user|>", or the same with full-width bars, as DeepSeek writes it.
bool IsMarker(std::string_view content) {
  return (content.starts_with("<|") && content.ends_with("|>")) ||
         (content.starts_with("<\xEF\xBD\x9C") &&
          content.ends_with("\xEF\xBD\x9C>"));
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens,
                         const TokenModel& model,
                         const Normalizer* normalizer) {
  int32_t next = model.count();
  size_t bytes = 0;
  const absl::Duration begin = ThreadCpuTime();
  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    int32_t id = IdOf(token.content);
    if (id < 0) id = model.IdOf(token.content);
    if (id < 0) id = next++;
    Entry entry = {token, token.content};
    if (token.special || IsMarker(token.content)) entry.token.control = true;
    if (token.normalized && normalizer != nullptr) {
      NormalizedText text(token.content, 0);
      normalizer->Apply(&text);
      entry.normalized = text.text();
      status_.Update(text.status());
      if (ThreadCpuTime() - begin > kMaxTime) {
        status_.Update(absl::ResourceExhaustedError(
            "the tokenizer's normalizer takes too long on its added tokens; "
            "fetch the tokenizer's files again"));
      }
    }
    bytes += std::max(token.content.size(), entry.normalized.size());
    if (bytes > kMaxBytes) {
      status_.Update(absl::ResourceExhaustedError(fmt::format(
          "the tokenizer's added tokens have more than {} bytes; fetch the "
          "tokenizer's files again",
          kMaxBytes)));
    }
    if (!status_.ok()) break;
    ids_[token.content] = id;
    entries_[id] = std::move(entry);
    size_ = std::max(size_, id + 1);
  }
  std::vector<std::pair<std::string, int32_t>> plain;
  std::vector<std::pair<std::string, int32_t>> normalized;
  for (const auto& [id, entry] : entries_) {
    if (!entry.token.in_texts) continue;
    (entry.token.normalized ? normalized : plain)
        .emplace_back(entry.normalized, id);
  }
  // If several tokens share one normalized text, the last one added is found.
  std::sort(normalized.begin(), normalized.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  plain_ = std::make_unique<StringFinder>(plain);
  normalized_ = std::make_unique<StringFinder>(normalized);
}

std::vector<AddedTokens::Part> AddedTokens::Cut(
    std::string_view text, const StringFinder& finder,
    absl::FunctionRef<bool(const StringFinder::Match&)> wanted) const {
  std::vector<Part> parts;
  uint32_t done = 0;
  uint32_t furthest = 0;
  for (const StringFinder::Match& match : finder.Find(text, wanted)) {
    const AddedToken& token = entries_.at(match.value).token;
    uint32_t begin = match.begin;
    uint32_t end = match.end;
    if (token.single_word &&
        (EndsWithWord(text, begin) || StartsWithWord(text, end))) {
      continue;
    }
    if (token.left_strip) {
      while (begin > done) {
        const size_t last = LastCharacter(text, begin);
        size_t at = last;
        if (!IsWhiteSpace(NextCharacter(text, &at))) break;
        begin = static_cast<uint32_t>(last);
      }
      begin = std::max(begin, done);
    }
    // A token whose white space the token before it took is, as in the
    // reference, still a token, but that white space is used only once.
    if (token.right_strip && match.begin >= furthest) {
      for (size_t at = end; at < text.size();) {
        if (!IsWhiteSpace(NextCharacter(text, &at))) break;
        end = static_cast<uint32_t>(at);
      }
    }
    if (begin > done) parts.push_back({done, begin, -1});
    parts.push_back({begin, std::max(begin, end), match.value});
    done = std::max(begin, end);
    furthest = std::max(furthest, done);
  }
  if (done < text.size()) {
    parts.push_back({done, static_cast<uint32_t>(text.size()), -1});
  }
  return parts;
}

PreTokenizedText AddedTokens::Extract(
    std::string_view text, const Normalizer* normalizer,
    std::span<const ByteSpan> literals) const {
  PreTokenizedText pre_tokenized;
  const auto wanted = [&](const StringFinder::Match& match) {
    return literals.empty() || !IsControl(match.value) ||
           !Overlaps(literals, match.begin, match.end);
  };
  for (const Part& part : Cut(text, *plain_, wanted)) {
    NormalizedText normalized(text.substr(part.begin, part.end - part.begin),
                              part.begin);
    if (part.token >= 0) {
      pre_tokenized.Append(normalized, part.token);
      continue;
    }
    if (normalizer != nullptr) normalizer->Apply(&normalized);
    const size_t offset = pre_tokenized.text.size();
    const size_t before = pre_tokenized.pre_tokens.size();
    pre_tokenized.Append(normalized, -1);
    if (pre_tokenized.pre_tokens.size() == before || normalized_->empty())
      continue;
    pre_tokenized.pre_tokens.pop_back();
    const auto normalized_wanted = [&](const StringFinder::Match& match) {
      if (literals.empty() || !IsControl(match.value)) return true;
      for (uint32_t at = match.begin; at < match.end; ++at) {
        const ByteSpan& span = normalized.spans()[at];
        // Inserted text has no bytes of its own, but it has a place.
        if (Overlaps(literals, span.begin,
                     std::max(span.end, span.begin + 1))) {
          return false;
        }
      }
      return true;
    };
    for (const Part& inner :
         Cut(normalized.text(), *normalized_, normalized_wanted)) {
      if (inner.end == inner.begin) continue;
      pre_tokenized.pre_tokens.push_back(
          {static_cast<uint32_t>(offset + inner.begin),
           static_cast<uint32_t>(offset + inner.end), inner.token});
    }
  }
  return pre_tokenized;
}

const AddedToken* AddedTokens::Find(int32_t id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second.token;
}

int32_t AddedTokens::IdOf(std::string_view content) const {
  const auto found = ids_.find(content);
  return found == ids_.end() ? -1 : found->second;
}

const std::string& AddedTokens::DecoderText(int32_t id) const {
  return entries_.at(id).normalized;
}

}  // namespace trivium
