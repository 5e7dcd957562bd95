// OpenDocument 1.3: .odt, .ods and .odp
// (https://docs.oasis-open.org/office/OpenDocument/v1.3/).
//
// A paragraph may have whole paragraphs within: notes, comments and frames.
// These are texts of their own, so the outer text has one mark for each, and
// they follow the outermost paragraph in the builder:
//
//   <text:p>Hello[1]</text:p>{1 <text:note>...</text:note>}
//
// Render puts each back into its mark. The brackets are kUnusedBytes, so
// nothing in a document or a translation can look like them.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "server/documents/entities.h"
#include "server/documents/package_document.h"
#include "server/documents/readers.h"
#include "server/documents/segment_builder.h"
#include "server/documents/text_lines.h"
#include "server/documents/xml_tokens.h"

namespace trivium {
namespace {

using Kind = DocumentItem::Kind;
using Tokens = std::vector<XmlToken>;

constexpr char kMarkBegin = kUnusedBytes[0], kMarkEnd = kUnusedBytes[1];
constexpr char kInnerBegin = kUnusedBytes[2], kInnerText = kUnusedBytes[3],
               kInnerEnd = kUnusedBytes[4];

constexpr char kContent[] = "content.xml";
constexpr char kStyles[] = "styles.xml";
constexpr char kManifest[] = "META-INF/manifest.xml";

bool IsParagraph(std::string_view name) {
  return name == "text:p" || name == "text:h";
}
// Elements around words.
bool IsInline(std::string_view name) {
  return name == "text:span" || name == "text:a" || name == "text:meta" ||
         name == "text:ruby" || name == "text:ruby-base";
}
// Elements at a place, which stand for no word.
bool IsAtPlace(std::string_view name) {
  for (const std::string_view begin :
       {"text:bookmark", "text:reference-mark", "text:soft-page-break",
        "text:change", "text:toc-mark", "text:alphabetical-index-mark",
        "text:user-index-mark", "text:note", "text:ruby-text",
        "office:annotation", "draw:"}) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}
bool IsBreak(std::string_view name) {
  return name == "text:tab" || name == "text:line-break";
}

class OdfReader {
 public:
  // `page`: only what is in headers and footers.
  OdfReader(const std::string& part, const Tokens& tokens, bool page)
      : part_(part), tokens_(tokens), page_(page) {}

  SegmentBuilder Read() {
    Blocks(0, tokens_.size());
    builder_.Close();
    return std::move(builder_);
  }

 private:
  // Reads elements outside of paragraphs.
  void Blocks(size_t begin, size_t end) {
    for (size_t at = begin; at < end; ++at) {
      const XmlToken& token = tokens_[at];
      if (token.opens() && (IsLeftOut(token.name) || IsFixedCell(token))) {
        const size_t last = EndOfElement(tokens_, at);
        builder_.Literal(Raw(at, last));
        at = last;
      } else if (token.kind == XmlToken::Kind::kOpen &&
                 IsParagraph(token.name) && IsRead()) {
        const size_t last = EndOfElement(tokens_, at);
        Paragraph(at, last);
        at = last;
      } else {
        if (page_ && IsPageText(token.name)) page_depth_ += token.depth();
        builder_.Literal(token.raw);
      }
    }
  }

  bool IsRead() const { return !page_ || page_depth_ > 0; }
  static bool IsPageText(std::string_view name) {
    return name == "style:header" || name == "style:header-left" ||
           name == "style:header-first" || name == "style:footer" ||
           name == "style:footer-left" || name == "style:footer-first";
  }
  // Deleted text and comments.
  static bool IsLeftOut(std::string_view name) {
    return name == "text:tracked-changes" || name == "office:annotation";
  }
  // A cell whose text programs make of a value or a formula.
  static bool IsFixedCell(const XmlToken& token) {
    if (token.name != "table:table-cell" &&
        token.name != "table:covered-table-cell") {
      return false;
    }
    const std::string type = token.Attribute("office:value-type");
    return token.HasAttribute("table:formula") ||
           token.HasAttribute("office:string-value") ||
           (!type.empty() && type != "string");
  }

