// SubRip (.srt) and WebVTT (https://www.w3.org/TR/webvtt1/): numbers, times,
// notes, styles and tags (<i>, {\an8}, <v Anna>) stay.
#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "base/utf8.h"
#include "server/documents/entities.h"
#include "server/documents/escaped_strings.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"

namespace trivium {
namespace {

constexpr std::string_view kDashes[] = {"-", "–", "—"};

struct SubtitleKind {
  RE2 times;
  RE2 tag;
  const char* missing;  // what a file without a cue is told
  bool escapes;         // &amp; and the like
};

const SubtitleKind& Srt() {
  static const SubtitleKind& kind = *new SubtitleKind{
      RE2(R"([ \t]*\d+:\d+:\d+[,.]\d+[ \t]*-->[ \t]*\d+:\d+:\d+[,.]\d+)"),
      RE2(R"(<(/?)([a-zA-Z][^\s<>]*)[^<>]*>|\{\\[^{}]*\})"),
      "line 1: it has no cue (HH:MM:SS,mmm --> HH:MM:SS,mmm)", false};
  return kind;
}

const SubtitleKind& Vtt() {
  static const SubtitleKind& kind = *new SubtitleKind{
      RE2(R"([ \t]*(?:\d+:)?\d+:\d+\.\d+[ \t]*-->[ \t]*(?:\d+:)?\d+:\d+\.\d+)"),
      RE2(R"(<(/?)([a-zA-Z][^\s<>.]*)[^<>]*>|<[^<>]*>)"),
      "line 1: it has no cue (MM:SS.mmm --> MM:SS.mmm)", true};
  return kind;
}

std::string DecodeVtt(std::string_view raw) {
  return absl::StrReplaceAll({raw.data(), raw.size()},
                             {{"&lt;", "<"},
                              {"&gt;", ">"},
                              {"&nbsp;", "\xC2\xA0"},
                              {"&lrm;", "\xE2\x80\x8E"},
                              {"&rlm;", "\xE2\x80\x8F"},
                              {"&amp;", "&"}});
}

// Splits at spaces, but not at those in tags.
std::vector<std::string_view> Words(std::string_view text) {
  std::vector<size_t> spaces;  // from the last to the first
  bool in_tag = false, in_code = false;
  for (size_t i = text.size(); i-- > 0;) {
    if (text[i] == '<' || text[i] == '>') in_tag = text[i] == '>';
    if (text[i] == '{' || text[i] == '}') in_code = text[i] == '}';
    if (text[i] == ' ' && !in_tag && !in_code) spaces.push_back(i);
  }
  std::vector<std::string_view> words;
  size_t begin = 0;
  for (auto space = spaces.rbegin(); space != spaces.rend(); ++space) {
    words.push_back(text.substr(begin, *space - begin));
    begin = *space + 1;
  }
  words.push_back(text.substr(begin));
  return words;
}

// Lengths of words without their tags, joined by spaces.
class WordLengths {
 public:
  WordLengths(const std::vector<std::string_view>& words,
              const SubtitleKind& kind) {
    for (const std::string_view word : words) {
      std::string bare(word);
      RE2::GlobalReplace(&bare, kind.tag, "");
      if (kind.escapes) bare = DecodeVtt(bare);
      sums_.push_back(sums_.back() + CountCharacters(bare) + 1);
    }
  }
  // Length of the words [begin, end).
  double Length(size_t begin, size_t end) const {
    return end > begin ? static_cast<double>(sums_[end] - sums_[begin] - 1) : 0;
  }

 private:
  std::vector<size_t> sums_ = {0};
};

// Writes a segment in as many lines as it had, about equally long.
std::string WriteCue(const SubtitleKind& kind, const DocumentSegment& segment,
                     const std::vector<DocumentPart>& parts) {
  std::string raw, joined;
  for (const DocumentItem& item : segment.items) raw += item.raw;
  for (const DocumentPart& part : parts) {
    joined += part.mark != nullptr ? part.mark->raw
              : kind.escapes       ? EscapeMarkup(part.text)
                                   : part.text;
  }
  std::vector<std::string_view> breaks;
  for (const std::string_view line : SplitLines(raw)) {
    if (!BreakOf(line).empty()) breaks.push_back(BreakOf(line));
  }
  const std::string text = Collapse(joined);
  const std::vector<std::string_view> words = Words(text);
  const WordLengths lengths(words, kind);
  std::string out;
  size_t at = 0;
  for (size_t left = breaks.size() + 1; at < words.size(); --left) {
    size_t end = left == 1 ? words.size() : at + 1;
    const double goal =
        lengths.Length(at, words.size()) / static_cast<double>(left);
    while (end < words.size() && lengths.Length(at, end + 1) - goal <=
                                     goal - lengths.Length(at, end)) {
      ++end;
    }
    if (at > 0) out += breaks[breaks.size() - left];
    for (size_t i = at; i < end; ++i) {
      if (i > at) out += ' ';
      out += words[i];
    }
    at = end;
  }
  return out;
}

// Returns the size of the white space and dashes that a line of a dialogue
// begins with.
size_t DashSize(std::string_view line) {
  size_t at = LeadingSpace(line);
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view dash : kDashes) {
      if (!line.substr(at).starts_with(dash)) continue;
      at += dash.size();
      more = true;
    }
  }
  return at;
}

