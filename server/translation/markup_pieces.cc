// HTML and XML have the same tokens. A tag belongs to a sentence by its name in
// HTML (RoleOf), and by the text around it in XML (FindMixed).
//
// Always:
// - Each token is in one piece: its own, or that of a whole element, whose
//   tokens AddWhole skips. Only CDATA may become three.
// - Both tags of an element get the same treatment, so kOpen and kClose come in
//   pairs. That is why `around` counts an element only between its tags. Pairs
//   nest, because the lexer's partners do: the last of open_ is the partner of
//   the next kClose.
// - expat accepts an XML text before the lexer sees it. So FindMixed has a
//   start tag for every end tag.
#include "server/translation/markup_pieces.h"

#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "server/translation/markup_elements.h"
#include "server/translation/markup_lexer.h"

namespace trivium {
namespace {

using Piece = MarkupPiece;
using Token = MarkupToken;

absl::StatusOr<std::vector<Token>> Lex(std::string_view text, bool xml) {
  std::vector<Token> tokens = LexMarkup(text, xml);
  if (tokens.size() <= kMostMarkupTokens) return tokens;
  return absl::InvalidArgumentError(
      fmt::format("has more than {} tags and texts between them; send it in "
                  "parts",
                  kMostMarkupTokens));
}

// True if any of the tokens [first, last] has text other than white space.
bool HasText(std::string_view text, const std::vector<Token>& tokens,
             size_t first, size_t last) {
  for (size_t i = first; i <= last; ++i) {
    const Token& token = tokens[i];
    const bool says = token.kind == Token::Kind::kText ||
                      token.kind == Token::Kind::kRawText ||
                      token.kind == Token::Kind::kCdata;
    if (says && !IsBlank(token.span.Of(text))) return true;
  }
  return false;
}

// Turns tokens into pieces.
class Pieces {
 public:
  Pieces(std::string_view text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  const std::vector<Token>& tokens() const { return tokens_; }
  std::vector<Piece> Take() { return std::move(pieces_); }

  void Add(Piece::Kind kind, TextSpan span) {
    pieces_.push_back({.kind = kind, .span = span});
  }
  void Add(Piece::Kind kind, size_t token) { Add(kind, tokens_[token].span); }

  // Adds the element that begins at a token as one piece. Returns the index of
  // the token after the element. An opaque element without text becomes kVoid.
  size_t AddWhole(Piece::Kind kind, size_t token) {
    const size_t last = tokens_[token].partner;
    if (kind == Piece::Kind::kOpaque && !HasText(text_, tokens_, token, last)) {
      kind = Piece::Kind::kVoid;
    }
    Add(kind, TextSpan{tokens_[token].span.begin, tokens_[last].span.end});
    return last + 1;
  }

  // Adds a tag that has a partner and is part of a sentence.
  absl::Status AddTag(size_t token) {
    const Token& tag = tokens_[token];
    if (tag.kind == Token::Kind::kStart) {
      if (open_.size() >= kMostMarkupDepth)
        return TooDeepMarkup(tag.span.begin);
      open_.push_back(pieces_.size());
      Add(Piece::Kind::kOpen, token);
      return absl::OkStatus();
    }
    Add(Piece::Kind::kClose, token);
    pieces_.back().partner = open_.back();
    pieces_[open_.back()].partner = pieces_.size() - 1;
    open_.pop_back();
    return absl::OkStatus();
  }

  void AddCdata(size_t token) {
    constexpr size_t kBegin = 9, kEnd = 3;  // of "<![CDATA[" and "]]>"
    const TextSpan whole = tokens_[token].span;
    const TextSpan inner = {whole.begin + kBegin, whole.end - kEnd};
    if (IsBlank(inner.Of(text_))) return Add(Piece::Kind::kVoid, whole);
    // A section that quotes markup is for programs, so it is not translated.
    if (inner.Of(text_).find('<') != std::string_view::npos) {
      return Add(Piece::Kind::kOpaque, whole);
    }
    const size_t open = pieces_.size();
    pieces_.push_back({.kind = Piece::Kind::kOpen,
                       .span = {whole.begin, inner.begin},
                       .partner = open + 2,
                       .raw = true});
    Add(Piece::Kind::kRawText, inner);
    pieces_.push_back({.kind = Piece::Kind::kClose,
                       .span = {inner.end, whole.end},
                       .partner = open});
  }

 private:
  const std::string_view text_;
  const std::vector<Token> tokens_;
  std::vector<Piece> pieces_;
  std::vector<size_t> open_;
};

}  // namespace

absl::Status TooDeepMarkup(size_t at) {
  return absl::InvalidArgumentError(
      fmt::format("nests more than {} inline elements at byte {}; remove some",
                  kMostMarkupDepth, at));
}

absl::StatusOr<std::vector<MarkupPiece>> HtmlPieces(std::string_view text) {
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Token> lexed, Lex(text, /*xml=*/false));
  Pieces pieces(text, std::move(lexed));
  const std::vector<Token>& tokens = pieces.tokens();
  for (size_t i = 0; i < tokens.size();) {
    const Token& token = tokens[i];
    const bool paired = token.partner != Token::kNone;
    const ElementRole role = RoleOf(token.name);
    const bool block =
        role == ElementRole::kBlock || role == ElementRole::kListing;
    const auto whole = [&]() -> std::optional<Piece::Kind> {
      if (token.kind != Token::Kind::kStart || !paired) return std::nullopt;
      if (role == ElementRole::kListing) return Piece::Kind::kBreak;
      if (role == ElementRole::kObject) return Piece::Kind::kVoid;
      if (role == ElementRole::kName || token.untranslated) {
        return block ? Piece::Kind::kBreak : Piece::Kind::kOpaque;
      }
      return std::nullopt;
    }();
    if (whole) {
      i = pieces.AddWhole(*whole, i);
      continue;
    }
    switch (token.kind) {
      case Token::Kind::kText:
        pieces.Add(Piece::Kind::kText, i);
        break;
      case Token::Kind::kRawText:  // of an element without end tag
      case Token::Kind::kDoctype:
        pieces.Add(Piece::Kind::kBreak, i);
        break;
      case Token::Kind::kCdata:
      case Token::Kind::kOther:
        pieces.Add(Piece::Kind::kVoid, i);
        break;
      case Token::Kind::kStart:
      case Token::Kind::kEnd:
        if (block) {
          pieces.Add(Piece::Kind::kBreak, i);
        } else if (paired) {
          TRIVIUM_RETURN_IF_ERROR(pieces.AddTag(i));
        } else {
          pieces.Add(Piece::Kind::kVoid, i);
        }
        break;
    }
    ++i;
  }
  return pieces.Take();
}

namespace {

// Tags around a fragment that make it a document, so that expat accepts it.
constexpr std::string_view kRootBegin = "<x>", kRootEnd = "</x>";

bool IsDocument(std::string_view text) {
  return text.starts_with("<?xml") ||
         text.find("<!DOCTYPE") != std::string_view::npos;
}

// Returns INVALID_ARGUMENT if a document or fragment is not well-formed XML.
absl::Status CheckXml(std::string_view text) {
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(
      XML_ParserCreate("UTF-8"), &XML_ParserFree);
  if (parser == nullptr) return absl::InternalError("expat has no memory");
  // Declared entities would change the document's text, so they are refused.
  bool declares = false;
  XML_SetUserData(parser.get(), &declares);
  XML_SetStartDoctypeDeclHandler(
      parser.get(), [](void* data, const XML_Char*, const XML_Char*,
                       const XML_Char*, int has_internal_subset) {
        *static_cast<bool*>(data) |= has_internal_subset != 0;
      });
  const bool document = IsDocument(text);
  const auto refuse = [&](size_t at, std::string_view why) {
    at = std::min(at, text.size());
    const std::string_view before = text.substr(0, at);
    return absl::InvalidArgumentError(
        fmt::format("is not well-formed XML at byte {}, line {}: {}", at,
                    1 + std::count(before.begin(), before.end(), '\n'), why));
  };
  if (text.size() > INT_MAX / 2) return refuse(0, "it is too long");
  const auto parse = [&](std::string_view part, bool last) {
    return XML_Parse(parser.get(), part.data(), static_cast<int>(part.size()),
                     last) == XML_STATUS_OK;
  };
  const bool good = document ? parse(text, true)
                             : parse(kRootBegin, false) && parse(text, false) &&
                                   parse(kRootEnd, true);
  if (!good) {
    const XML_Error error = XML_GetErrorCode(parser.get());
    auto at = static_cast<size_t>(XML_GetCurrentByteIndex(parser.get()));
    if (!document) at -= std::min(at, kRootBegin.size());
    return refuse(at, XML_ErrorString(error));
  }
  if (declares) {
    return absl::InvalidArgumentError(
        "declares entities or elements in its document type, which is not "
        "supported; remove the declarations");
  }
  return absl::OkStatus();
}

// Returns [tokens]: true if the element that begins there has text of its own.
// Sets `top` if there is text outside of all elements.
std::vector<bool> FindMixed(std::string_view text,
                            const std::vector<Token>& tokens, bool* top) {
  std::vector<bool> mixed(tokens.size());
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.kind == Token::Kind::kStart && !token.self_closing) {
      open.push_back(i);
    } else if (token.kind == Token::Kind::kEnd) {
      open.pop_back();
    } else if ((token.kind == Token::Kind::kText ||
                token.kind == Token::Kind::kCdata) &&
               !IsBlank(token.span.Of(text))) {
      if (open.empty()) {
        *top = true;
      } else {
        mixed[open.back()] = true;
      }
    }
  }
  return mixed;
}

}  // namespace

