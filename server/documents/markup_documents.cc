// HTML and XML: parts in their own markup. The translator keeps the tags; this
// only finds where a page can be cut, and attributes that people read.
#include <fmt/format.h>
#include <unicode/uchar.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/utf8.h"
#include "server/documents/html_attributes.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"
#include "server/translation/markup_elements.h"
#include "server/translation/markup_lexer.h"

namespace trivium {
namespace {

bool HasLetter(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    if (u_isalpha(static_cast<UChar32>(first.value))) return true;
    text.remove_prefix(first.size);
  }
  return false;
}

std::string AsItIs(std::string_view text) { return std::string(text); }

void AddWhole(std::string_view raw, std::string place,
              SegmentBuilder* builder) {
  const size_t lead = LeadingSpace(raw);
  const size_t trail = TrailingSpace(raw.substr(lead));
  const std::string_view text = raw.substr(lead, raw.size() - lead - trail);
  builder->Literal(raw.substr(0, lead));
  builder->Whole({std::string(text), SegmentText::Format::kMarkup}, text,
                 std::move(place), Joined(AsItIs));
  builder->Literal(raw.substr(raw.size() - trail));
  builder->Close();
}

std::string_view RawOf(std::string_view text, const MarkupToken& token) {
  return text.substr(token.span.begin, token.span.end - token.span.begin);
}

// A page: parts of its text, then the different values of attributes. The
// translator returns a tag as it was, so equal tags get equal attributes.
class HtmlDocument final : public Document {
 public:
  // `where` stands before the places of texts.
  HtmlDocument(DecodedText source, const std::vector<MarkupToken>& tokens,
               std::string where)
      : source_(std::move(source)),
        where_(std::move(where)),
        lines_(source_.text) {
    Cut(tokens);
  }

  std::vector<const DocumentSegment*> segments() const override {
    std::vector<const DocumentSegment*> all;
    for (const auto* list : {&texts_.segments(), &values_.segments()}) {
      for (const DocumentSegment& one : *list) all.push_back(&one);
    }
    return all;
  }
  size_t bytes() const override { return source_.text.size(); }
  // An error if it has too many texts.
  absl::Status status() const {
    TRIVIUM_RETURN_IF_ERROR(texts_.status());
    return values_.status();
  }

  absl::StatusOr<std::string> Render(Translations translations) const override {
    const size_t count = texts_.segments().size();
    if (translations.size() != count + values_.segments().size()) {
      return absl::InternalError(
          "there is not one translation for each segment");
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        std::string page,
        texts_.Render(translations.first(count), MostRenderedBytes()));
    if (!tags_.empty()) {
      TRIVIUM_ASSIGN_OR_RETURN(
          page, WithAttributes(page, translations.subspan(count)));
    }
    return source_.Encode(page, DecodedText::Missing::kReference);
  }

 private:
  struct Value {
    size_t begin, end;  // in its tag
    size_t segment;     // of values_
  };

  // Cuts the page before the tags of blocks, where sentences end anyway.
  // Elements that are not translated stay in one part, so that each part says
  // of itself what stays.
  void Cut(const std::vector<MarkupToken>& tokens) {
    const std::string_view text = source_.text;
    size_t begin = 0;
    bool words = false;
    const auto add = [&](size_t end) {
      const std::string_view raw = text.substr(begin, end - begin);
      if (words) {
        AddWhole(raw, Place(begin + LeadingSpace(raw)), &texts_);
      } else {
        texts_.Literal(raw);
        texts_.Close();
      }
      begin = end;
      words = false;
    };
    for (size_t i = 0; i < tokens.size(); ++i) {
      const MarkupToken& token = tokens[i];
      if (token.kind == MarkupToken::Kind::kText)
        words |= HasLetter(RawOf(text, token));
      if (token.kind != MarkupToken::Kind::kStart) continue;
      const ElementRole role = RoleOf(token.name);
      const bool ends =
          role == ElementRole::kBlock || role == ElementRole::kListing;
      if (words && ends) add(token.span.begin);
      const bool stays = token.untranslated || (role != ElementRole::kInline &&
                                                role != ElementRole::kBlock);
      if (!stays) {
        AddAttributes(token);
      } else if (token.partner != MarkupToken::kNone && token.partner > i) {
        i = token.partner;
      }
    }
    add(text.size());
  }

