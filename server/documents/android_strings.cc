// Android's string resources: <resources> with <string>, <string-array> and
// <plurals> (https://developer.android.com/guide/topics/resources/
// string-resource). Texts have XML's escapes around Android's (\n, \', \u00e4).
#include <fmt/format.h>
#include <re2/re2.h>
#include <unicode/uchar.h>

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
#include "server/documents/program_escapes.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"
#include "server/documents/xml_tokens.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using Kind = DocumentItem::Kind;
using Tokens = std::vector<XmlToken>;

constexpr std::string_view kCdataBegin = "<![CDATA[", kCdataEnd = "]]>";

// Tags that are written as text, for programs that read them as HTML.
const RE2& PlainTag() {
  static const RE2& tag = *new RE2(R"(<(/?)([a-zA-Z][^\s/<>]*)[^<>]*>)");
  return tag;
}

// Quotes without a backslash only hold white space.
std::string UnescapeAndroid(std::string_view raw) {
  return UnescapeProgram(raw, /*dropped=*/'"');
}
std::string UnescapeXmlAndroid(std::string_view raw) {
  return UnescapeAndroid(DecodeXml(raw));
}

std::string EscapeAndroid(std::string_view text) {
  std::string out =
      absl::StrReplaceAll({text.data(), text.size()}, {{"\\", "\\\\"},
                                                       {"'", "\\'"},
                                                       {"\"", "\\\""},
                                                       {"\n", "\\n"},
                                                       {"\t", "\\t"}});
  // At the beginning they would name another resource.
  if (out.starts_with('@') || out.starts_with('?')) out.insert(0, "\\");
  return out;
}
std::string EscapeXmlAndroid(std::string_view text) {
  return EscapeMarkup(EscapeAndroid(text));
}
std::string EscapeCdataAndroid(std::string_view text) {
  return absl::StrReplaceAll(EscapeAndroid(text), {{"]]>", "]]]]><![CDATA[>"}});
}

class AndroidReader {
 public:
  AndroidReader(std::string_view text, const Tokens& tokens)
      : lines_(text), tokens_(tokens) {}

  absl::StatusOr<SegmentBuilder> Read() {
    size_t at = 0;
    while (at < tokens_.size() && !tokens_[at].opens()) Copy(at++);
    if (at == tokens_.size() || tokens_[at].name != "resources") {
      return absl::InvalidArgumentError(fmt::format(
          "{}: this is not a file of Android's strings: <{}> instead of "
          "<resources>; name the format xml to translate it as any XML",
          lines_.Place(at < tokens_.size() ? tokens_[at].begin : 0),
          at < tokens_.size() ? Shorten(tokens_[at].name) : ""));
    }
    ReadList(at, EndOfElement(tokens_, at));
    for (at = EndOfElement(tokens_, at) + 1; at < tokens_.size(); ++at) {
      Copy(at);
    }
    return std::move(builder_);
  }

 private:
  void Copy(size_t at) { builder_.Literal(tokens_[at].raw); }

  // Reads the strings in a list, or an array or the forms of a plural in one.
  void ReadList(size_t open, size_t close) {
    const bool outer = tokens_[open].name == "resources";
    const std::string_view name = tokens_[open].name;
    Copy(open);
    for (size_t at = open + 1; at < close; ++at) {
      const XmlToken& token = tokens_[at];
      if (!token.opens()) {
        Copy(at);
        continue;
      }
      const size_t end = EndOfElement(tokens_, at);
      const bool list = token.name == "string-array" || token.name == "plurals";
      const bool string = outer ? token.name == "string"
                                : token.name == "item" && name != "string";
      if (token.Attribute("translatable") == "false" ||
          token.Attribute("translate") == "false" ||
          !(string || (outer && list))) {
        for (size_t i = at; i <= end; ++i) Copy(i);
      } else if (string) {
        ReadString(at, end);
      } else {
        ReadList(at, end);
      }
      at = end;
    }
    if (close > open) Copy(close);
  }

  void ReadString(size_t open, size_t close) {
    std::string name = tokens_[open].Attribute("name");
    if (name.empty()) name = tokens_[open].Attribute("quantity");
    const std::string place =
        fmt::format("{} ({})", lines_.Place(tokens_[open].begin),
                    Shorten(name.empty() ? "item" : name));
    Copy(open);
    builder_.Close();
    if (const size_t cdata = OnlyCdata(open, close); cdata != 0) {
      for (size_t at = open + 1; at < close; ++at) {
        if (at != cdata) {
          Copy(at);
          continue;
        }
        std::string_view raw = tokens_[at].raw;
        raw.remove_prefix(kCdataBegin.size());
        raw.remove_suffix(kCdataEnd.size());
        builder_.Literal(kCdataBegin);
        AddLines(raw, place, PlainTag(), UnescapeAndroid, EscapeCdataAndroid);
        builder_.Literal(kCdataEnd);
      }
    } else if (IsReference(open, close)) {
      for (size_t at = open + 1; at < close; ++at) Copy(at);
    } else {
      ReadContent(open + 1, close, place);
    }
    builder_.Close();
    if (close > open) Copy(close);
  }