bool IsSpoken(std::string_view line) {
  line.remove_prefix(LeadingSpace(line));
  for (const std::string_view dash : kDashes) {
    if (line.starts_with(dash)) return true;
  }
  return false;
}

// Returns the size of the ">>" that a row begins with if another person speaks
// from there on, and of the white space around it.
size_t ChangeSize(std::string_view row) {
  static const RE2& change = *new RE2(R"(\s*(?:>|&gt;){2,3}(?:[^\S\r\n]+|$))");
  re2::StringPiece found;
  return change.Match({row.data(), row.size()}, 0, row.size(),
                      RE2::ANCHOR_START, &found, 1)
             ? found.size()
             : 0;
}

// True if a row of a cue does not go on with the sentence of the row before:
// "[door opens]", "(LAUGHS)", "♪ La la", "ANNA: Yes.", ">> Yes."
bool BeginsAnew(const SubtitleKind& kind, std::string_view row) {
  if (ChangeSize(row) > 0) return true;
  std::string bare(row);
  RE2::GlobalReplace(&bare, kind.tag, "");
  static const RE2& mark =
      *new RE2(R"(\s*(?:\[|[♪♫]|\(.*\)\s*$|\p{Lu}[\p{Lu}\pN .'’-]*:(?:\s|$)))");
  return mark.Match(bare, 0, bare.size(), RE2::ANCHOR_START, nullptr, 0);
}

// True if a row of a cue is "[door opens]" or "(LAUGHS)", or ends a song.
bool IsComplete(const SubtitleKind& kind, std::string_view row) {
  std::string bare(row);
  RE2::GlobalReplace(&bare, kind.tag, "");
  static const RE2& complete =
      *new RE2(R"(\s*(?:\[[^\]]*\]|\([^)]*\)|.*[♪♫])\s*)");
  return RE2::FullMatch(bare, complete);
}

void AddCue(const SubtitleKind& kind, std::string_view cue,
            const std::string& place, SegmentBuilder* builder) {
  const DecodeText decode = kind.escapes ? DecodeText(DecodeVtt) : nullptr;
  const std::vector<std::string_view> rows = SplitLines(cue);
  const bool dialogue = std::any_of(rows.begin(), rows.end(), IsSpoken);
  for (size_t i = 0; i < rows.size();) {
    size_t size = rows[i].size(), end = i + 1;
    while (end < rows.size() && !dialogue && !IsComplete(kind, rows[end - 1]) &&
           !BeginsAnew(kind, rows[end])) {
      size += rows[end++].size();
    }
    const std::string_view text(rows[i].data(), size);
    const size_t dash = dialogue ? DashSize(text) : ChangeSize(text);
    builder->Literal(text.substr(0, dash));
    AddTagged(builder, text.substr(dash), place, kind.tag, decode);
    builder->Close();
    i = end;
  }
}

absl::StatusOr<std::unique_ptr<Document>> ReadSubtitles(
    const SubtitleKind& kind, std::string_view data,
    const std::string& encoding) {
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source, DecodeDocument(data, encoding));
  SegmentBuilder builder(
      [&kind](const auto& segment, const auto& parts, size_t) {
        return WriteCue(kind, segment, parts);
      });
  const std::vector<std::string_view> lines = SplitLines(source.text);
  const LinePlaces places(source.text);
  const auto is_times = [&](size_t at) {
    return at < lines.size() &&
           kind.times.Match({lines[at].data(), lines[at].size()}, 0,
                            lines[at].size(), RE2::ANCHOR_START, nullptr, 0);
  };
  const auto is_number = [&](size_t at) {
    const std::string_view line = lines[at];
    return !IsSpaces(line) && std::all_of(line.begin(), line.end(), [](char c) {
      return absl::ascii_isdigit(c) || absl::ascii_isspace(c);
    });
  };
  // Some files have no empty line before the next cue.
  const auto ends_cue = [&](size_t at) {
    return IsSpaces(lines[at]) || is_times(at) ||
           (is_number(at) && is_times(at + 1));
  };
  bool found = false;
  for (size_t at = 0; at < lines.size();) {
    // Some texts of SubRip have empty lines; WebVTT has notes and styles there.
    const bool goes_on =
        found && !kind.escapes && !ends_cue(at) && !is_times(at + 1);
    if (!goes_on) {
      builder.Literal(lines[at]);
      if (!is_times(at++)) continue;
      found = true;
    }
    builder.Close();
    const size_t first = at;
    size_t size = 0;
    for (; at < lines.size() && !ends_cue(at); ++at) size += lines[at].size();
    if (size == 0) continue;
    const size_t begin =
        static_cast<size_t>(lines[first].data() - source.text.data());
    AddCue(kind, std::string_view(source.text).substr(begin, size),
           places.Place(begin), &builder);
  }
  if (!found && !IsSpaces(source.text)) {
    return absl::InvalidArgumentError(kind.missing);
  }
  return NewTextDocument(std::move(source), std::move(builder));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadSrt(
    std::string_view data, const DocumentOptions& options) {
  return ReadSubtitles(Srt(), data, options.encoding);
}

absl::StatusOr<std::unique_ptr<Document>> ReadVtt(
    std::string_view data, const DocumentOptions& options) {
  return ReadSubtitles(Vtt(), data, "");
}

}  // namespace trivium
