// CSV (RFC 4180) and TSV. A cell in quotes stays in quotes, and quotes within
// it are doubled. A cell without quotes gets them if its translation needs
// them.
//
// Render knows that only once it has all texts of a cell. So a cell without
// quotes is first written between two bytes that no text in UTF-8 has, which
// WithQuotes then finds.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "server/documents/escaped_strings.h"
#include "server/documents/readers.h"
#include "server/documents/segment_builder.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr char kCellBegin = kUnusedBytes[0], kCellEnd = kUnusedBytes[1];
constexpr size_t kMostColumns = 16'384;
constexpr size_t kMostNamesBytes = 400;  // in errors

std::string Undoubled(std::string_view text) {
  return absl::StrReplaceAll({text.data(), text.size()}, {{"\"\"", "\""}});
}
std::string Doubled(std::string_view text) {
  return absl::StrReplaceAll(Unmarked(text), {{"\"", "\"\""}});
}

// A cell as it is written.
struct Cell {
  std::string_view raw;      // with its quotes
  std::string_view content;  // between them
  bool quoted = false;
  bool open = false;  // begins with a quote that no quote of its line closes
};

// Splits a text into cells.
class CellScanner {
 public:
  CellScanner(std::string_view text, char separator)
      : text_(text), separator_(separator) {}

  bool done() const { return at_ >= text_.size(); }
  size_t at() const { return at_; }

  // Reads the next cell of a row. What follows is a separator, the row's end or
  // the text's.
  Cell Next() {
    const size_t begin = at_;
    Cell cell;
    cell.quoted = at_ < text_.size() && text_[at_] == '"';
    if (cell.quoted) {
      size_t end = std::min(text_.find('"', at_ + 1), text_.size());
      while (text_.substr(end).starts_with("\"\"")) {
        end = std::min(text_.find('"', end + 2), text_.size());
      }
      at_ = std::min(end + 1, text_.size());
      // A quote that does not end its cell is text.
      const bool ends = at_ == text_.size() || text_[at_] == separator_ ||
                        text_[at_] == '\r' || text_[at_] == '\n';
      cell.quoted = ends && end < text_.size();
      if (!cell.quoted) {
        cell.open = text_.substr(begin, end - begin).find_first_of("\r\n") !=
                        std::string_view::npos ||
                    end == text_.size();
        at_ = begin;
      }
    }
    if (!cell.quoted) {
      const char ends[] = {separator_, '\r', '\n'};
      at_ = std::min(text_.find_first_of(std::string_view(ends, 3), begin),
                     text_.size());
    }
    cell.raw = text_.substr(begin, at_ - begin);
    cell.content =
        cell.quoted ? cell.raw.substr(1, cell.raw.size() - 2) : cell.raw;
    return cell;
  }
  // Reads what follows a cell; `row` is set if it ends the row.
  std::string_view Border(bool* row) {
    const std::string_view rest = text_.substr(at_);
    *row = !rest.starts_with(separator_);
    const size_t size = rest.empty() ? 0 : rest.starts_with("\r\n") ? 2 : 1;
    at_ += size;
    return rest.substr(0, size);
  }

 private:
  const std::string_view text_;
  const char separator_;
  size_t at_ = 0;
};

// The separator that the first line has most often, outside of quotes.
char SeparatorOf(std::string_view text) {
  size_t counts[3] = {};
  constexpr std::string_view kSeparators = ",;\t";
  bool quoted = false;
  for (const char c : text) {
    quoted ^= c == '"';
    if (quoted) continue;
    if (c == '\r' || c == '\n') break;
    const size_t found = kSeparators.find(c);
    if (found != kSeparators.npos) ++counts[found];
  }
  return kSeparators[static_cast<size_t>(std::max_element(counts, counts + 3) -
                                         counts)];
}

class TableDocument final : public Document {
 public:
  // `quotes`: a quote that is never closed is an error.
  TableDocument(DecodedText source, char separator, bool quotes)
      : source_(std::move(source)), separator_(separator), quotes_(quotes) {}

