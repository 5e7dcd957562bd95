// Java's .properties (java.util.Properties.load): a key, a separator and a
// value on a line, which goes on behind a backslash at its end. Values are
// often patterns of java.text.MessageFormat, where '' is an apostrophe.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "base/utf8.h"
#include "server/documents/escaped_strings.h"
#include "server/documents/program_escapes.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr std::string_view kBlanks = " \t\f";
constexpr char kLatin1[] = "ISO-8859-1";

size_t BlanksAt(std::string_view text, size_t at) {
  const size_t end = text.find_first_not_of(kBlanks, at);
  return (end == text.npos ? text.size() : end) - at;
}

// Returns the size of what joins two lines: a backslash, a line break and
// blanks; 0 if the text does not begin with that.
size_t ContinuationSize(std::string_view text) {
  if (!text.starts_with('\\')) return 0;
  const std::string_view rest = text.substr(1);
  const size_t end = rest.starts_with("\r\n")                           ? 2
                     : rest.starts_with('\n') || rest.starts_with('\r') ? 1
                                                                        : 0;
  return end == 0 ? 0 : 1 + end + BlanksAt(rest, end);
}

// True if the text is a pattern of MessageFormat: it has a number in braces,
// and every apostrophe twice.
bool IsMessagePattern(std::string_view raw) {
  bool argument = false;
  for (size_t at = 0; at < raw.size(); ++at) {
    if (raw[at] == '\'') {
      if (!raw.substr(at + 1).starts_with('\'')) return false;
      ++at;
    }
    argument |= raw[at] == '{' && at + 1 < raw.size() &&
                absl::ascii_isdigit(static_cast<unsigned char>(raw[at + 1]));
  }
  return argument;
}

std::string UnescapeValue(std::string_view raw) {
  std::string joined;
  while (!raw.empty()) {
    if (const size_t size = ContinuationSize(raw); size > 0) {
      raw.remove_prefix(size);
      continue;
    }
    const size_t size =
        raw.starts_with('\\') ? std::min<size_t>(2, raw.size()) : 1;
    joined += raw.substr(0, size);
    raw.remove_prefix(size);
  }
  return UnescapeProgram(joined);
}
std::string UnescapePattern(std::string_view raw) {
  return absl::StrReplaceAll(UnescapeValue(raw), {{"''", "'"}});
}

std::string EscapeValue(std::string_view text) {
  std::string out =
      absl::StrReplaceAll({text.data(), text.size()}, {{"\\", "\\\\"},
                                                       {"\n", "\\n"},
                                                       {"\r", "\\r"},
                                                       {"\t", "\\t"},
                                                       {"\f", "\\f"}});
  // At the beginning of a value blanks would not count.
  if (out.starts_with(' ')) out.insert(0, "\\");
  return out;
}

// Returns the size of the text without blanks and joints of lines at its end.
size_t SizeOfContent(std::string_view text) {
  size_t content = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t joint = ContinuationSize(text.substr(at));
    if (joint > 0) {
      at += joint;
      continue;
    }
    const bool blank = kBlanks.find(text[at]) != kBlanks.npos;
    at = std::min(text.size(), at + (text[at] == '\\' ? 2 : 1));
    if (!blank) content = at;
  }
  return content;
}

// Writes values. `pattern`: of MessageFormat. `ascii`: other characters become
// \u00E4.
WriteSegment WriteValue(bool pattern, bool ascii) {
  return Joined([pattern, ascii](std::string_view text) {
    std::string out(text);
    if (pattern) out = absl::StrReplaceAll(out, {{"'", "''"}});
    out = EscapeValue(out);
    return ascii ? EscapeToAscii(out) : out;
  });
}

class PropertiesReader {
 public:
  PropertiesReader(std::string_view text, bool ascii)
      : text_(text),
        ascii_(ascii),
        lines_(text),
        builder_(WriteValue(/*pattern=*/false, ascii)) {}

  SegmentBuilder Read() {
    for (size_t at = 0; at < text_.size();) {
      const size_t end = EndOfLine(at);
      const std::string_view line = text_.substr(at, end - at);
      const size_t blanks = BlanksAt(line, 0);
      if (blanks < line.size() && line[blanks] != '#' && line[blanks] != '!') {
        const size_t end_of_entry = LogicalEnd(at);
        ReadEntry(at, end_of_entry);
        at = end_of_entry;
      } else {
        builder_.Literal(line);
        at = end;
      }
      builder_.Literal(TakeBreak(&at));
    }
    return std::move(builder_);
  }

