#include "server/documents/segment_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "server/documents/text_lines.h"

namespace trivium {
namespace {

using Kind = DocumentItem::Kind;

size_t MarginAtBegin(std::string_view text, Margin margin) {
  size_t at = 0;
  while (true) {
    const size_t before = at;
    at += LeadingSpace(text.substr(at));
    if (margin == Margin::kEscapes && text.substr(at).starts_with("\\t")) {
      at += 2;
    }
    if (at == before) return at;
  }
}

size_t MarginAtEnd(std::string_view text, Margin margin) {
  const size_t size = text.size();
  while (true) {
    const size_t before = text.size();
    text.remove_suffix(TrailingSpace(text));
    if (margin == Margin::kEscapes && text.ends_with("\\t") &&
        !text.ends_with("\\\\t")) {
      text.remove_suffix(2);
    }
    if (text.size() == before) return size - before;
  }
}

bool HasWords(const DocumentItem& item) {
  return item.kind == Kind::kText && !IsSpaces(item.text);
}

// The items [first, second) of a segment. Between them are all texts, all marks
// that stand for words, and both sides of pairs that enclose one. Nullopt:
// there is no text.
std::optional<std::pair<size_t, size_t>> EndsOf(
    const std::vector<DocumentItem>& items,
    const std::vector<size_t>& partners) {
  if (std::none_of(items.begin(), items.end(), HasWords)) return std::nullopt;
  const auto wanted = [](const DocumentItem& item) {
    return item.kind == Kind::kKept || HasWords(item);
  };
  size_t first =
      std::find_if(items.begin(), items.end(), wanted) - items.begin();
  size_t last =
      items.rend() - std::find_if(items.rbegin(), items.rend(), wanted) - 1;
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == Kind::kOpen && partners[i] != DocumentSegment::kNone) {
      pairs.emplace_back(i, partners[i]);
    }
  }
  // The innermost pairs first: since pairs are nested, including one can make
  // only those around it necessary.
  std::stable_sort(pairs.begin(), pairs.end(), [](auto one, auto other) {
    return one.second - one.first < other.second - other.first;
  });
  for (const auto& [begin, end] : pairs) {
    if ((first <= begin && begin <= last) || (first <= end && end <= last)) {
      first = std::min(first, begin);
      last = std::max(last, end);
    }
  }
  while (first > 0 && items[first - 1].kind == Kind::kGlue) --first;
  while (last + 1 < items.size() && items[last + 1].kind == Kind::kGlue) ++last;
  return std::pair(first, last + 1);
}

}  // namespace

SegmentBuilder::SegmentBuilder()
    : write_(Joined([](std::string_view text) { return std::string(text); })) {}

absl::Status SegmentBuilder::status() const {
  if (too_long_) {
    return absl::InvalidArgumentError(
        fmt::format("its texts and marks have more than {} MiB; split it",
                    kMostDocumentItemBytes >> 20));
  }
  if (!too_many_) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "it has more than {} texts and marks; split it", kMostDocumentItems));
}

bool SegmentBuilder::HasRoom(size_t bytes) {
  bytes_ += bytes;
  too_long_ |= bytes_ > kMostDocumentItemBytes;
  too_many_ |= closed_items_ + items_.size() >= kMostDocumentItems;
  return !too_many_ && !too_long_;
}

void SegmentBuilder::Literal(std::string_view raw) {
  if (!raw.empty()) Mark(Kind::kVoid, raw);
}

void SegmentBuilder::Mark(Kind kind, std::string_view raw, std::string key) {
  DocumentItem* const last = items_.empty() ? nullptr : &items_.back();
  if (kind == Kind::kVoid && last != nullptr &&
      (last->kind == Kind::kVoid || last->kind == Kind::kOpen)) {
    last->raw += raw;
    return;
  }
  if (!HasRoom(raw.size())) return;
  items_.push_back({kind, std::string(raw), "", std::move(key)});
}

void SegmentBuilder::Text(std::string_view raw, const std::string& place,
                          const DecodeText& decode, Margin margin) {
  const size_t lead = MarginAtBegin(raw, margin);
  const size_t trail = MarginAtEnd(raw.substr(lead), margin);
  for (const std::string_view part :
       {raw.substr(0, lead), raw.substr(lead, raw.size() - lead - trail),
        raw.substr(raw.size() - trail)}) {
    if (part.empty()) continue;
    Item({Kind::kText, std::string(part),
          decode == nullptr ? std::string(part) : decode(part)},
         place);
  }
}

void SegmentBuilder::Item(DocumentItem item, const std::string& place) {
  if (!HasRoom(item.raw.size() + item.text.size())) return;
  if (place_.empty() && !IsSpaces(item.text)) place_ = place;
  items_.push_back(std::move(item));
}

void SegmentBuilder::Whole(SegmentText sent, std::string_view raw,
                           std::string place, WriteSegment write) {
  Close();
  if (!HasRoom(raw.size() + sent.text.size())) return;
  ++closed_items_;
  DocumentSegment segment;
  segment.place = std::move(place);
  segment.sent = std::move(sent);
  segment.items.push_back({Kind::kText, std::string(raw)});
  segment.write = std::move(write);
  between_.emplace_back();
  segments_.push_back(std::move(segment));
}

void SegmentBuilder::Close(WriteSegment write) {
  if (items_.empty()) return;
  std::vector<DocumentItem> items = std::exchange(items_, {});
  std::string place = std::exchange(place_, "");
  const std::vector<size_t> partners = PartnersOf(items);
  for (size_t i = 0; i < items.size(); ++i) {
    const Kind kind = items[i].kind;
    if ((kind == Kind::kOpen || kind == Kind::kClose) &&
        partners[i] == DocumentSegment::kNone) {
      items[i].kind = Kind::kVoid;
    }
  }
  const auto ends = EndsOf(items, partners);
  const auto copy = [this, &items](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) between_.back() += items[i].raw;
  };
  if (!ends) return copy(0, items.size());
  copy(0, ends->first);
  between_.emplace_back();
  copy(ends->second, items.size());
  items.resize(ends->second);
  items.erase(items.begin(), items.begin() + static_cast<long>(ends->first));
  closed_items_ += items.size();
  segments_.push_back(
      MakeSegment(std::move(place), std::move(items),
                  write == nullptr ? write_ : std::move(write)));
}

absl::StatusOr<std::string> SegmentBuilder::Render(Translations translations,
                                                   size_t most_bytes) const {
  if (translations.size() != segments_.size()) {
    return absl::InternalError("there is not one translation for each segment");
  }
  std::string out;
  for (size_t i = 0; i < segments_.size(); ++i) {
    out += between_[i];
    const DocumentSegment& segment = segments_[i];
    const std::optional<std::string>& text = translations[i];
    if (text && *text != segment.sent.text) {
      const auto parts = segment.Parts(*text);
      if (!parts.ok()) {
        return absl::InvalidArgumentError(fmt::format(
            "{}: {}", segment.place, std::string(parts.status().message())));
      }
      out += segment.write(segment, *parts, most_bytes);
    } else {
      for (const DocumentItem& item : segment.items) out += item.raw;
    }
    TRIVIUM_RETURN_IF_ERROR(CheckRenderedBytes(out.size(), most_bytes));
  }
  out += between_.back();
  return out;
}

}  // namespace trivium
