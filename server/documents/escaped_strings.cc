#include "server/documents/escaped_strings.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"

namespace trivium {
namespace {

using Kind = DocumentItem::Kind;

// Returns the size of the escape that `raw` begins with: \u00e4, \012 or \n.
size_t EscapeSize(std::string_view raw) {
  if (raw.size() < 2) return raw.size();
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  if (raw[1] == 'u' && raw.size() >= 6 &&
      std::all_of(raw.begin() + 2, raw.begin() + 6,
                  [](char c) { return absl::ascii_isxdigit(c); })) {
    return 6;
  }
  size_t size = 2;
  while (is_octal(raw[1]) && size < 4 && size < raw.size() &&
         is_octal(raw[size])) {
    ++size;
  }
  return size;
}

// Reads ICU's MessageFormat. Apostrophes quote syntax ('{'), and #, within a
// plural, is its number.
class IcuReader {
 public:
  explicit IcuReader(std::string_view raw) : raw_(raw) {}

  std::vector<IcuPart> Read() {
    if (!Message(0) || at_ != raw_.size() || !branches_) return {};
    Flush();
    return std::move(parts_);
  }

 private:
  static constexpr int kMostDepth = 16;

  // Reads a message up to its closing brace, or the end of all.
  bool Message(int depth) {
    if (depth > kMostDepth) return false;
    while (at_ < raw_.size()) {
      const char c = raw_[at_];
      if (c == '\'') {
        SkipQuoted();
      } else if (c == '{') {
        if (!Argument(depth)) return false;
      } else if (c == '}') {
        return depth > 0;
      } else {
        ++at_;
      }
    }
    return depth == 0;
  }

  void SkipQuoted() {
    ++at_;
    if (at_ == raw_.size() || (raw_[at_] != '{' && raw_[at_] != '}')) return;
    const size_t end = raw_.find('\'', at_);
    at_ = end == raw_.npos ? raw_.size() : end + 1;
  }

  // Reads {name}, {name, type, style} or {name, plural, one {...} ...}.
  bool Argument(int depth) {
    const size_t begin = at_++;
    SkipWord();
    if (!Take(',')) return SkipSimple(begin);
    const std::string_view type = SkipWord();
    if (type != "plural" && type != "select" && type != "selectordinal") {
      return SkipSimple(begin);
    }
    if (!Take(',')) return false;
    // The text before ends here.
    Text(begin);
    branches_ = true;
    while (true) {
      const std::string_view selector = SkipWord();
      if (Take('}')) break;
      if (selector.starts_with("offset:")) continue;
      if (selector.empty() || !Take('{')) return false;
      Syntax(at_);
      if (!Message(depth + 1)) return false;
      Text(at_);
      ++at_;  // }
    }
    Syntax(at_);
    return true;
  }

  bool SkipSimple(size_t begin) {
    const size_t end = raw_.find_first_of("{}", begin + 1);
    if (end == raw_.npos || raw_[end] == '{') return false;
    at_ = end + 1;
    return true;
  }

  std::string_view SkipWord() {
    SkipSpace();
    const size_t begin = at_;
    while (at_ < raw_.size() && !absl::ascii_isspace(raw_[at_]) &&
           raw_[at_] != ',' && raw_[at_] != '{' && raw_[at_] != '}') {
      ++at_;
    }
    const size_t end = at_;
    SkipSpace();
    return raw_.substr(begin, end - begin);
  }
  void SkipSpace() {
    while (at_ < raw_.size() && absl::ascii_isspace(raw_[at_])) ++at_;
  }
  bool Take(char c) {
    if (at_ == raw_.size() || raw_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Ends a part before `end`.
  void Text(size_t end) { Add(end, true); }
  void Syntax(size_t end) { Add(end, false); }
  void Add(size_t end, bool text) {
    if (end > begin_)
      parts_.push_back({raw_.substr(begin_, end - begin_), text});
    begin_ = end;
  }
  void Flush() { Text(raw_.size()); }

  const std::string_view raw_;
  size_t at_ = 0;
  size_t begin_ = 0;  // of the part that is read
  bool branches_ = false;
  std::vector<IcuPart> parts_;
};

// Adds the text of a branch, in which # stands for a number.
void AddBranch(SegmentBuilder* builder, std::string_view raw,
               const std::string& place, const DecodeText& decode) {
  while (!raw.empty()) {
    const size_t number = std::min(raw.find('#'), raw.size());
    AddTagged(builder, raw.substr(0, number), place, HtmlTagOfStrings(), decode,
              Margin::kEscapes);
    if (number == raw.size()) break;
    builder->Mark(Kind::kKept, "#");
    raw.remove_prefix(number + 1);
  }
  builder->Close();
}

}  // namespace

const RE2& EscapedHtmlTag() {
  static const RE2& tag =
      *new RE2(R"(&lt;(/?)([a-zA-Z][^\s/<>&]*)[^<>]*?(?:&gt;|>))");
  return tag;
}

const RE2& HtmlTagOfStrings() {
  static const RE2& tag = *new RE2(
      R"(<(/?)([a-zA-Z][^\s/>]*)(?:[^<>"']|\\?"[^<>"]*"|'[^<>']*')*>)");
  return tag;
}

EscapedLine NextEscapedLine(std::string_view* raw) {
  for (size_t at = raw->find('\\'); at < raw->size();) {
    const std::string_view escape =
        raw->substr(at, EscapeSize(raw->substr(at)));
    if (escape == "\\n" || escape == "\\r") {
      const EscapedLine line = {raw->substr(0, at), escape};
      raw->remove_prefix(at + escape.size());
      return line;
    }
    at = raw->find('\\', at + escape.size());
  }
  return {std::exchange(*raw, std::string_view()), ""};
}

void AddEscapedString(SegmentBuilder* builder, std::string_view raw,
                      const std::string& place, const DecodeText& decode) {
  const std::vector<IcuPart> icu = SplitIcuMessage(raw);
  for (const IcuPart& part : icu) {
    if (part.text) {
      AddBranch(builder, part.raw, place, decode);
    } else {
      builder->Literal(part.raw);
      builder->Close();
    }
  }
  if (!icu.empty()) return;
  while (!raw.empty()) {
    const EscapedLine line = NextEscapedLine(&raw);
    AddTagged(builder, line.text, place, HtmlTagOfStrings(), decode,
              Margin::kEscapes);
    builder->Close();
    builder->Literal(line.end);
    builder->Close();
  }
}

void AddTagged(SegmentBuilder* builder, std::string_view raw,
               const std::string& place, const RE2& tag,
               const DecodeText& decode, Margin margin) {
  if (raw.empty()) return;
  re2::StringPiece found[3];
  size_t at = 0;
  while (tag.Match({raw.data(), raw.size()}, at, raw.size(), RE2::UNANCHORED,
                   found, 3)) {
    const size_t begin = static_cast<size_t>(found[0].data() - raw.data());
    builder->Text(raw.substr(at, begin - at), place, decode, margin);
    const Kind kind = found[2].empty()   ? Kind::kVoid
                      : found[1].empty() ? Kind::kOpen
                                         : Kind::kClose;
    builder->Mark(kind, std::string_view(found[0].data(), found[0].size()),
                  absl::AsciiStrToLower(std::string(found[2])));
    at = begin + found[0].size();
  }
  builder->Text(raw.substr(at), place, decode, margin);
}

std::vector<IcuPart> SplitIcuMessage(std::string_view raw) {
  if (raw.find('{') == raw.npos) return {};
  return IcuReader(raw).Read();
}

}  // namespace trivium
