#include "server/documents/document_segment.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "base/utf8.h"
#include "server/documents/entities.h"
#include "server/documents/text_lines.h"

namespace trivium {
namespace {

using Kind = DocumentItem::Kind;

// The HTML that stands for a mark in the sent text.
std::string TagOf(const DocumentItem& item, size_t number) {
  switch (item.kind) {
    case Kind::kOpen:
      return fmt::format("<span id=\"{}\">", number);
    case Kind::kClose:
      return "</span>";
    case Kind::kVoid:
      return fmt::format("<img id=\"{}\">", number);
    case Kind::kKept:
      return fmt::format("<code id=\"{}\"></code>", number);
    case Kind::kText:
    case Kind::kGlue:
      break;
  }
  return "";
}

// Returns the size of the tag of a mark that `text` begins with, or 0.
size_t MarkTagSize(std::string_view text) {
  if (text.starts_with("</span>")) return 7;
  size_t at = 0;
  for (const std::string_view begin :
       {"<span id=\"", "<img id=\"", "<code id=\""}) {
    if (text.starts_with(begin)) at = begin.size();
  }
  const size_t digits = at;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  if (digits == 0 || at == digits || !text.substr(at).starts_with("\">")) {
    return 0;
  }
  at += 2;
  const bool closes =
      !text.starts_with("<span") && text.substr(at).starts_with("</code>");
  return closes ? at + 7 : at;
}

absl::Status MarkupChanged() {
  return absl::InvalidArgumentError("its markup did not come back as it was");
}

}  // namespace

WriteSegment Joined(std::function<std::string(std::string_view)> encode) {
  return [encode = std::move(encode)](const DocumentSegment&,
                                      const std::vector<DocumentPart>& parts,
                                      size_t most) {
    std::string out;
    for (const DocumentPart& part : parts) {
      if (out.size() > most) break;
      out += part.mark == nullptr ? encode(part.text) : part.mark->raw;
    }
    return out;
  };
}

bool SegmentText::HasLetters() const {
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t tag = format == Format::kHtml ? MarkTagSize(rest) : 0;
    if (tag > 0) {
      rest.remove_prefix(tag);
      continue;
    }
    if (format == Format::kHtml && rest.front() == '&') {
      for (const std::string_view entity : {"&lt;", "&gt;", "&amp;"}) {
        if (!rest.starts_with(entity)) continue;
        rest.remove_prefix(entity.size() - 1);
        break;
      }
    }
    const CodePoint first = FirstCodePoint(rest);
    if (u_isalpha(static_cast<UChar32>(first.value))) return true;
    rest.remove_prefix(first.size);
  }
  return false;
}

std::vector<size_t> PartnersOf(const std::vector<DocumentItem>& items) {
  std::vector<size_t> partners(items.size(), DocumentSegment::kNone);
  std::vector<size_t> opened;
  absl::flat_hash_map<std::string, size_t> opened_of_key;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string& key = items[i].key;
    if (items[i].kind == Kind::kOpen) {
      opened.push_back(i);
      ++opened_of_key[key];
      continue;
    }
    if (items[i].kind != Kind::kClose) continue;
    const auto found = opened_of_key.find(key);
    if (found == opened_of_key.end() || found->second == 0) continue;
    if (key.starts_with('#') && items[opened.back()].key != key) continue;
    while (items[opened.back()].key != key) {
      --opened_of_key[items[opened.back()].key];
      opened.pop_back();
    }
    --opened_of_key[key];
    partners[i] = opened.back();
    partners[opened.back()] = i;
    opened.pop_back();
  }
  return partners;
}

DocumentSegment MakeSegment(std::string place, std::vector<DocumentItem> items,
                            WriteSegment write) {
  DocumentSegment segment;
  segment.place = std::move(place);
  segment.items = std::move(items);
  segment.write = std::move(write);
  segment.partners = PartnersOf(segment.items);
  std::string plain, marked;
  for (size_t i = 0; i < segment.items.size(); ++i) {
    const DocumentItem& item = segment.items[i];
    plain += item.text;
    if (item.kind == Kind::kText) {
      marked += EscapeMarkup(item.text);
      continue;
    }
    marked += TagOf(item, segment.marks.size());
    if (item.kind != Kind::kGlue && item.kind != Kind::kClose) {
      segment.marks.push_back(i);
    }
  }
  if (!segment.marks.empty()) {
    segment.sent = {std::move(marked), SegmentText::Format::kHtml};
    return segment;
  }
  const std::string text = Collapse(plain);
  const size_t lead = LeadingSpace(text);
  const size_t trail = TrailingSpace(std::string_view(text).substr(lead));
  segment.lead = text.substr(0, lead);
  segment.trail = text.substr(text.size() - trail);
  segment.sent.text = text.substr(lead, text.size() - lead - trail);
  return segment;
}

absl::StatusOr<std::vector<DocumentPart>> DocumentSegment::Parts(
    std::string_view translation) const {
  std::vector<DocumentPart> parts;
  if (sent.format != SegmentText::Format::kHtml) {
    parts.push_back({lead + std::string(translation) + trail});
    return parts;
  }
  std::vector<bool> seen(marks.size());
  std::vector<size_t> opened;
  size_t left = marks.size();
  size_t text_begin = 0;
  const auto add_text = [&](size_t end) {
    if (end == text_begin) return;
    parts.push_back(
        {UnescapeMarkup(translation.substr(text_begin, end - text_begin))});
  };
  for (size_t at = translation.find('<'); at != translation.npos;
       at = translation.find('<', at)) {
    const std::string_view tag =
        translation.substr(at, MarkTagSize(translation.substr(at)));
    if (tag.empty()) {
      ++at;
      continue;
    }
    add_text(at);
    at += tag.size();
    text_begin = at;
    if (tag == "</span>") {
      if (opened.empty()) return MarkupChanged();
      parts.push_back({"", &items[partners[opened.back()]]});
      opened.pop_back();
      continue;
    }
    const size_t digits = tag.find('"') + 1;
    const std::string_view number =
        tag.substr(digits, tag.find('"', digits) - digits);
    uint64_t index = 0;
    if (!absl::SimpleAtoi(absl::string_view(number.data(), number.size()),
                          &index) ||
        index >= marks.size() || seen[index] ||
        TagOf(items[marks[index]], index) != tag) {
      return MarkupChanged();
    }
    seen[index] = true;
    --left;
    parts.push_back({"", &items[marks[index]]});
    if (items[marks[index]].kind == Kind::kOpen) opened.push_back(marks[index]);
  }
  add_text(translation.size());
  if (!opened.empty() || left > 0) return MarkupChanged();
  return parts;
}

}  // namespace trivium
