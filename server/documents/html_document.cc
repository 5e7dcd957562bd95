// HTML, also in a book's chapters.
#include "server/documents/html_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "server/documents/entities.h"
#include "server/documents/html_tokens.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"

namespace trivium {
namespace {

using Kind = DocumentItem::Kind;
using Names = absl::flat_hash_set<std::string>;

Names NamesOf(std::string_view words) {
  return absl::StrSplit(absl::string_view(words.data(), words.size()), ' ');
}

const Names& Inline() {
  static const Names& names = *new Names(NamesOf(
      "a abbr acronym b bdi bdo big cite data del dfn em font i img ins label "
      "mark picture q rb rp rt ruby s small source span strike strong sub sup "
      "time tt u wbr"));
  return names;
}
bool IsRaw(const std::string& name) {
  static const Names& names =
      *new Names(NamesOf("script style xmp iframe noembed noframes template"));
  return names.contains(name);
}
// Elements whose content stays. In a text they stand for a word (IsName), stand
// for nothing, or end the text.
bool IsName(const std::string& name) {
  static const Names& names = *new Names(NamesOf("code kbd math samp var"));
  return names.contains(name);
}
bool IsSkipped(const std::string& name) {
  return IsName(name) || name == "pre" || name == "svg";
}
bool IsInText(const std::string& name) {
  return Inline().contains(name) || IsName(name) || name == "svg";
}
bool IsEmpty(const std::string& name) {
  static const Names& names = *new Names(NamesOf(
      "area base br col embed hr img input link meta param source track wbr"));
  return names.contains(name);
}
bool IsRead(const std::string& attribute) {
  static const Names& names =
      *new Names(NamesOf("alt title placeholder aria-label aria-description"));
  return names.contains(attribute);
}
bool IsReadMeta(const std::string& name) {
  return name == "description" || name == "keywords" || name == "og:title" ||
         name == "og:description";
}

std::string DecodeHtmlText(std::string_view raw) {
  return DecodeEntities(raw, EntityNames::kHtml);
}
std::string EncodeHtmlText(std::string_view text) {
  return absl::StrReplaceAll(EscapeMarkup(text), {{"\xC2\xA0", "&nbsp;"}});
}
WriteSegment Quoted(char quote) {
  return Joined([quote](std::string_view text) {
    return absl::StrReplaceAll(
        {text.data(), text.size()},
        {{"&", "&amp;"},
         {"\xC2\xA0", "&nbsp;"},
         {absl::string_view(&quote, 1), quote == '"' ? "&quot;" : "&#39;"}});
  });
}

class HtmlReader {
 public:
  HtmlReader(std::string_view text, SegmentBuilder* builder)
      : builder_(*builder), text_(text), lines_(text) {}

  absl::Status Read() {
    HtmlScanner scanner(text_);
    size_t at = 0;
    HtmlToken token;
    while (scanner.Next(at, &token)) {
      AddText(at, token.begin);
      Tag(token);
      at = token.begin + token.raw.size();
      if (IsRaw(token.name) && !token.closes) {
        const size_t end = scanner.EndOfRaw(token.name, at);
        Stay(text_.substr(at, end - at));
        at = end;
      }
    }
    if (scanner.gave_up()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: too many tags have quotes that are not closed",
                      lines_.Place(at)));
    }
    AddText(at, text_.size());
    if (!skipped_.empty()) EndSkipped();
    builder_.Close();
    return absl::OkStatus();
  }

 private:
  void AddText(size_t begin, size_t end) {
    std::string_view raw = text_.substr(begin, end - begin);
    if (!skipped_.empty()) {
      kept_ += raw;
      return;
    }
    const std::string place = lines_.Place(begin);
    // Entities that are not known stand for a word.
    size_t at = 0;
    for (size_t next = raw.find('&'); next != raw.npos;) {
      const Entity entity = FirstEntity(raw.substr(next), EntityNames::kHtml);
      if (entity.size == 0 || entity.known) {
        next = raw.find('&', next + std::max<size_t>(entity.size, 1));
        continue;
      }
      builder_.Text(raw.substr(at, next - at), place, DecodeHtmlText,
                    Margin::kHtml);
      builder_.Mark(Kind::kKept, raw.substr(next, entity.size));
      at = next + entity.size;
      next = raw.find('&', at);
    }
    builder_.Text(raw.substr(at), place, DecodeHtmlText, Margin::kHtml);
  }

  void Stay(std::string_view raw) {
    if (skipped_.empty()) {
      builder_.Literal(raw);
    } else {
      kept_ += raw;
    }
  }

  // Ends an element whose content stays. It is part of a sentence unless it is
  // a block.
  void EndSkipped() {
    const std::string name = std::exchange(skipped_, "");
    const bool word = IsInText(name) && name != "svg";
    builder_.Mark(word ? Kind::kKept : Kind::kVoid,
                  std::exchange(kept_, std::string()));
    if (!IsInText(name)) builder_.Close();
  }

