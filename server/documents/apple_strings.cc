// Apple's .strings: entries "key" = "value"; with comments between them. Words
// of letters need no quotes.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "server/documents/escaped_strings.h"
#include "server/documents/program_escapes.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// \U00e4 is a unit, as \u00e4 is elsewhere.
std::string UnescapeApple(std::string_view raw) {
  std::string java;
  for (size_t at = 0; at < raw.size(); ++at) {
    java += raw[at];
    if (raw[at] != '\\' || ++at == raw.size()) continue;
    java += raw[at] == 'U' ? 'u' : raw[at];
  }
  return UnescapeProgram(java);
}

std::string EscapeApple(std::string_view text) {
  return absl::StrReplaceAll({text.data(), text.size()}, {{"\\", "\\\\"},
                                                          {"\"", "\\\""},
                                                          {"\n", "\\n"},
                                                          {"\r", "\\r"},
                                                          {"\t", "\\t"}});
}

class AppleReader {
 public:
  explicit AppleReader(std::string_view text) : text_(text), lines_(text) {}

  absl::StatusOr<SegmentBuilder> Read() {
    while (true) {
      TRIVIUM_RETURN_IF_ERROR(SkipBetween());
      if (at_ == text_.size()) break;
      const size_t begin = at_;
      TRIVIUM_ASSIGN_OR_RETURN(const std::string_view key, ReadWord("a key"));
      TRIVIUM_RETURN_IF_ERROR(SkipBetween());
      // An entry that is its key alone has that as its value.
      if (Take(';')) continue;
      if (!Take('=')) return Missing("= or ;");
      TRIVIUM_RETURN_IF_ERROR(SkipBetween());
      TRIVIUM_ASSIGN_OR_RETURN(const std::string_view value,
                               ReadWord("a value"));
      if (value.starts_with('"')) AddValue(value, key, begin);
      TRIVIUM_RETURN_IF_ERROR(SkipBetween());
      if (!Take(';')) return Missing("; behind the value");
    }
    builder_.Literal(text_.substr(written_));
    return std::move(builder_);
  }

 private:
  absl::Status Missing(std::string_view what) const {
    return absl::InvalidArgumentError(
        fmt::format("{}: these are no .strings of Apple: {} is missing",
                    lines_.PlaceInLine(text_, at_), what));
  }

  bool Take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Skips white space and comments.
  absl::Status SkipBetween() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (const size_t space = LeadingSpace(rest); space > 0) {
        at_ += space;
      } else if (rest.starts_with("//")) {
        at_ += std::min(rest.find_first_of("\r\n"), rest.size());
      } else if (rest.starts_with("/*")) {
        const size_t end = rest.find("*/", 2);
        if (end == rest.npos) return Missing("*/, the end of a comment,");
        at_ += end + 2;
      } else {
        break;
      }
    }
    return absl::OkStatus();
  }

  // Reads a key or a value, with its quotes.
  absl::StatusOr<std::string_view> ReadWord(std::string_view what) {
    const size_t begin = at_;
    if (!Take('"')) {
      constexpr std::string_view kSigns = "_.-$:/";
      while (at_ < text_.size() && (absl::ascii_isalnum(text_[at_]) ||
                                    kSigns.find(text_[at_]) != kSigns.npos)) {
        ++at_;
      }
      if (at_ == begin) return Missing(what);
      return text_.substr(begin, at_ - begin);
    }
    while (at_ < text_.size() && text_[at_] != '"') {
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (at_ >= text_.size()) {
      at_ = begin;
      return Missing("the quote that ends a string");
    }
    ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // `value` and `key` are as ReadWord gives them.
  void AddValue(std::string_view value, std::string_view key, size_t begin) {
    const size_t from = static_cast<size_t>(value.data() - text_.data()) + 1;
    const size_t to = from + value.size() - 2;
    builder_.Literal(text_.substr(written_, from - written_));
    builder_.Close();
    if (key.starts_with('"')) key = key.substr(1, key.size() - 2);
    AddEscapedString(&builder_, text_.substr(from, to - from),
                     fmt::format("{} ({})", lines_.Place(begin),
                                 Shorten(UnescapeApple(key))),
                     UnescapeApple);
    builder_.Close();
    written_ = to;
  }

  const std::string_view text_;
  const LinePlaces lines_;
  SegmentBuilder builder_{Joined(EscapeApple)};
  size_t at_ = 0;
  size_t written_ = 0;  // bytes that the builder has
};

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadAppleStrings(
    std::string_view data, const DocumentOptions& options) {
  if (data.starts_with("bplist")) {
    return absl::InvalidArgumentError(
        "it is a binary property list; send the .strings that it was made of");
  }
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source,
                           DecodeDocument(data, options.encoding));
  TRIVIUM_ASSIGN_OR_RETURN(SegmentBuilder builder,
                           AppleReader(source.text).Read());
  return NewTextDocument(std::move(source), std::move(builder));
}

}  // namespace trivium
