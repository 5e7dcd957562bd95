// Markdown. A segment is a block that can be parsed by itself.
#include <fmt/format.h>
#include <re2/re2.h>
#include <unicode/unistr.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "base/status.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"

namespace trivium {
namespace {

using Lines = std::vector<std::string_view>;

bool Begins(std::string_view text, const RE2& pattern) {
  return pattern.Match({text.data(), text.size()}, 0, text.size(),
                       RE2::ANCHOR_START, nullptr, 0);
}
bool Has(std::string_view text, const RE2& pattern) {
  return pattern.Match({text.data(), text.size()}, 0, text.size(),
                       RE2::UNANCHORED, nullptr, 0);
}

bool IsInList(std::string_view line) {
  static const RE2& list = *new RE2(R"( {0,3}(?:[-+*]|\d{1,9}[.)])(?:\s|$))");
  return Begins(line, list);
}
bool IsBullet(std::string_view line) {
  static const RE2& bullet = *new RE2(R"([-+*][ \t]+\S)");
  return Begins(line, bullet);
}

// The end of code or HTML that blank lines do not end.
struct OpenBlock {
  char fence = 0;  // ` or ~; 0: HTML
  size_t fence_size = 0;
  bool in_list = false;
  std::string_view end = "";  // of HTML; empty: one of the raw elements' tags
};

bool HasEnd(std::string_view text, const OpenBlock& block) {
  static const RE2& raw_end =
      *new RE2(R"((?i)</(?:script|pre|style|textarea)>)");
  return block.end.empty() ? Has(text, raw_end)
                           : text.find(block.end) != text.npos;
}

bool Ends(std::string_view line, const OpenBlock& block) {
  if (block.fence == 0) return HasEnd(line, block);
  size_t at = line.find_first_not_of(block.in_list ? " \t" : " ");
  if (at == line.npos || (!block.in_list && at > 3)) return false;
  const size_t begin = at;
  while (at < line.size() && line[at] == block.fence) ++at;
  return at - begin >= block.fence_size && IsSpaces(line.substr(at));
}

// Returns true if `line` begins a fence: in list items it may follow the item's
// mark, and be indented.
bool ReadFence(std::string_view line, bool in_list, OpenBlock* block) {
  static const RE2& fence = *new RE2(R"( {0,3}(?:(`{3,})[^`]*$|(~{3,})))");
  static const RE2& in_item = *new RE2(
      R"((?:[ \t]|[-+*][ \t]|\d{1,9}[.)][ \t])*(?:(`{3,})[^`]*$|(~{3,})))");
  re2::StringPiece found[3];
  line.remove_suffix(BreakOf(line).size());
  if (!(in_list ? in_item : fence)
           .Match({line.data(), line.size()}, 0, line.size(), RE2::ANCHOR_START,
                  found, 3)) {
    return false;
  }
  const re2::StringPiece mark = found[1].empty() ? found[2] : found[1];
  *block = {mark[0], mark.size(), in_list};
  return true;
}

// Returns true if `line` opens a block that goes on in the next line.
bool Opens(std::string_view line, bool in_list, OpenBlock* block) {
  if (ReadFence(line, in_list, block)) return true;
  static const RE2& raw =
      *new RE2(R"((?i)( {0,3}<(?:script|pre|style|textarea))(?:[\s>]|$))");
  re2::StringPiece found[2];
  *block = {};
  size_t begin = 0;
  if (raw.Match({line.data(), line.size()}, 0, line.size(), RE2::ANCHOR_START,
                found, 2)) {
    begin = found[1].size();
  } else {
    const size_t at = line.find_first_not_of(' ');
    if (at == line.npos || at > 3) return false;
    const std::string_view rest = line.substr(at);
    if (rest.starts_with("<!--")) {
      begin = at + 4;
      block->end = "-->";
    } else if (rest.starts_with("<?")) {
      begin = at + 2;
      block->end = "?>";
    } else if (rest.starts_with("<![CDATA[")) {
      begin = at + 9;
      block->end = "]]>";
    } else if (rest.starts_with("<!") && rest.size() > 2 &&
               absl::ascii_isalpha(rest[2])) {
      begin = at + 3;
      block->end = ">";
    } else {
      return false;
    }
  }
  return !HasEnd(line.substr(begin), *block);
}

// Returns how many lines the front matter has.
size_t FrontMatter(const Lines& lines) {
  if (lines.empty()) return 0;
  const auto bare = [](std::string_view line) {
    line.remove_suffix(TrailingSpace(line));
    return line;
  };
  const std::string_view mark = bare(lines[0]);
  if (mark != "---" && mark != "+++") return 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (bare(lines[i]) == mark) return i + 1;
  }
  return 0;
}

// Returns the lines [first, second) of each block that can be parsed by itself.
// A block ends before an unindented line that follows a blank line, or that
// begins another list item. Lines within code and HTML do not count.
std::vector<std::pair<size_t, size_t>> Blocks(const Lines& lines, size_t at) {
  std::vector<std::pair<size_t, size_t>> blocks;
  size_t first = at;
  bool open = false;
  OpenBlock block;
  for (; at < lines.size(); ++at) {
    const std::string_view line = lines[at];
    const bool begins =
        LeadingSpace(line) == 0 && at > first && IsSpaces(lines[at - 1]);
    if (!open &&
        (begins || (at > first && IsInList(lines[first]) && IsBullet(line)))) {
      blocks.emplace_back(first, at);
      first = at;
    }
    if (open) {
      open = !Ends(line, block);
    } else {
      open = Opens(line, IsInList(lines[first]), &block);
    }
  }
  blocks.emplace_back(first, at);
  return blocks;
}

// A link's label as it is compared.
std::string NameOf(std::string_view label) {
  std::string words;
  while (!(label = StripSpace(label)).empty()) {
    size_t end = 0;
    while (end < label.size() && LeadingSpace(label.substr(end)) == 0) ++end;
    if (!words.empty()) words += ' ';
    words += label.substr(0, end);
    label.remove_prefix(end);
  }
  std::string folded;
  icu::UnicodeString::fromUTF8(words).foldCase().toUTF8String(folded);
  return folded;
}

class MarkdownReader {
 public:
  MarkdownReader(Lines lines, SegmentBuilder* builder)
      : lines_(std::move(lines)), builder_(builder) {
    for (const std::string_view line : lines_) definition_bytes_ += line.size();
  }

