#include "server/documents/run_formatting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/documents/entities.h"
#include "server/documents/text_lines.h"

namespace trivium {
namespace {

using Kind = DocumentItem::Kind;

// Key of the marks around a text whose formatting is not the usual one.
constexpr char kRunKey[] = "run";

size_t IndexOf(const std::string& key) {
  size_t index = 0;
  for (const char c : key) index = index * 10 + static_cast<size_t>(c - '0');
  return index;
}

bool IsWords(const DocumentItem& item) {
  return item.kind == Kind::kText && !IsSpaces(item.text);
}

}  // namespace

std::string RunTable::KeyOf(const std::string& raw) {
  const auto [found, added] = keys_.emplace(raw, std::to_string(raw_.size()));
  if (added) {
    raw_.push_back(raw);
    std::string bare = raw.substr(std::min(raw.find('>'), raw.size() - 1) + 1);
    RE2::GlobalReplace(&bare, *names_.unseen, "");
    bare = std::string(StripSpace(Collapse(bare)));
    // Formattings have short keys, too.
    formatting_.push_back(
        bare.empty() ? ""
                     : formattings_.emplace(bare, found->second).first->second);
  }
  return found->second;
}

const std::string& RunTable::Raw(const std::string& key) const {
  return key.empty() ? none_ : raw_[IndexOf(key)];
}
const std::string& RunTable::Formatting(const std::string& key) const {
  return key.empty() ? none_ : formatting_[IndexOf(key)];
}

std::vector<DocumentItem> MarkFormattings(const RunTable& runs,
                                          std::vector<DocumentItem> items,
                                          const std::string& usual) {
  std::vector<DocumentItem> marked;
  std::vector<std::pair<size_t, DocumentItem>> closes;  // where they go
  std::string current = usual;
  size_t end = 0;  // place after the last text of the current formatting
  const auto change = [&](const std::string& formatting,
                          const std::string& run) {
    if (current != usual) {
      const std::string& before = marked[end - 1].after;
      closes.push_back({end, {Kind::kClose, "", "", kRunKey, before, before}});
    }
    current = formatting;
    if (current != usual) {
      marked.push_back({Kind::kOpen, "", "", kRunKey, run, run});
    }
  };
  for (DocumentItem& item : items) {
    if (IsWords(item)) {
      const std::string& formatting = runs.Formatting(item.before);
      if (formatting != current) change(formatting, item.before);
      marked.push_back(std::move(item));
      end = marked.size();
      continue;
    }
    if (item.kind == Kind::kOpen || item.kind == Kind::kClose) {
      change(usual, "");
    }
    marked.push_back(std::move(item));
  }
  change(usual, "");
  std::vector<DocumentItem> out;
  size_t close = 0;
  for (size_t i = 0; i <= marked.size(); ++i) {
    for (; close < closes.size() && closes[close].first == i; ++close) {
      out.push_back(std::move(closes[close].second));
    }
    if (i < marked.size()) out.push_back(std::move(marked[i]));
  }
  return out;
}

std::string WriteRuns(const RunNames& names, const RunTable& table,
                      const std::string& usual, const DocumentSegment& segment,
                      const std::vector<DocumentPart>& parts, size_t most) {
  std::string out;
  std::string open_run = segment.items.front().before;
  std::vector<std::string> runs = {usual};
  const auto add = [&](const std::string& before, std::string_view raw,
                       const std::string& after) {
    if (open_run != before) {
      if (!open_run.empty()) out += fmt::format("</{}>", names.run);
      out += table.Raw(before);
    }
    out += raw;
    open_run = after;
  };
  for (const DocumentPart& part : parts) {
    if (out.size() > most) break;
    const DocumentItem* const mark = part.mark;
    if (mark == nullptr) {
      add(runs.back(),
          fmt::format("{}{}</{}>", names.open_text, EscapeMarkup(part.text),
                      names.text),
          runs.back());
    } else if (!mark->raw.empty()) {
      add(mark->before, mark->raw, mark->after);
    } else if (mark->kind == Kind::kOpen) {
      runs.push_back(mark->after);
    } else if (runs.size() > 1) {
      runs.pop_back();
    }
  }
  const std::string& last = segment.items.back().after;
  add(last, "", last);
  return out;
}

}  // namespace trivium