  // INVALID_ARGUMENT if a column that is asked for does not exist, if there
  // are too many columns or texts, or if a quote is never closed. `begin`: the
  // first row's offset.
  absl::Status Read(size_t begin, const DocumentOptions& options) {
    const LinePlaces lines(source_.text);
    const std::string_view text = source_.text;
    CellScanner cells(text.substr(begin), separator_);
    builder_.Literal(text.substr(0, begin));
    std::vector<std::string> names;
    std::set<size_t> wanted = NumbersOf(options);
    size_t column = 0;
    bool first = true;
    while (!cells.done() || column > 0) {
      const size_t at = begin + cells.at();
      const Cell cell = cells.Next();
      if (cell.open && quotes_) {
        return absl::InvalidArgumentError(fmt::format(
            "{}: column {} begins with a quote that is never closed; close it, "
            "or write \"\"\" if the text begins with one",
            lines.Place(at), column + 1));
      }
      if (++column > kMostColumns) {
        return absl::InvalidArgumentError(
            fmt::format("{}: the row has more than {} columns; split the table",
                        lines.Place(at), kMostColumns));
      }
      const bool name = first && !options.no_header;
      if (first) {
        names.push_back(name ? std::string(StripSpace(Undoubled(cell.content)))
                             : "");
      }
      if (!name && !IsSpaces(cell.content) &&
          (options.columns.empty() || wanted.contains(column))) {
        AddCell(cell, Place(lines, at, column, names));
        TRIVIUM_RETURN_IF_ERROR(builder_.status());
      } else {
        builder_.Literal(cell.raw);
      }
      bool row = false;
      builder_.Literal(cells.Border(&row));
      if (!row) continue;
      if (first) {
        auto found = FindColumns(names, options);
        if (!found.ok()) return InRow(lines.Place(begin), found.status());
        wanted = *std::move(found);
      }
      first = false;
      column = 0;
    }
    builder_.Close();
    return builder_.status();
  }