  void Read() {
    const size_t front = FrontMatter(lines_);
    for (size_t i = 0; i < front; ++i) builder_->Literal(lines_[i]);
    builder_->Close();
    const auto blocks = Blocks(lines_, front);
    for (size_t i = front; i < lines_.size(); ++i) {
      std::string name;
      if (IsDefinition(lines_[i], &name)) {
        definitions_.emplace(std::move(name), StripSpace(lines_[i]));
      }
    }
    for (const auto& [begin, end] : blocks) Add(begin, end);
  }

 private:
  static bool IsDefinition(std::string_view line, std::string* name) {
    static const RE2& definition = *new RE2(R"( {0,3}\[([^\[\]^][^\[\]]*)\]:)");
    re2::StringPiece found[2];
    if (!definition.Match({line.data(), line.size()}, 0, line.size(),
                          RE2::ANCHOR_START, found, 2)) {
      return false;
    }
    *name = NameOf({found[1].data(), found[1].size()});
    return true;
  }

  // Adds a block as a segment, if it has any text.
  void Add(size_t begin, size_t end) {
    std::string raw;
    absl::flat_hash_set<std::string> done;  // names that need no definition
    for (size_t i = begin; i < end; ++i) {
      raw += lines_[i];
      std::string name;
      if (IsDefinition(lines_[i], &name)) done.insert(std::move(name));
    }
    const std::string_view text =
        std::string_view(raw).substr(0, raw.size() - TrailingSpace(raw));
    if (!text.empty()) {
      // At the beginning of a text, a rule would be read as front matter.
      static const RE2& rule = *new RE2(R"((?:---|\+\+\+)[ \t]*(?:[\r\n]|$))");
      const std::string head = Begins(text, rule) ? "\n" : "";
      const std::string tail = DefinitionsFor(text, &done);
      builder_->Whole(
          {fmt::format("{}{}{}", head, text, tail),
           SegmentText::Format::kMarkup},
          text, fmt::format("line {}", begin + 1),
          [head, tail](const DocumentSegment&,
                       const std::vector<DocumentPart>& parts, size_t) {
            std::string out;
            for (const DocumentPart& part : parts) out += part.text;
            if (out.starts_with(head)) out.erase(0, head.size());
            if (out.ends_with(tail)) {
              out.resize(out.size() - tail.size());
            }
            return out;
          });
    }
    builder_->Literal(std::string_view(raw).substr(text.size()));
    builder_->Close();
  }

  std::string DefinitionsFor(std::string_view text,
                             absl::flat_hash_set<std::string>* done) {
    static const RE2& label = *new RE2(R"(\[([^\[\]]+)\])");
    std::string tail;
    re2::StringPiece rest(text.data(), text.size()), found;
    while (RE2::FindAndConsume(&rest, label, &found)) {
      const std::string name = NameOf({found.data(), found.size()});
      if (!done->insert(name).second) continue;
      const auto definition = definitions_.find(name);
      if (definition == definitions_.end()) continue;
      if (definition->second.size() > definition_bytes_) continue;
      definition_bytes_ -= definition->second.size();
      tail += tail.empty() ? "\n\n" : "\n";
      tail += definition->second;
    }
    return tail;
  }

  const Lines lines_;
  SegmentBuilder* const builder_;
  absl::flat_hash_map<std::string, std::string> definitions_;
  // Bytes that may still be added to blocks: in all no more than the document
  // has, so that a long definition that all blocks use takes no memory.
  size_t definition_bytes_ = 4096;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadMarkdown(
    std::string_view data, const DocumentOptions& options) {
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source, DecodeDocument(data));
  SegmentBuilder builder;
  MarkdownReader(SplitLines(source.text), &builder).Read();
  return NewTextDocument(std::move(source), std::move(builder));
}

}  // namespace trivium