 private:
  size_t EndOfLine(size_t at) const {
    return std::min(text_.find_first_of("\r\n", at), text_.size());
  }
  // The end of an entry, which may go on in further lines.
  size_t LogicalEnd(size_t at) const {
    while (at < text_.size() && text_[at] != '\r' && text_[at] != '\n') {
      const size_t size = ContinuationSize(text_.substr(at));
      at += size > 0 ? size : text_[at] == '\\' ? 2 : 1;
    }
    return std::min(at, text_.size());
  }
  std::string_view TakeBreak(size_t* at) const {
    const std::string_view rest = text_.substr(*at);
    const size_t size = rest.starts_with("\r\n") ? 2 : rest.empty() ? 0 : 1;
    *at += size;
    return rest.substr(0, size);
  }

  void ReadEntry(size_t begin, size_t end) {
    const std::string_view entry = text_.substr(begin, end - begin);
    size_t at = SkipBlanks(entry, 0);
    const size_t key = at;
    while (at < entry.size() &&
           kSeparators.find(entry[at]) == kSeparators.npos) {
      const size_t joint = ContinuationSize(entry.substr(at));
      at += joint > 0 ? joint : entry[at] == '\\' ? 2 : 1;
    }
    at = std::min(at, entry.size());
    const std::string name = UnescapeValue(entry.substr(key, at - key));
    at = SkipBlanks(entry, at);
    if (at < entry.size() && (entry[at] == '=' || entry[at] == ':')) {
      at = SkipBlanks(entry, at + 1);
    }
    builder_.Literal(entry.substr(0, at));
    builder_.Close();
    const std::string_view value = entry.substr(at);
    if (!value.empty()) {
      AddValue(value, lines_.Place(begin) + " (" + Shorten(name) + ")");
    }
  }

  // Skips blanks and joints of lines.
  static size_t SkipBlanks(std::string_view entry, size_t at) {
    while (at < entry.size()) {
      const size_t size =
          BlanksAt(entry, at) +
          ContinuationSize(entry.substr(at + BlanksAt(entry, at)));
      if (size == 0) break;
      at += size;
    }
    return at;
  }

  void AddValue(std::string_view value, const std::string& place) {
    // Plurals of ICU, in one line.
    if (value.find("\\\n") == value.npos && value.find("\\\r") == value.npos &&
        !SplitIcuMessage(value).empty()) {
      return AddEscapedString(&builder_, value, place, UnescapeValue);
    }
    const bool pattern = IsMessagePattern(value);
    const WriteSegment write = WriteValue(pattern, ascii_);
    while (!value.empty()) {
      const EscapedLine escaped = NextEscapedLine(&value);
      const std::string_view line = escaped.text;
      const size_t lead = SkipBlanks(line, 0);
      const size_t end = std::max(lead, SizeOfContent(line));
      builder_.Literal(line.substr(0, lead));
      AddTagged(&builder_, line.substr(lead, end - lead), place,
                HtmlTagOfStrings(), pattern ? UnescapePattern : UnescapeValue,
                Margin::kEscapes);
      builder_.Literal(line.substr(end));
      builder_.Close(write);
      builder_.Literal(escaped.end);
      builder_.Close();
    }
  }

  static constexpr std::string_view kSeparators = " \t\f=:";

  const std::string_view text_;
  const bool ascii_;
  const LinePlaces lines_;
  SegmentBuilder builder_;
};

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadProperties(
    std::string_view data, const DocumentOptions& options) {
  // Since Java 9: UTF-8, or else ISO-8859-1.
  std::string encoding = options.encoding;
  if (encoding.empty() && !IsUtf8(data)) encoding = kLatin1;
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source, DecodeDocument(data, encoding));
  // A program may read a file that is all ASCII in either encoding.
  const bool ascii = source.encoding != "utf-8" || IsAscii(source.text);
  SegmentBuilder builder = PropertiesReader(source.text, ascii).Read();
  return NewTextDocument(std::move(source), std::move(builder));
}

}  // namespace trivium
