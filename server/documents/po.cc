// gettext's PO files
// (https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html).
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "base/utf8.h"
#include "server/documents/escaped_strings.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"

namespace trivium {
namespace {

// A msgid, msgstr or the like.
struct PoString {
  std::string keyword;
  size_t line;
  std::vector<std::string_view> lines;  // unchanged, with the keyword's first
  std::string raw;                      // the text between the quotes
  std::string_view end;                 // line end of the first line

  bool is_form() const { return keyword.starts_with("msgstr"); }
};
using Entry = std::vector<PoString>;

// The most forms (msgstr) of an entry. Languages have at most six, and each
// form to fill takes a copy of the text.
constexpr size_t kMostForms = 16;

std::string UnescapePo(std::string_view raw) {
  std::string out;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    const char c = raw[++i];
    constexpr std::string_view kNames = "ntrabfv";
    constexpr std::string_view kValues = "\n\t\r\a\b\f\v";
    if (c >= '0' && c <= '7') {
      char32_t value = 0;
      size_t end = i;
      for (; end < raw.size() && end < i + 3 && raw[end] >= '0' &&
             raw[end] <= '7';
           ++end) {
        value = value * 8 + static_cast<char32_t>(raw[end] - '0');
      }
      i = end - 1;
      AppendUtf8(value, &out);
    } else if (const size_t name = kNames.find(c); name != kNames.npos) {
      out += kValues[name];
    } else {
      out += c;
    }
  }
  return out;
}

std::string EscapePo(std::string_view text) {
  return absl::StrReplaceAll({text.data(), text.size()}, {{"\\", "\\\\"},
                                                          {"\"", "\\\""},
                                                          {"\n", "\\n"},
                                                          {"\t", "\\t"},
                                                          {"\r", "\\r"}});
}

// Writes a form with the text of `source`, a segment.
void Fill(const PoString& form, const PoString& source,
          SegmentBuilder* builder) {
  const std::string place = fmt::format("line {}", source.line);
  const std::string_view first = form.lines.front();
  builder->Literal(first.substr(0, first.find('"') + 1));
  const std::string_view end = form.end.empty() ? "\n" : form.end;
  std::string_view rest = source.raw;
  std::string_view last_line = rest;
  EscapedLine line = NextEscapedLine(&rest);
  if (!rest.empty()) builder->Literal(fmt::format("\"{}\"", end));
  while (!rest.empty()) {
    AddEscapedString(builder, line.text, place, UnescapePo);
    builder->Literal(fmt::format("{}\"{}\"", line.end, end));
    last_line = rest;
    line = NextEscapedLine(&rest);
  }
  // A line break at the end stays in the last line.
  AddEscapedString(builder, last_line, place, UnescapePo);
  builder->Literal("\"");
  const std::string_view last = form.lines.back();
  builder->Literal(last.substr(last.rfind('"') + 1));
}

class PoReader {
 public:
  PoReader(const DocumentOptions& options, SegmentBuilder* builder)
      : options_(options), builder_(builder) {}

  absl::Status Read(std::string_view text) {
    size_t number = 0;
    for (const std::string_view line : SplitLines(text)) {
      ++number;
      const std::string_view bare = StripSpace(line);
      if (bare.empty() || bare.starts_with('#')) {
        // A comment belongs to the next entry and so ends this one.
        if (!entry_.empty()) End();
        fuzzy_ |= bare.starts_with("#,") && bare.find("fuzzy") != bare.npos;
        builder_->Literal(line);
      } else if (!AddLine(line, number)) {
        return absl::InvalidArgumentError(
            fmt::format("line {}: this is not a line of a PO file", number));
      }
      if (forms_ > kMostForms) {
        return absl::InvalidArgumentError(
            fmt::format("line {}: the entry has more than {} forms; send the "
                        "forms of one language",
                        number, kMostForms));
      }
    }
    End();
    return absl::OkStatus();
  }

 private:
  bool AddLine(std::string_view line, size_t number) {
    static const RE2& pattern = *new RE2(
        R"re(([ \t]*(?:msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)[ \t]*)?)re"
        R"re([ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(\r\n|\r|\n|))re");
    re2::StringPiece keyword_piece, raw_piece, end_piece;
    if (!RE2::FullMatch({line.data(), line.size()}, pattern, &keyword_piece,
                        &raw_piece, &end_piece)) {
      return false;
    }
    const std::string_view keyword = StripSpace(
        std::string_view(keyword_piece.data(), keyword_piece.size()));
    const std::string_view raw(raw_piece.data(), raw_piece.size());
    if (keyword.empty() && entry_.empty()) return false;
    if ((keyword == "msgctxt" || keyword == "msgid") && forms_ > 0) End();
    if (keyword.empty()) {
      entry_.back().lines.push_back(line);
      entry_.back().raw += raw;
    } else {
      entry_.push_back({std::string(keyword),
                        number,
                        {line},
                        std::string(raw),
                        {end_piece.data(), end_piece.size()}});
      forms_ += entry_.back().is_form();
    }
    return true;
  }

  // Writes the entry.
  void End() {
    const PoString* singular = nullptr;
    const PoString* plural = nullptr;
    for (const PoString& one : entry_) {
      if (one.keyword == "msgid") singular = &one;
      if (one.keyword == "msgid_plural") plural = &one;
    }
    const auto is_filled = [&](const PoString& one) {
      return one.is_form() && singular != nullptr && !singular->raw.empty() &&
             (options_.retranslate || (one.raw.empty() && !fuzzy_));
    };
    if (options_.mark_fuzzy && !fuzzy_ &&
        std::any_of(entry_.begin(), entry_.end(), is_filled)) {
      const std::string_view end = entry_.front().end;
      builder_->Literal(fmt::format("#, fuzzy{}", end.empty() ? "\n" : end));
    }
    for (const PoString& one : entry_) {
      if (!is_filled(one)) {
        for (const std::string_view line : one.lines) builder_->Literal(line);
        continue;
      }
      const bool first =
          (one.keyword == "msgstr" || one.keyword == "msgstr[0]") &&
          (plural == nullptr || forms_ > 1);
      Fill(one, first || plural == nullptr ? *singular : *plural, builder_);
    }
    entry_.clear();
    forms_ = 0;
    fuzzy_ = false;
  }

  const DocumentOptions& options_;
  SegmentBuilder* const builder_;
  Entry entry_;
  size_t forms_ = 0;  // of entry_
  bool fuzzy_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadPo(
    std::string_view data, const DocumentOptions& options) {
  std::string encoding =
      DeclaredEncoding(data, R"((?i)charset=([\w.:-]+))", "utf-8");
  if (encoding == "CHARSET") encoding = "utf-8";  // the value in templates
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source, DecodeDocument(data, encoding));
  SegmentBuilder builder(Joined(EscapePo));
  TRIVIUM_RETURN_IF_ERROR(PoReader(options, &builder).Read(source.text));
  return NewTextDocument(std::move(source), std::move(builder));
}

}  // namespace trivium