  std::vector<const DocumentSegment*> segments() const override {
    std::vector<const DocumentSegment*> all;
    for (const DocumentSegment& one : builder_.segments()) all.push_back(&one);
    return all;
  }
  size_t bytes() const override { return source_.text.size(); }
  absl::StatusOr<std::string> Render(Translations translations) const override {
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::string text,
        builder_.Render(translations, MostRenderedBytes()));
    return source_.Encode(WithQuotes(text), DecodedText::Missing::kRefuse);
  }

 private:
  // The columns that are asked for by numbers.
  static std::set<size_t> NumbersOf(const DocumentOptions& options) {
    std::set<size_t> numbers;
    for (const std::string& asked : options.columns) {
      size_t number = 0;
      if (absl::SimpleAtoi(asked, &number)) numbers.insert(number);
    }
    return numbers;
  }

  // The numbers of the columns that are asked for. A name counts before a
  // number, and the first of equal names before the others.
  static absl::StatusOr<std::set<size_t>> FindColumns(
      const std::vector<std::string>& names, const DocumentOptions& options) {
    absl::flat_hash_map<std::string_view, size_t> number_of_name;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty()) number_of_name.emplace(names[i], i + 1);
    }
    std::set<size_t> columns;
    for (const std::string& asked : options.columns) {
      const auto named = number_of_name.find(asked);
      size_t number = 0;
      if (named != number_of_name.end()) {
        columns.insert(named->second);
      } else if (absl::SimpleAtoi(asked, &number) && number > 0 &&
                 number <= names.size()) {
        columns.insert(number);
      } else {
        return NoColumn(asked, names, options);
      }
    }
    return columns;
  }

  static absl::Status NoColumn(const std::string& asked,
                               const std::vector<std::string>& names,
                               const DocumentOptions& options) {
    if (options.no_header) {
      return absl::InvalidArgumentError(
          fmt::format("there is no column '{}'; with no_header columns have "
                      "only numbers, here 1 to {}",
                      Shorten(asked), names.size()));
    }
    std::string all;
    for (const std::string& name : names) {
      if (all.size() > kMostNamesBytes) {
        all += ", ...";
        break;
      }
      all += fmt::format("{}'{}'", all.empty() ? "" : ", ", Shorten(name));
    }
    return absl::InvalidArgumentError(
        fmt::format("there is no column '{}'; give one of {}, or a number "
                    "from 1 to {}",
                    Shorten(asked), all, names.size()));
  }
  static absl::Status InRow(const std::string& place,
                            const absl::Status& status) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", place, std::string(status.message())));
  }

  static std::string Place(const LinePlaces& lines, size_t at, size_t column,
                           const std::vector<std::string>& names) {
    const bool named = column <= names.size() && !names[column - 1].empty();
    return fmt::format(
        "{}, column {}", lines.Place(at),
        named ? Shorten(names[column - 1]) : std::to_string(column));
  }

  // Each line of a cell is a text.
  void AddCell(const Cell& cell, const std::string& place) {
    builder_.Close();
    builder_.Literal(cell.quoted ? "\"" : std::string(1, kCellBegin));
    builder_.Close();
    const WriteSegment write = cell.quoted ? Joined(Doubled) : Joined(Unmarked);
    const DecodeText decode = cell.quoted ? DecodeText(Undoubled) : nullptr;
    for (const std::string_view line : SplitLines(cell.content)) {
      const std::string_view end = BreakOf(line);
      AddTagged(&builder_, line.substr(0, line.size() - end.size()), place,
                HtmlTagOfStrings(), decode);
      builder_.Close(write);
      builder_.Literal(end);
      builder_.Close();
    }
    builder_.Literal(cell.quoted ? "\"" : std::string(1, kCellEnd));
    builder_.Close();
    if (!cell.quoted) {
      plain_.emplace_back(
          static_cast<size_t>(cell.raw.data() - source_.text.data()),
          cell.raw.size());
    }
  }

  // Removes the bytes around plain cells, and quotes those that need it.
  std::string WithQuotes(std::string_view text) const {
    std::string out;
    for (const auto& [begin, size] : plain_) {
      const size_t open = text.find(kCellBegin);
      const size_t close = text.find(kCellEnd);
      if (open == text.npos || close == text.npos) break;
      out += text.substr(0, open);
      const std::string_view cell = text.substr(open + 1, close - open - 1);
      text.remove_prefix(close + 1);
      const char special[] = {separator_, '"', '\r', '\n'};
      const bool same =
          cell == std::string_view(source_.text).substr(begin, size);
      if (same ||
          cell.find_first_of(std::string_view(special, 4)) == cell.npos) {
        out += cell;
      } else {
        out += '"' + Doubled(cell) + '"';
      }
    }
    out += text;
    return out;
  }

  const DecodedText source_;
  const char separator_;
  const bool quotes_;
  SegmentBuilder builder_;
  std::vector<std::pair<size_t, size_t>> plain_;  // places and sizes, in order
};

absl::StatusOr<std::unique_ptr<Document>> ReadTable(
    std::string_view data, const DocumentOptions& options,
    std::optional<char> separator, bool quotes) {
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source,
                           DecodeDocument(data, options.encoding));
  // Spreadsheets write a first line "sep=;".
  const std::string_view text = source.text;
  size_t begin = 0;
  if (text.starts_with("sep=") && text.size() > 5 &&
      (text[5] == '\r' || text[5] == '\n')) {
    separator = text[4];
    begin = text.substr(5).starts_with("\r\n") ? 7 : 6;
  }
  const char used = separator.value_or(SeparatorOf(text));
  auto document =
      std::make_unique<TableDocument>(std::move(source), used, quotes);
  TRIVIUM_RETURN_IF_ERROR(document->Read(begin, options));
  return document;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadCsv(
    std::string_view data, const DocumentOptions& options) {
  return ReadTable(data, options, std::nullopt, /*quotes=*/true);
}
absl::StatusOr<std::unique_ptr<Document>> ReadTsv(
    std::string_view data, const DocumentOptions& options) {
  // Many of these files put no quotes around cells, so a quote is text.
  return ReadTable(data, options, '\t', /*quotes=*/false);
}

}  // namespace trivium