  // Returns true if the tag is part of an element whose content stays.
  bool Skip(const HtmlToken& token) {
    if (skipped_.empty()) return false;
    if (token.name == skipped_ && !token.raw.ends_with("/>")) {
      if (!token.closes && (token.name == "p" || token.name == "option")) {
        EndSkipped();  // this tag closes the skipped element
        return false;
      }
      depth_ += token.closes ? -1 : 1;
    }
    kept_ += token.raw;
    if (depth_ == 0) EndSkipped();
    return true;
  }

  void Tag(const HtmlToken& token) {
    if (Skip(token)) return;
    const std::string& name = token.name;
    if (!name.empty() && !IsInText(name)) builder_.Close();
    if (name.empty() || token.closes) {
      builder_.Mark(Inline().contains(name) ? Kind::kClose : Kind::kVoid,
                    token.raw, name);
      return;
    }
    const std::vector<HtmlAttribute> attributes = AttributesOf(token.raw);
    std::map<std::string, std::string> values;
    for (const HtmlAttribute& one : attributes) {
      values[one.name] = absl::AsciiStrToLower(std::string(one.bare()));
    }
    const bool empty = IsEmpty(name) || token.raw.ends_with("/>");
    const std::vector<std::string> classes = absl::StrSplit(
        values["class"], absl::ByAnyChar(" \t\r\n\f"), absl::SkipEmpty());
    const bool kept = IsSkipped(name) || values["translate"] == "no" ||
                      std::find(classes.begin(), classes.end(),
                                "notranslate") != classes.end();
    if (kept && !empty) {
      skipped_ = name;
      depth_ = 1;
      kept_ = token.raw;
    } else if (kept) {
      builder_.Literal(token.raw);
    } else {
      builder_.Mark(
          Inline().contains(name) && !empty ? Kind::kOpen : Kind::kVoid,
          Pieces(token, attributes, values), name);
    }
  }

  // Returns the pieces of a tag: attribute values that people read become
  // segments.
  std::vector<DocumentPiece> Pieces(
      const HtmlToken& token, const std::vector<HtmlAttribute>& attributes,
      std::map<std::string, std::string>& values) {
    const std::string& kind =
        values["name"].empty() ? values["property"] : values["name"];
    const std::string& type = values["type"];
    const bool button = type == "button" || type == "submit" || type == "reset";
    const std::string place = lines_.Place(token.begin);
    std::vector<DocumentPiece> pieces;
    size_t at = 0;
    for (const HtmlAttribute& one : attributes) {
      const bool wanted =
          IsRead(one.name) ||
          (token.name == "meta" && one.name == "content" && IsReadMeta(kind)) ||
          (token.name == "input" && one.name == "value" && button);
      const char quote = one.value.front();
      if (!wanted || (quote != '"' && quote != '\'')) continue;
      const size_t begin =
          static_cast<size_t>(one.value.data() - token.raw.data()) + 1;
      pieces.emplace_back(std::string(token.raw.substr(at, begin - at)));
      const std::string_view value = one.value.substr(1, one.value.size() - 2);
      for (DocumentPiece& piece : builder_.Alone(
               value, place, DecodeHtmlText, Quoted(quote), Margin::kHtml)) {
        pieces.push_back(std::move(piece));
      }
      at = begin + value.size();
    }
    pieces.emplace_back(std::string(token.raw.substr(at)));
    return pieces;
  }

  SegmentBuilder& builder_;
  const std::string_view text_;
  const LinePlaces lines_;
  // The element whose content stays, how many elements of its name are open,
  // and its raw text so far.
  std::string skipped_;
  int depth_ = 0;
  std::string kept_;
};

}  // namespace

absl::StatusOr<SegmentBuilder> ReadHtmlText(std::string_view text) {
  SegmentBuilder builder(Joined(EncodeHtmlText));
  TRIVIUM_RETURN_IF_ERROR(HtmlReader(text, &builder).Read());
  return builder;
}

absl::StatusOr<DecodedText> DecodeHtml(std::string_view data) {
  return DecodeDocument(
      data,
      XmlEncoding(data, DeclaredEncoding(data,
                                         R"((?i)<meta[^>]*?charset\s*=\s*["']?)"
                                         R"(([\w.:-]+))",
                                         "utf-8")));
}

absl::StatusOr<std::unique_ptr<Document>> ReadHtml(
    std::string_view data, const DocumentOptions& options) {
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source, DecodeHtml(data));
  TRIVIUM_ASSIGN_OR_RETURN(SegmentBuilder builder, ReadHtmlText(source.text));
  return NewTextDocument(std::move(source), std::move(builder),
                         DecodedText::Missing::kReference);
}

}  // namespace trivium
