// A translated text may need other runs than the source has, so each item
// records which run is open before and after it: the key of the beginning of
// that run (its tag and its properties), or nothing.
#include "server/documents/office_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/utf8.h"
#include "server/documents/text_lines.h"

namespace trivium {
namespace {

using Kind = DocumentItem::Kind;
using Items = std::vector<DocumentItem>;
using Tokens = std::vector<XmlToken>;

constexpr char kField[] = "#field";
constexpr char kRunKey[] = "run";

// The beginnings of a part's runs. Items name them by short keys, so that long
// properties of many texts are there only once. Equal ones have one key; "":
// no run.
class RunTable {
 public:
  explicit RunTable(const RunNames& names) : names_(names) {}

  std::string KeyOf(const std::string& raw) {
    const auto [found, added] = keys_.emplace(raw, std::to_string(raw_.size()));
    if (added) {
      raw_.push_back(raw);
      std::string bare =
          raw.substr(std::min(raw.find('>'), raw.size() - 1) + 1);
      RE2::GlobalReplace(&bare, *names_.unseen, "");
      bare = std::string(StripSpace(Collapse(bare)));
      // Formattings have short keys, too.
      formatting_.push_back(
          bare.empty()
              ? ""
              : formattings_.emplace(bare, found->second).first->second);
    }
    return found->second;
  }

  const std::string& Raw(const std::string& key) const {
    return key.empty() ? none_ : raw_[IndexOf(key)];
  }
  // The key of a run's visible properties; "": it has none.
  const std::string& Formatting(const std::string& key) const {
    return key.empty() ? none_ : formatting_[IndexOf(key)];
  }

 private:
  static size_t IndexOf(const std::string& key) {
    size_t index = 0;
    for (const char c : key) index = index * 10 + static_cast<size_t>(c - '0');
    return index;
  }

