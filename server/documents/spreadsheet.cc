// XLSX: SpreadsheetML of Office Open XML (ECMA-376). Cells name strings that
// are in a part of their own, or, as some programs write them, have them
// inline.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "server/documents/entities.h"
#include "server/documents/office_runs.h"
#include "server/documents/package_document.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"
#include "server/documents/xml_tokens.h"

namespace trivium {
namespace {

using Tokens = std::vector<XmlToken>;
using Names = absl::flat_hash_set<std::string>;

constexpr char kWorkbook[] = "xl/workbook.xml";
constexpr char kReturn[] = "_x000D_";

// Reads the strings of a part.
class SheetStrings {
 public:
  // `kept`: strings that stay.
  SheetStrings(const std::string& part, const Tokens& tokens, const Names& kept)
      : part_(part), tokens_(tokens), kept_(kept) {}

  SegmentBuilder Read() {
    for (size_t at = 0; at < tokens_.size(); ++at) {
      const XmlToken& token = tokens_[at];
      const std::string_view name = token.local_name();
      if (token.kind == XmlToken::Kind::kOpen &&
          (name == "si" || name == "is")) {
        const size_t end = EndOfElement(tokens_, at);
        ReadString(at, end);
        at = end;
      } else {
        builder_.Literal(token.raw);
      }
    }
    builder_.Close();
    return std::move(builder_);
  }

 private:
  void ReadString(size_t open, size_t close) {
    ++strings_;
    builder_.Close();
    const Tokens tokens(tokens_.begin() + static_cast<long>(open),
                        tokens_.begin() + static_cast<long>(close) + 1);
    const std::string text = TextOf(tokens);
    if (kept_.contains(text)) {
      for (const XmlToken& token : tokens) builder_.Literal(token.raw);
    } else if (IsRich(tokens) && text.find('\n') == text.npos) {
      ReadParagraph(SheetRuns(), part_, tokens, strings_, &builder_);
    } else {
      ReadLines(tokens);
    }
    builder_.Close();
  }

  // True if words of it have formattings, in elements without a prefix, as
  // ReadParagraph knows them.
  static bool IsRich(const Tokens& string) {
    return string.front().name == "si" &&
           std::any_of(string.begin(), string.end(), [](const XmlToken& one) {
             return one.name == SheetRuns().run;
           });
  }

  static std::string TextOf(const Tokens& string) {
    std::string text;
    ForTexts(string, [&text](const XmlToken& token, bool seen) {
      if (seen) text += token.Text();
    });
    return text;
  }

  // Each line is a text: a line break is one in a cell, too.
  void ReadLines(const Tokens& string) {
    const std::string place = fmt::format("{}, string {}", part_, strings_);
    ForTexts(string, [this, &place](const XmlToken& token, bool seen) {
      if (!seen || token.kind != XmlToken::Kind::kText) {
        return builder_.Literal(token.raw);
      }
      for (const std::string_view line : SplitLines(token.raw)) {
        size_t size = line.size() - BreakOf(line).size();
        // A carriage return, as Excel writes it.
        if (line.substr(0, size).ends_with(kReturn)) {
          size -= std::string_view(kReturn).size();
        }
        builder_.Text(line.substr(0, size), place, DecodeXml);
        builder_.Close();
        builder_.Literal(line.substr(size));
        builder_.Close();
      }
    });
  }

  // Calls `use` for each token. `seen`: it is a text, and not one of those that
  // only say how others are read (Japanese furigana).
  template <typename Use>
  static void ForTexts(const Tokens& string, Use use) {
    bool phonetic = false;
    int text = 0;
    for (const XmlToken& token : string) {
      if (token.local_name() == "rPh") phonetic = token.depth() > 0;
      if (token.local_name() == "t") text += token.depth();
      use(token, token.name.empty() && text > 0 && !phonetic);
    }
  }

  const std::string& part_;
  const Tokens& tokens_;
  const Names& kept_;
  SegmentBuilder builder_{Joined(EscapeMarkup)};
  size_t strings_ = 0;
};

// Reads parts of one package.
class Spreadsheet {
 public:
  Spreadsheet(std::string_view data, ZipPackage package)
      : package_(std::move(package)),
        document_(std::make_unique<PackageDocument>(data)) {}

  absl::StatusOr<std::unique_ptr<Document>> Read() {
    static const RE2& tables = *new RE2(R"((?i)xl/tables/[^/]+\.xml)");
    static const RE2& strings = *new RE2(R"((?i)xl/sharedStrings\.xml)");
    static const RE2& sheets = *new RE2(R"((?i)xl/worksheets/[^/]+\.xml)");
    static const RE2& drawings =
        *new RE2(R"((?i)xl/(?:drawings|charts)/(?:drawing|chart)\d*\.xml)");
    const std::vector<std::string> names = package_.Names();
    if (std::find(names.begin(), names.end(), kWorkbook) == names.end()) {
      return absl::InvalidArgumentError(
          fmt::format("this is not an XLSX file: it has no {}", kWorkbook));
    }
    for (const std::string& name : names) {
      if (!RE2::FullMatch(name, tables)) continue;
      TRIVIUM_RETURN_IF_ERROR(AddColumns(name));
    }
    for (const std::string& name : names) {
      const bool sheet = RE2::FullMatch(name, sheets);
      const bool drawing = RE2::FullMatch(name, drawings);
      if (!sheet && !drawing && !RE2::FullMatch(name, strings)) continue;
      TRIVIUM_ASSIGN_OR_RETURN(DecodedText source,
                               ReadXmlPart(name, &package_));
      // Most sheets have only numbers of strings, and a million tags.
      if (sheet && source.text.find("inlineStr") == source.text.npos) continue;
      TRIVIUM_ASSIGN_OR_RETURN(const Tokens tokens, Split(name, source.text));
      SegmentBuilder builder =
          drawing ? ReadRuns(DrawingRuns(), name, tokens)
                  : SheetStrings(name, tokens, columns_).Read();
      auto part = NewTextDocument(std::move(source), std::move(builder),
                                  DecodedText::Missing::kReference);
      if (!part.ok()) return InPart(name, part.status());
      TRIVIUM_RETURN_IF_ERROR(document_->Add(name, *std::move(part)));
    }
    return std::move(document_);
  }

 private:
  // Formulas name the columns of a table by the texts of its first row, and the
  // table names them, too. Programs call the file damaged if they differ.
  absl::Status AddColumns(const std::string& table) {
    TRIVIUM_ASSIGN_OR_RETURN(const DecodedText source,
                             ReadXmlPart(table, &package_));
    TRIVIUM_ASSIGN_OR_RETURN(const Tokens tokens, Split(table, source.text));
    for (const XmlToken& token : tokens) {
      if (token.opens() && token.local_name() == "tableColumn") {
        columns_.insert(token.Attribute("name"));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Tokens> Split(const std::string& name, std::string_view text) {
    auto tokens = XmlTokensOf(text, tokens_left_);
    if (!tokens.ok()) return InPart(name, tokens.status());
    tokens_left_ -= tokens->size();
    return tokens;
  }

  ZipPackage package_;
  std::unique_ptr<PackageDocument> document_;
  size_t tokens_left_ = kMostXmlTokens;
  Names columns_;  // of tables
};

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadXlsx(
    std::string_view data, const DocumentOptions& options) {
  auto package = ZipPackage::Open(data);
  if (!package.ok()) {
    return InPart("this is not an XLSX file", package.status());
  }
  return Spreadsheet(data, *std::move(package)).Read();
}

}  // namespace trivium
