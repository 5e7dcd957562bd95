#include "server/documents/office_runs.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/utf8.h"
#include "server/documents/run_formatting.h"
#include "server/documents/text_lines.h"

namespace trivium {
namespace {

using Kind = DocumentItem::Kind;
using Items = std::vector<DocumentItem>;
using Tokens = std::vector<XmlToken>;

// Key of the marks at a field's begin and end.
constexpr char kField[] = "#field";

class RunReader {
 public:
  // `paragraphs` is the number of those before these.
  RunReader(const RunNames& names, const std::string& part,
            const Tokens& tokens, size_t paragraphs, SegmentBuilder* builder)
      : names_(names),
        part_(part),
        tokens_(tokens),
        table_(std::make_shared<RunTable>(names)),
        builder_(*builder),
        paragraph_(paragraphs) {}

  void Read() {
    for (size_t at = 0; at < tokens_.size();) at = ReadToken(at);
    Close();
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
    items_.push_back({kind, std::string(raw), std::move(text), std::move(key),
                      std::move(before), run_});
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
                        "",
                        "",
                        what == "end" ? "" : kField,
                        items_[begin].before,
                        items_.back().after};
    for (size_t i = begin; i < items_.size(); ++i) joined.raw += items_[i].raw;
    items_.resize(begin);
    items_.push_back(std::move(joined));
  }

  // Ends the segment.
  void Close() {
    Items items = std::exchange(items_, {});
    // Each formatting with the length of its text, and its first run.
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
            const auto& segment, const auto& parts, size_t most) {
          return WriteRuns(*names, *table, run, segment, parts, most);
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
    for (DocumentItem& item :
         MarkFormattings(*table_, std::move(items), usual)) {
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
  SegmentBuilder& builder_;
  size_t paragraph_;
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

const RunNames& SheetRuns() {
  static const RunNames& names =
      *new RunNames{"si",
                    "r",
                    "rPr",
                    "t",
                    "<t xml:space=\"preserve\">",
                    [](std::string_view) { return false; },
                    [](std::string_view) { return false; },
                    new RE2(R"(</?rPr\b[^>]*>)")};
  return names;
}

SegmentBuilder ReadRuns(const RunNames& names, const std::string& part,
                        const std::vector<XmlToken>& tokens) {
  SegmentBuilder builder;
  RunReader(names, part, tokens, 0, &builder).Read();
  return builder;
}

void ReadParagraph(const RunNames& names, const std::string& part,
                   const Tokens& tokens, size_t paragraph,
                   SegmentBuilder* builder) {
  RunReader(names, part, tokens, paragraph - 1, builder).Read();
}

}  // namespace trivium