  // Reads a paragraph, then those within it.
  void Paragraph(size_t open, size_t close) {
    const bool outermost = !in_paragraph_;
    in_paragraph_ = true;
    builder_.Close();
    builder_.Literal(tokens_[open].raw);
    builder_.Close();
    const std::string place =
        fmt::format("{}, paragraph {}", part_, ++paragraph_);
    for (size_t at = open + 1; at < close; ++at) at = Item(at, place);
    builder_.Close();
    builder_.Literal(tokens_[close].raw);
    builder_.Close();
    if (!outermost) return;
    while (!inner_.empty()) {
      const Inner inner = inner_.front();
      inner_.pop_front();
      builder_.Literal(
          fmt::format("{}{}{}", kInnerBegin, inner.number, kInnerText));
      Blocks(inner.first, inner.last + 1);
      builder_.Close();
      builder_.Literal(std::string(1, kInnerEnd));
    }
    in_paragraph_ = false;
  }

  // Reads what is at a place of a paragraph; returns its last token.
  size_t Item(size_t at, const std::string& place) {
    const XmlToken& token = tokens_[at];
    if (token.kind == XmlToken::Kind::kText) {
      builder_.Text(token.raw, place, DecodeXml);
      return at;
    }
    if (token.kind == XmlToken::Kind::kCdata) {
      builder_.Item({Kind::kText, std::string(token.raw), token.Text()}, place);
      return at;
    }
    if (IsInline(token.name) && token.kind != XmlToken::Kind::kEmpty) {
      builder_.Mark(token.depth() > 0 ? Kind::kOpen : Kind::kClose, token.raw,
                    std::string(token.name));
      return at;
    }
    if (!token.opens()) {  // a comment
      builder_.Mark(Kind::kVoid, token.raw);
      return at;
    }
    const size_t last = EndOfElement(tokens_, at);
    if (token.name == "text:s") {  // spaces
      builder_.Item({Kind::kText, Raw(at, last), " "}, place);
    } else if (IsBreak(token.name)) {
      builder_.Close();
      builder_.Literal(Raw(at, last));
      builder_.Close();
    } else if (!IsLeftOut(token.name) &&
               std::any_of(
                   tokens_.begin() + static_cast<long>(at),
                   tokens_.begin() + static_cast<long>(last),
                   [](const XmlToken& one) { return IsParagraph(one.name); })) {
      builder_.Mark(Kind::kVoid,
                    fmt::format("{}{}{}", kMarkBegin, inners_, kMarkEnd));
      inner_.push_back({inners_++, at, last});
    } else {
      // A field, such as a date, stands for a word.
      builder_.Mark(
          IsAtPlace(token.name) || token.kind == XmlToken::Kind::kEmpty
              ? Kind::kVoid
              : Kind::kKept,
          Raw(at, last));
    }
    return last;
  }

  std::string Raw(size_t begin, size_t end) const {
    const std::string_view first = tokens_[begin].raw;
    const std::string_view last = tokens_[end].raw;
    return std::string(
        first.data(),
        static_cast<size_t>(last.data() - first.data()) + last.size());
  }

  struct Inner {
    size_t number, first, last;
  };

  const std::string part_;
  const Tokens& tokens_;
  const bool page_;
  int page_depth_ = 0;
  SegmentBuilder builder_{Joined(
      [](std::string_view text) { return EscapeMarkup(Unmarked(text)); })};
  size_t paragraph_ = 0;
  bool in_paragraph_ = false;
  size_t inners_ = 0;
  std::deque<Inner> inner_;  // of the outermost paragraph, still to be read
};

// Puts the paragraphs within others back into their marks.
class InnerParts {
 public:
  // `text` outlives this object.
  explicit InnerParts(std::string_view text) {
    while (!text.empty()) {
      const size_t begin = std::min(text.find(kInnerBegin), text.size());
      outer_.push_back(text.substr(0, begin));
      text.remove_prefix(begin);
      if (text.empty()) break;
      const size_t end = std::min(text.find(kInnerEnd), text.size() - 1);
      const size_t middle = std::min(text.find(kInnerText), end - 1);
      // They come in the order of their numbers.
      parts_.push_back(text.substr(middle + 1, end - middle - 1));
      text.remove_prefix(end + 1);
    }
  }

