// Every change of the text keeps spans_[i], the bytes of the original from
// which byte i comes, so offsets of tokens can be given in the original. All
// steps are expressed by Change (see the header), whose numbers add up: a
// character that composes two others with the changes a and b has the change a
// + b - 1.
//
// A step that is interrupted leaves the text unchanged, and one that would
// exceed the limit of growth fails it; no step leaves text_ and spans_ of
// different sizes.
#include "model/tokenizer/normalized_text.h"

#include <algorithm>
#include <optional>

namespace trivium {
namespace {

using Change = NormalizedText::Change;

constexpr size_t kMinRoom = 4096;
constexpr size_t kMaxGrowth = 128;

// Decomposes characters and orders marks by their combining classes, as both
// decompositions require. A run of marks is sorted when the next starter comes.
class Decomposer {
 public:
  explicit Decomposer(DecompositionKind kind) : kind_(kind) {}

  void Push(char32_t c) {
    parts_.clear();
    AppendDecomposition(c, kind_, &parts_);
    for (size_t i = 0; i < parts_.size(); ++i) {
      const int combining = CombiningClass(parts_[i]);
      if (combining == 0) EndRun();
      changes_.push_back({parts_[i], i == 0 ? 0 : 1});
      classes_.push_back(combining);
    }
  }
  void EndRun() {
    const size_t run = std::find_if(classes_.rbegin(), classes_.rend(),
                                    [](int c) { return c == 0; })
                           .base() -
                       classes_.begin();
    if (classes_.size() - run > 1) {
      std::vector<std::pair<int, Change>> marks;
      for (size_t i = run; i < classes_.size(); ++i) {
        marks.emplace_back(classes_[i], changes_[i]);
      }
      std::stable_sort(
          marks.begin(), marks.end(),
          [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = run; i < classes_.size(); ++i) {
        classes_[i] = marks[i - run].first;
        changes_[i] = marks[i - run].second;
      }
    }
  }
  std::vector<Change>& changes() { return changes_; }

 private:
  const DecompositionKind kind_;
  std::u32string parts_;
  std::vector<Change> changes_;
  std::vector<int> classes_;  // [changes_]
};

// Canonical composition (Unicode, section 3.11) of a decomposed text. The
// composition of two characters replaces both.
std::vector<Change> Compose(std::span<const Change> decomposed) {
  std::vector<Change> out;
  std::optional<Change> starter;
  std::vector<Change> marks;  // marks after the starter that did not compose
  int last_class = -1;        // class of the last of `marks`; -1: none
  const auto flush = [&] {
    if (starter.has_value()) out.push_back(*starter);
    out.insert(out.end(), marks.begin(), marks.end());
    marks.clear();
    last_class = -1;
  };
  for (const Change& next : decomposed) {
    const int combining = CombiningClass(next.character);
    if (!starter.has_value()) {
      if (combining == 0) {
        starter = next;
      } else {
        out.push_back(next);
      }
      continue;
    }
    if (last_class < combining) {
      const char32_t composed = ComposePair(starter->character, next.character);
      if (composed != 0) {
        *starter = {composed, starter->change + next.change - 1};
        continue;
      }
    }
    if (combining == 0) {
      flush();
      starter = next;
    } else {
      marks.push_back(next);
      last_class = combining;
    }
  }
  flush();
  return out;
}

}  // namespace

NormalizedText::NormalizedText(std::string_view original, size_t offset)
    : text_(original),
      spans_(original.size()),
      most_bytes_(kMinRoom + kMaxGrowth * original.size()) {
  for (size_t at = 0; at < text_.size();) {
    size_t end = at;
    NextCharacter(text_, &end);
    const ByteSpan span = {static_cast<uint32_t>(offset + at),
                           static_cast<uint32_t>(offset + end)};
    for (; at < end; ++at) spans_[at] = span;
  }
}

void NormalizedText::Transform(std::span<const Change> changes,
                               size_t removed) {
  if (Interrupted(text_.size())) return;
  std::string text;
  std::vector<ByteSpan> spans;
  text.reserve(text_.size() + 16);
  spans.reserve(text_.size() + 16);
  size_t at = 0;  // first byte that has not been replaced yet
  const auto skip = [&] {
    if (at < text_.size()) NextCharacter(text_, &at);
  };
  for (size_t i = 0; i < removed; ++i) skip();
  for (const Change& change : changes) {
    ByteSpan span;
    if (change.change > 0) {
      if (at > 0) span = spans_[at - 1];
    } else {
      if (!spans_.empty()) span = spans_[std::min(at, spans_.size() - 1)];
      for (int i = change.change; i <= 0; ++i) skip();
    }
    AppendUtf8(change.character, &text);
    spans.resize(text.size(), span);
  }
  text_ = std::move(text);
  spans_ = std::move(spans);
}

void NormalizedText::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
  text_.clear();
  spans_.clear();
}

bool NormalizedText::MayGrowTo(size_t size) {
  if (size <= most_bytes_) return true;
  Fail(absl::ResourceExhaustedError(
      "the tokenizer's normalizer makes more than 128 times of a text; fetch "
      "the tokenizer's files again"));
  return false;
}

void NormalizedText::Prepend(std::string_view text) {
  if (text_.empty() || !MayGrowTo(text_.size() + text.size())) return;
  text_.insert(0, text);
  const ByteSpan first = spans_.front();
  spans_.insert(spans_.begin(), text.size(), first);
}

void NormalizedText::Replace(std::span<const ByteSpan> matches,
                             std::string_view content) {
  if (matches.empty() || Interrupted(text_.size()) ||
      !MayGrowTo(text_.size() + matches.size() * content.size())) {
    return;
  }
  std::string text;
  std::vector<ByteSpan> spans;
  text.reserve(text_.size());
  spans.reserve(text_.size());
  size_t done = 0;
  const auto copy = [&](size_t end) {
    text.append(text_, done, end - done);
    spans.insert(spans.end(), spans_.begin() + done, spans_.begin() + end);
  };
  for (const ByteSpan& match : matches) {
    copy(match.begin);
    text.append(content);
    spans.resize(text.size(),
                 match.end == 0 ? ByteSpan{} : spans_[match.end - 1]);
    done = match.end;
  }
  copy(text_.size());
  text_ = std::move(text);
  spans_ = std::move(spans);
}

void NormalizedText::Cut(size_t begin, size_t end) {
  text_ = text_.substr(begin, end - begin);
  spans_ = std::vector<ByteSpan>(spans_.begin() + begin, spans_.begin() + end);
}

void NormalizedText::Normalize(DecompositionKind kind, bool compose) {
  // Nothing below U+00A0 decomposes, and nothing below U+0300 combines.
  if (std::all_of(text_.begin(), text_.end(),
                  [](char c) { return static_cast<uint8_t>(c) < 0x80; })) {
    return;
  }
  if (Interrupted(text_.size())) return;
  Decomposer decomposer(kind);
  for (size_t at = 0; at < text_.size();) {
    decomposer.Push(NextCharacter(text_, &at));
  }
  decomposer.EndRun();
  if (compose) {
    Transform(Compose(decomposer.changes()), 0);
  } else {
    Transform(decomposer.changes(), 0);
  }
}

void NormalizedText::LowerCase() {
  if (Interrupted(text_.size())) return;
  std::string text;
  std::vector<ByteSpan> spans;
  text.reserve(text_.size());
  spans.reserve(text_.size());
  std::u32string lower;
  for (size_t at = 0; at < text_.size();) {
    const ByteSpan span = spans_[at];
    const char32_t c = NextCharacter(text_, &at);
    if (c < 0x80) {
      text.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c));
    } else {
      lower.clear();
      AppendLowerCase(c, &lower);
      for (const char32_t l : lower) AppendUtf8(l, &text);
    }
    spans.resize(text.size(), span);
  }
  text_ = std::move(text);
  spans_ = std::move(spans);
}

}  // namespace trivium
