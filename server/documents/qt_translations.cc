// Qt's .ts (https://doc.qt.io/qt-6/linguist-ts-file-format.html): messages,
// each with a source and its translation, which may have a form for each
// number.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/documents/entities.h"
#include "server/documents/escaped_strings.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"
#include "server/documents/xml_tokens.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using Tokens = std::vector<XmlToken>;

class QtReader {
 public:
  QtReader(std::string_view text, const Tokens& tokens,
           const DocumentOptions& options)
      : options_(options),
        lines_(text),
        tokens_(tokens),
        builder_(Joined(EscapeMarkup)) {}

  absl::StatusOr<SegmentBuilder> Read() {
    const auto root =
        std::find_if(tokens_.begin(), tokens_.end(),
                     [](const XmlToken& token) { return token.opens(); });
    if (root == tokens_.end() || root->name != "TS") {
      return absl::InvalidArgumentError(fmt::format(
          "{}: this is not a translation of Qt: <{}> instead of <TS>",
          lines_.Place(root == tokens_.end() ? 0 : root->begin),
          root == tokens_.end() ? "" : Shorten(root->name)));
    }
    for (size_t at = 0; at < tokens_.size(); ++at) {
      if (tokens_[at].name == "message" && tokens_[at].depth() > 0) {
        const size_t end = EndOfElement(tokens_, at);
        ReadMessage(at, end);
        at = end;
      } else {
        Copy(at, at + 1);
      }
    }
    return std::move(builder_);
  }

 private:
  // Tokens [first, last) of an element's content.
  struct Content {
    size_t first = 0, last = 0;
  };

  void Copy(size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) builder_.Literal(tokens_[i].raw);
  }

  bool HasWords(Content content) const {
    return std::any_of(tokens_.begin() + static_cast<long>(content.first),
                       tokens_.begin() + static_cast<long>(content.last),
                       [](const XmlToken& token) {
                         return token.kind == XmlToken::Kind::kText &&
                                !IsSpaces(token.raw);
                       });
  }

  void ReadMessage(size_t open, size_t close) {
    Content source;
    for (size_t at = open + 1; at < close; ++at) {
      const XmlToken& token = tokens_[at];
      if (!token.opens()) continue;
      const size_t end = EndOfElement(tokens_, at);
      if (token.name == "source") source = {at + 1, end};
      if (token.name == "translation" && IsWanted(token) &&
          !HasOtherThanText(source) && HasWords(source) &&
          (options_.retranslate || !HasWords({at + 1, end}))) {
        Copy(open, at);
        WriteTranslation(at, end, source);
        open = end + 1;
      }
      at = end;
    }
    Copy(open, close + 1);
  }

  // False for messages that the program has no more.
  static bool IsWanted(const XmlToken& translation) {
    const std::string type = translation.Attribute("type");
    return type != "obsolete" && type != "vanished";
  }

  // True for a source with <byte>, which stands for a control character.
  bool HasOtherThanText(Content source) const {
    return source.last != source.first + 1 ||
           tokens_[source.first].kind != XmlToken::Kind::kText;
  }

  void WriteTranslation(size_t open, size_t close, Content source) {
    bool forms = false;
    for (size_t at = open; at < close; ++at) {
      forms = forms || tokens_[at].name == "numerusform";
    }
    if (!forms) return WriteForm(open, close, source);
    Copy(open, open + 1);
    for (size_t at = open + 1; at < close; ++at) {
      if (!tokens_[at].opens()) {
        Copy(at, at + 1);
        continue;
      }
      const size_t end = EndOfElement(tokens_, at);
      WriteForm(at, end, source);
      at = end;
    }
    Copy(close, close + 1);
  }

  // Writes an element with the source's text in it.
  void WriteForm(size_t open, size_t close, Content source) {
    std::string_view tag = tokens_[open].raw;
    if (open == close) {
      tag.remove_suffix(2);  // "/>"
      tag.remove_suffix(TrailingSpace(tag));
      builder_.Literal(fmt::format("{}>", tag));
    } else {
      builder_.Literal(tag);
    }
    const XmlToken& text = tokens_[source.first];
    builder_.Close();
    AddTagged(&builder_, text.raw, lines_.Place(text.begin), EscapedHtmlTag(),
              DecodeXml);
    builder_.Close();
    builder_.Literal(fmt::format("</{}>", tokens_[open].name));
  }

  const DocumentOptions& options_;
  const LinePlaces lines_;
  const Tokens& tokens_;
  SegmentBuilder builder_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadQtTranslation(
    std::string_view data, const DocumentOptions& options) {
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source,
                           DecodeDocument(data, XmlEncoding(data)));
  TRIVIUM_ASSIGN_OR_RETURN(const Tokens tokens, XmlTokensOf(source.text));
  TRIVIUM_ASSIGN_OR_RETURN(SegmentBuilder builder,
                           QtReader(source.text, tokens, options).Read());
  return NewTextDocument(std::move(source), std::move(builder),
                         DecodedText::Missing::kReference);
}

}  // namespace trivium