  // The place of the only token with words, if that is CDATA; else 0.
  size_t OnlyCdata(size_t open, size_t close) const {
    size_t found = 0;
    for (size_t at = open + 1; at < close; ++at) {
      if (tokens_[at].kind == XmlToken::Kind::kCdata && found == 0) {
        found = at;
      } else if (tokens_[at].kind != XmlToken::Kind::kText ||
                 !IsSpaces(tokens_[at].raw)) {
        return 0;
      }
    }
    return found;
  }

  // "@string/other", "?attr/title"
  bool IsReference(size_t open, size_t close) const {
    if (close != open + 2 || tokens_[open + 1].kind != XmlToken::Kind::kText) {
      return false;
    }
    const std::string_view text = StripSpace(tokens_[open + 1].raw);
    return text.size() > 1 && (text[0] == '@' || text[0] == '?') &&
           text.find_first_of(" \t\r\n") == text.npos &&
           text.find('/') != text.npos;
  }

  void ReadContent(size_t begin, size_t end, const std::string& place) {
    for (size_t at = begin; at < end; ++at) {
      const XmlToken& token = tokens_[at];
      if (token.kind == XmlToken::Kind::kText) {
        AddLines(token.raw, place, EscapedHtmlTag(), UnescapeXmlAndroid,
                 EscapeXmlAndroid, /*last=*/false);
      } else if (token.opens() && token.local_name() == "g" &&
                 token.prefix() == "xliff:") {
        const size_t last = EndOfElement(tokens_, at);
        std::string raw;
        for (size_t i = at; i <= last; ++i) raw += tokens_[i].raw;
        builder_.Mark(Kind::kKept, raw);
        at = last;
      } else if (token.kind == XmlToken::Kind::kCdata) {
        builder_.Mark(Kind::kKept, token.raw);
      } else {
        builder_.Mark(token.depth() > 0   ? Kind::kOpen
                      : token.depth() < 0 ? Kind::kClose
                                          : Kind::kVoid,
                      token.raw, std::string(token.name));
      }
    }
    builder_.Close(Joined(EscapeXmlAndroid));
  }

  // True if the line has quotes around it, and none but escaped ones within.
  static bool IsQuoted(std::string_view line) {
    if (line.size() < 2 || line.front() != '"') return false;
    for (size_t at = 1; at < line.size(); ++at) {
      if (line[at] == '"') return at + 1 == line.size();
      if (line[at] == '\\') ++at;
    }
    return false;
  }

  // Adds a text whose lines are texts of their own. Quotes around it stay.
  // `last`: nothing more belongs to its last line.
  void AddLines(std::string_view raw, const std::string& place, const RE2& tag,
                const DecodeText& decode,
                std::string (*encode)(std::string_view), bool last = true) {
    const size_t lead = LeadingSpace(raw);
    const size_t trail = TrailingSpace(raw.substr(lead));
    const std::string_view bare = raw.substr(lead, raw.size() - lead - trail);
    const bool quoted = IsQuoted(bare);
    if (quoted) {
      builder_.Literal(raw.substr(0, lead + 1));
      raw = bare.substr(1, bare.size() - 2);
    }
    while (!raw.empty()) {
      const EscapedLine line = NextEscapedLine(&raw);
      AddTagged(&builder_, line.text, place, tag, decode, Margin::kEscapes);
      if (line.end.empty()) break;
      builder_.Close(Joined(encode));
      builder_.Literal(line.end);
      builder_.Close();
    }
    if (quoted) {
      builder_.Literal("\"");
      builder_.Literal(TailOf(bare, trail));
    }
    if (last) builder_.Close(Joined(encode));
  }
  // The `size` bytes behind a part of a text.
  static std::string_view TailOf(std::string_view part, size_t size) {
    return {part.data() + part.size(), size};
  }

  const LinePlaces lines_;
  const Tokens& tokens_;
  SegmentBuilder builder_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadAndroid(
    std::string_view data, const DocumentOptions& options) {
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source,
                           DecodeDocument(data, XmlEncoding(data)));
  TRIVIUM_ASSIGN_OR_RETURN(const Tokens tokens, XmlTokensOf(source.text));
  TRIVIUM_ASSIGN_OR_RETURN(SegmentBuilder builder,
                           AndroidReader(source.text, tokens).Read());
  return NewTextDocument(std::move(source), std::move(builder),
                         DecodedText::Missing::kReference);
}

}  // namespace trivium