absl::StatusOr<std::vector<MarkupPiece>> XmlPieces(std::string_view text) {
  TRIVIUM_RETURN_IF_ERROR(CheckXml(text));
  TRIVIUM_ASSIGN_OR_RETURN(std::vector<Token> lexed, Lex(text, /*xml=*/true));
  Pieces pieces(text, std::move(lexed));
  const std::vector<Token>& tokens = pieces.tokens();
  bool top = false;
  const std::vector<bool> mixed = FindMixed(text, tokens, &top);
  // Number of enclosing elements with text of their own. A fragment's top level
  // counts as one.
  int around = top && !IsDocument(text) ? 1 : 0;
  for (size_t i = 0; i < tokens.size();) {
    const Token& token = tokens[i];
    if (token.kind == Token::Kind::kEnd && mixed[token.partner]) --around;
    const bool inside = around > 0;
    if (token.kind == Token::Kind::kStart && token.untranslated &&
        token.partner != Token::kNone) {
      i = pieces.AddWhole(inside ? Piece::Kind::kOpaque : Piece::Kind::kBreak,
                          i);
      continue;
    }
    switch (token.kind) {
      case Token::Kind::kText:
        pieces.Add(Piece::Kind::kText, i);
        break;
      case Token::Kind::kCdata:
        pieces.AddCdata(i);
        break;
      case Token::Kind::kStart:
      case Token::Kind::kEnd:
        if (!inside) {
          pieces.Add(Piece::Kind::kBreak, i);
        } else if (token.partner != Token::kNone) {
          TRIVIUM_RETURN_IF_ERROR(pieces.AddTag(i));
        } else {
          pieces.Add(Piece::Kind::kVoid, i);
        }
        if (token.kind == Token::Kind::kStart && mixed[i]) ++around;
        break;
      case Token::Kind::kRawText:
      case Token::Kind::kDoctype:
        pieces.Add(Piece::Kind::kBreak, i);
        break;
      case Token::Kind::kOther:
        pieces.Add(Piece::Kind::kVoid, i);
        break;
    }
    ++i;
  }
  return pieces.Take();
}

}  // namespace trivium