  const RunNames& names_;
  const std::string none_;
  std::vector<std::string> raw_, formatting_;
  absl::flat_hash_map<std::string, std::string> keys_, formattings_;
};

bool IsWords(const DocumentItem& item) {
  return item.kind == Kind::kText && !IsSpaces(item.text);
}

// Returns the items with marks around texts that have another formatting than
// the usual one.
Items Marked(const RunTable& runs, Items items, const std::string& usual) {
  Items marked;
  std::vector<std::pair<size_t, DocumentItem>> closes;  // where they go
  std::string current = usual;
  size_t end = 0;  // place after the last text of the current formatting
  const auto change = [&](const std::string& formatting,
                          const std::string& run) {
    if (current != usual) {
      const std::string& before = marked[end - 1].after;
      closes.push_back({end, {Kind::kClose, {}, "", kRunKey, before, before}});
    }
    current = formatting;
    if (current != usual) {
      marked.push_back({Kind::kOpen, {}, "", kRunKey, run, run});
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
  Items out;
  size_t close = 0;
  for (size_t i = 0; i <= marked.size(); ++i) {
    for (; close < closes.size() && closes[close].first == i; ++close) {
      out.push_back(std::move(closes[close].second));
    }
    if (i < marked.size()) out.push_back(std::move(marked[i]));
  }
  return out;
}

// Writes a translated segment. `usual`: the run for text without another
// formatting.
std::string WriteRuns(const RunNames& names, const RunTable& table,
                      const std::string& usual, const DocumentSegment& segment,
                      const std::vector<DocumentPart>& parts,
                      const RenderMark& render) {
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
    const DocumentItem* const mark = part.mark;
    if (mark == nullptr) {
      add(runs.back(),
          fmt::format("{}{}</{}>", names.open_text, EscapeMarkup(part.text),
                      names.text),
          runs.back());
    } else if (!mark->raw.empty()) {
      add(mark->before, render(*mark), mark->after);
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

class RunReader {
 public:
  RunReader(const RunNames& names, const std::string& part,
            const Tokens& tokens)
      : names_(names),
        part_(part),
        tokens_(tokens),
        table_(std::make_shared<RunTable>(names)) {}

  SegmentBuilder Read() {
    for (size_t at = 0; at < tokens_.size();) at = ReadToken(at);
    Close();
    return std::move(builder_);
  }

 private:
  // Reads the element or text at a place; returns the place after it.
  size_t ReadToken(size_t at) {
    const XmlToken& token = tokens_[at];
    static const RE2& range =
        *new RE2("w:(bookmark|commentRange|perm)(Start|End)");
    std::string what, bound;
    const bool is_text = token.name.empty();
    if (token.name == names_.paragraph) {
      Close();
      if (token.kind == XmlToken::Kind::kOpen) outer_.push_back(run_);
      run_.clear();
      Add(Kind::kVoid, token.raw);
      if (token.kind == XmlToken::Kind::kClose && !outer_.empty()) {
        run_ = std::move(outer_.back());
        outer_.pop_back();
      }
      paragraph_ += token.opens();
    } else if (token.name == names_.run &&
               token.kind == XmlToken::Kind::kOpen) {
      return BeginRun(at);
    } else if (token.name == names_.run &&
               token.kind == XmlToken::Kind::kClose) {
      Add(Kind::kGlue, token.raw, "", "", std::string());
    } else if (is_text || names_.is_unseen(token.name)) {  // white space
      Add(Kind::kGlue, token.raw);
    } else if (!run_.empty() && token.opens()) {
      return ReadChild(at);
    } else if (token.opens() && names_.is_break(token.name)) {
      // A break outside of a run, as DrawingML has it.
      const size_t end = EndOfElement(tokens_, at);
      Close();
      Add(Kind::kVoid, Raw(at, end));
      return end + 1;
    } else if (RE2::FullMatch({token.name.data(), token.name.size()}, range,
                              &what, &bound)) {
      Add(bound == "Start" ? Kind::kOpen : Kind::kClose, token.raw, "",
          fmt::format("#{} {}", what, token.Attribute("w:id")));
    } else {
      Add(token.depth() > 0   ? Kind::kOpen
          : token.depth() < 0 ? Kind::kClose
                              : Kind::kVoid,
          token.raw, "", std::string(token.name));
    }
    return at + 1;
  }

  std::string Raw(size_t begin, size_t end) const {
    std::string raw;
    for (size_t i = begin; i <= end; ++i) raw += tokens_[i].raw;
    return raw;
  }

  // Adds an item. `run`: the run that is open from here on, if it changes.
  void Add(Kind kind, std::string_view raw, std::string text = "",
           std::string key = "",
           std::optional<std::string> run = std::nullopt) {
    std::string before = run_;
    if (run) run_ = *std::move(run);
    items_.push_back({kind,
                      {std::string(raw)},
                      std::move(text),
                      std::move(key),
                      std::move(before),
                      run_});
  }

  size_t BeginRun(size_t at) {
    size_t end = at;
    size_t properties = at + 1;
    while (properties < tokens_.size() && tokens_[properties].name.empty()) {
      ++properties;
    }
    if (properties < tokens_.size() && tokens_[properties].opens() &&
        tokens_[properties].name == names_.properties) {
      end = EndOfElement(tokens_, properties);
    }
    const std::string raw = Raw(at, end);
    Add(Kind::kGlue, raw, "", "", table_->KeyOf(raw));
    return end + 1;
  }

  // Reads a child of a run.
  size_t ReadChild(size_t at) {
    const std::string_view name = tokens_[at].name;
    const size_t end = EndOfElement(tokens_, at);
    for (size_t i = at; i <= end; ++i) {
      if (tokens_[i].name != names_.paragraph) continue;
      // A text box: its paragraphs have runs of their own.
      Close();
      Add(Kind::kVoid, tokens_[at].raw);
      return at + 1;
    }
    const std::string raw = Raw(at, end);
    if (name == names_.text) {
      std::string text;
      for (size_t i = at; i <= end; ++i) {
        if (tokens_[i].kind == XmlToken::Kind::kText ||
            tokens_[i].kind == XmlToken::Kind::kCdata) {
          text += tokens_[i].Text();
        }
      }
      Add(Kind::kText, raw, Collapse(text));
    } else if (names_.is_break(name)) {
      Close();
      Add(Kind::kVoid, raw);
    } else if (name == "w:fldChar") {
      AddField(tokens_[at].Attribute("w:fldCharType"), raw);
    } else {
      Add(Kind::kVoid, raw);
    }
    return end + 1;
  }

  // Adds a part of a field. A field's result is between two marks: its begin,
  // with the instructions, and its end. A field without text is one mark.
  void AddField(const std::string& what, const std::string& raw) {
    const Kind kind = what == "begin" ? Kind::kOpen
                      : what == "end" ? Kind::kClose
                                      : Kind::kVoid;
    Add(kind, raw, "", kField);
    if (what == "begin") return;
    size_t begin = items_.size() - 1;
    bool text = false;
    while (begin > 0 && !text) {
      --begin;
      if (items_[begin].key == kField) break;
      text = items_[begin].kind == Kind::kText;
    }
    if (text || items_[begin].key != kField || begin + 1 == items_.size() ||
        items_[begin].kind != Kind::kOpen) {
      return;
    }
    DocumentItem joined{what == "end" ? Kind::kVoid : Kind::kOpen,
                        {},
                        "",
                        what == "end" ? "" : kField,
                        items_[begin].before,
                        items_.back().after};
    for (size_t i = begin; i < items_.size(); ++i) {
      std::move(items_[i].raw.begin(), items_[i].raw.end(),
                std::back_inserter(joined.raw));
    }
    items_.resize(begin);
    items_.push_back(std::move(joined));
  }

  // Ends the segment.
  void Close() {
    Items items = std::exchange(items_, {});
    // How long the text of each formatting is, and its first run.
    std::vector<std::pair<std::string, size_t>> lengths;
    absl::flat_hash_map<std::string, size_t> place;
    absl::flat_hash_map<std::string, std::string> runs;
    for (const DocumentItem& item : items) {
      if (item.kind != Kind::kText) continue;
      const std::string& formatting = table_->Formatting(item.before);
      const auto [at, added] = place.emplace(formatting, lengths.size());
      if (added) lengths.emplace_back(formatting, 0);
      lengths[at->second].second += CountCharacters(StripSpace(item.text));
      runs.emplace(formatting, item.before);
    }
    std::string usual;
    size_t longest = 0;
    for (const auto& [formatting, length] : lengths) {
      if (length > longest || &formatting == &lengths.front().first) {
        usual = formatting;
        longest = length;
      }
    }
    const WriteSegment write =
        [names = &names_, table = table_, run = runs[usual]](
            const auto& segment, const auto& parts, const auto& render) {
          return WriteRuns(*names, *table, run, segment, parts, render);
        };
    const std::vector<size_t> partners = PartnersOf(items);
    std::vector<bool> borders(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      // An element that begins or ends elsewhere ends the segment.
      borders[i] =
          (items[i].kind == Kind::kOpen || items[i].kind == Kind::kClose) &&
          !items[i].key.starts_with('#') &&
          partners[i] == DocumentSegment::kNone;
    }
    for (size_t i = 0; i < items.size(); ++i) {
      if (borders[i]) items[i].key = kBorder;
    }
    const std::string where =
        fmt::format("{}, paragraph {}", part_, paragraph_);
    for (DocumentItem& item : Marked(*table_, std::move(items), usual)) {
      const bool border = item.key == kBorder;
      if (border) builder_.Close(write);
      builder_.Item(std::move(item), where);
      if (border) builder_.Close(write);
    }
    builder_.Close(write);
  }

  // Key of an element without a partner, which no element's name is.
  static constexpr char kBorder[] = "<border>";

  const RunNames& names_;
  const std::string part_;
  const Tokens& tokens_;
  const std::shared_ptr<RunTable> table_;  // segments write with it
  SegmentBuilder builder_;
  size_t paragraph_ = 0;
  std::string run_;                 // the open run
  std::vector<std::string> outer_;  // open runs around text boxes
  Items items_;                     // of the open segment
};

}  // namespace

const RunNames& WordRuns() {
  static const RunNames& names = *new RunNames{
      "w:p",
      "w:r",
      "w:rPr",
      "w:t",
      "<w:t xml:space=\"preserve\">",
      [](std::string_view name) {
        return name == "w:tab" || name == "w:br" || name == "w:cr" ||
               name == "w:ptab";
      },
      [](std::string_view name) {
        return name == "w:proofErr" || name == "w:lastRenderedPageBreak";
      },
      new RE2(R"(</?w:rPr\b[^>]*>|<w:(?:lang|noProof|proofErr)\b[^>]*/>)")};
  return names;
}

const RunNames& DrawingRuns() {
  static const RunNames& names = *new RunNames{
      "a:p",
      "a:r",
      "a:rPr",
      "a:t",
      "<a:t>",
      [](std::string_view name) { return name == "a:br"; },
      [](std::string_view) { return false; },
      new RE2(R"re((?:lang|altLang|dirty|err|smtClean|noProof)="[^"]*"|/?>)re"
              R"re(|</?a:rPr\b)re")};
  return names;
}

SegmentBuilder ReadRuns(const RunNames& names, const std::string& part,
                        const std::vector<XmlToken>& tokens) {
  return RunReader(names, part, tokens).Read();
}

}  // namespace trivium