  std::string Joined() const {
    std::string out;
    for (const std::string_view text : outer_) Add(text, &out);
    return out;
  }

 private:
  // Recurses as deeply as elements nest, which XmlTokensOf bounds.
  void Add(std::string_view text, std::string* out) const {
    while (!text.empty()) {
      const size_t begin = std::min(text.find(kMarkBegin), text.size());
      *out += text.substr(0, begin);
      text.remove_prefix(begin);
      if (text.empty()) break;
      const size_t end = std::min(text.find(kMarkEnd), text.size() - 1);
      size_t number = 0;
      if (absl::SimpleAtoi(absl::string_view(text.data() + 1, end - 1),
                           &number) &&
          number < parts_.size()) {
        Add(parts_[number], out);
      }
      text.remove_prefix(end + 1);
    }
  }

  std::vector<std::string_view> outer_;
  std::vector<std::string_view> parts_;  // by their numbers
};

// A part in XML.
class OdfPart final : public Document {
 public:
  OdfPart(DecodedText source, SegmentBuilder builder)
      : source_(std::move(source)), builder_(std::move(builder)) {}

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
    return source_.Encode(InnerParts(text).Joined(),
                          DecodedText::Missing::kReference);
  }

 private:
  const DecodedText source_;
  const SegmentBuilder builder_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadOpenDocument(
    std::string_view data, const DocumentOptions& options) {
  auto package = ZipPackage::Open(data);
  const auto not_it = [](const absl::Status& status) {
    return InPart("this is not an OpenDocument file", status);
  };
  if (!package.ok()) return not_it(package.status());
  auto document = std::make_unique<PackageDocument>(data);
  const std::vector<std::string> names = package->Names();
  size_t tokens_left = kMostXmlTokens;
  const auto has = [&names](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  bool encrypted = has("encrypted-package");  // all of it, since ODF 1.4
  if (has(kManifest)) {
    TRIVIUM_ASSIGN_OR_RETURN(const std::string manifest,
                             package->Read(kManifest));
    encrypted |= manifest.find(":encryption-data") != manifest.npos;
  }
  if (encrypted) {
    return absl::InvalidArgumentError(
        "it is encrypted with a password; save it without one");
  }
  for (const char* const name : {kContent, kStyles}) {
    if (!has(name)) {
      if (name == std::string_view(kStyles)) continue;
      return not_it(
          absl::InvalidArgumentError(fmt::format("it has no {}", name)));
    }
    TRIVIUM_ASSIGN_OR_RETURN(DecodedText source, ReadXmlPart(name, &*package));
    const auto tokens = XmlTokensOf(source.text, tokens_left);
    if (!tokens.ok()) return InPart(name, tokens.status());
    tokens_left -= tokens->size();
    const auto root =
        std::find_if(tokens->begin(), tokens->end(),
                     [](const XmlToken& token) { return token.opens(); });
    if (root->Attribute("xmlns:text") !=
        "urn:oasis:names:tc:opendocument:xmlns:text:1.0") {
      return InPart(name, absl::InvalidArgumentError(
                              "its elements are not those of OpenDocument "
                              "(xmlns:text)"));
    }
    SegmentBuilder builder =
        OdfReader(name, *tokens, name == std::string_view(kStyles)).Read();
    TRIVIUM_RETURN_IF_ERROR(InPart(name, builder.status()));
    TRIVIUM_RETURN_IF_ERROR(document->Add(
        name,
        std::make_unique<OdfPart>(std::move(source), std::move(builder))));
  }
  return document;
}

}  // namespace trivium