  std::string Place(size_t offset) const {
    return where_ + lines_.Place(offset);
  }

  void AddAttributes(const MarkupToken& token) {
    const std::string_view tag = RawOf(source_.text, token);
    if (tags_.contains(tag)) return;
    std::vector<Value> values;
    for (const HtmlAttribute& one : ReadAttributesOf(token.name, tag)) {
      if (!HasLetter(one.value)) continue;
      const size_t begin = static_cast<size_t>(one.value.data() - tag.data());
      values.push_back(
          {begin, begin + one.value.size(), values_.segments().size()});
      values_.Whole({AttributeAsHtml(one.value), SegmentText::Format::kMarkup},
                    one.value, Place(token.span.begin),
                    Joined([quote = one.quote](std::string_view text) {
                      return HtmlAsAttribute(text, quote);
                    }));
    }
    if (!values.empty()) tags_[std::string(tag)] = std::move(values);
  }

  absl::StatusOr<std::string> WithAttributes(std::string_view page,
                                             Translations translations) const {
    std::string out;
    size_t written = 0;
    for (const MarkupToken& token : LexMarkup(page, /*xml=*/false)) {
      if (token.kind != MarkupToken::Kind::kStart) continue;
      const auto found = tags_.find(RawOf(page, token));
      if (found == tags_.end()) continue;
      for (const Value& value : found->second) {
        const std::optional<std::string>& text = translations[value.segment];
        const DocumentSegment& segment = values_.segments()[value.segment];
        if (!text || *text == segment.sent.text) continue;
        const size_t begin = token.span.begin + value.begin;
        out += page.substr(written, begin - written);
        out += segment.write(segment, {{*text}}, MostRenderedBytes());
        TRIVIUM_RETURN_IF_ERROR(
            CheckRenderedBytes(out.size(), MostRenderedBytes()));
        written = token.span.begin + value.end;
      }
    }
    out += page.substr(written);
    return out;
  }

  const DecodedText source_;
  const std::string where_;
  const LinePlaces lines_;
  SegmentBuilder texts_, values_;
  std::map<std::string, std::vector<Value>, std::less<>> tags_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadPage(std::string_view data,
                                                   const std::string& part) {
  TRIVIUM_ASSIGN_OR_RETURN(
      DecodedText source,
      DecodeDocument(
          data, XmlEncoding(data, DeclaredEncoding(data,
                                                   R"((?i)<meta[^>]*?charset)"
                                                   R"(\s*=\s*["']?([\w.:-]+))",
                                                   "utf-8"))));
  std::vector<MarkupToken> tokens = LexMarkup(source.text, /*xml=*/false);
  if (tokens.size() > kMostMarkupTokens) {
    return absl::InvalidArgumentError(fmt::format(
        "it has more than {} tags and texts; split it", kMostMarkupTokens));
  }
  // Tokens have places in the text, not pointers to it.
  auto document = std::make_unique<HtmlDocument>(
      std::move(source), tokens, part.empty() ? "" : part + ", ");
  TRIVIUM_RETURN_IF_ERROR(document->status());
  return document;
}

absl::StatusOr<std::unique_ptr<Document>> ReadHtml(std::string_view data,
                                                   const DocumentOptions&) {
  return ReadPage(data, "");
}

absl::StatusOr<std::unique_ptr<Document>> ReadXml(
    std::string_view data, const DocumentOptions& options) {
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source,
                           DecodeDocument(data, XmlEncoding(data)));
  SegmentBuilder builder;
  AddWhole(source.text, "line 1", &builder);
  return NewTextDocument(std::move(source), std::move(builder),
                         DecodedText::Missing::kReference);
}

}  // namespace trivium
