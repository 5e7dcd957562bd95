#include "server/documents/xml_tokens.h"

#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "server/documents/entities.h"
#include "server/documents/text_lines.h"

namespace trivium {
namespace {

using TokenKind = XmlToken::Kind;

// Deeper elements than any document has.
constexpr int kMostXmlDepth = 256;

struct ParserFree {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};

// The parser's depth, and the first thing that it has found and refuses.
struct XmlCheck {
  XML_Parser parser;
  const char* refused = nullptr;
  int depth = 0;

  void Refuse(const char* what) {
    if (refused == nullptr) refused = what;
    XML_StopParser(parser, XML_FALSE);
  }
};

void XMLCALL OnEntity(void* data, const XML_Char*, int is_parameter,
                      const XML_Char* value, int size, const XML_Char*,
                      const XML_Char*, const XML_Char*, const XML_Char*) {
  auto* const check = static_cast<XmlCheck*>(data);
  if (value == nullptr) {
    check->Refuse("it declares an entity of another file; take it out");
  } else if (is_parameter != 0 ||
             std::string_view(value, static_cast<size_t>(size))
                     .find_first_of("&%<") != std::string_view::npos) {
    check->Refuse(
        "it declares an entity that is made of others or of tags; take it out");
  }
}

void XMLCALL OnStart(void* data, const XML_Char*, const XML_Char**) {
  auto* const check = static_cast<XmlCheck*>(data);
  if (++check->depth > kMostXmlDepth)
    check->Refuse("its elements are nested too deeply; make them flatter");
}
void XMLCALL OnEnd(void* data, const XML_Char*) {
  --static_cast<XmlCheck*>(data)->depth;
}

// Fails unless the text is well-formed XML.
absl::Status CheckXml(std::string_view text) {
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, ParserFree> parser(
      XML_ParserCreate("utf-8"));
  if (parser == nullptr) return absl::ResourceExhaustedError("no memory");
  XmlCheck check{parser.get()};
  XML_SetUserData(parser.get(), &check);
  XML_SetEntityDeclHandler(parser.get(), OnEntity);
  XML_SetElementHandler(parser.get(), OnStart, OnEnd);
  constexpr size_t kStep = size_t{1} << 20;
  do {
    const size_t size = std::min(text.size(), kStep);
    const std::string_view part = text.substr(0, size);
    text.remove_prefix(size);
    if (XML_Parse(parser.get(), part.data(), static_cast<int>(size),
                  text.empty()) == XML_STATUS_OK) {
      continue;
    }
    const auto line =
        static_cast<size_t>(XML_GetCurrentLineNumber(parser.get()));
    if (check.refused != nullptr) {
      return absl::InvalidArgumentError(
          fmt::format("line {}: {}", line, check.refused));
    }
    return absl::InvalidArgumentError(fmt::format(
        "line {}, column {}: this is not XML: {}", line,
        static_cast<size_t>(XML_GetCurrentColumnNumber(parser.get())) + 1,
        XML_ErrorString(XML_GetErrorCode(parser.get()))));
  } while (!text.empty());
  return absl::OkStatus();
}

bool IsXmlSpace(char c) {
  return absl::ascii_isspace(static_cast<unsigned char>(c));
}

// The end of a tag or of a DOCTYPE, behind its '>'. `brackets`: they may be
// around '>', too.
size_t EndOfTag(std::string_view text, size_t at, bool brackets) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (brackets && text.substr(at).starts_with("<!--")) {
      const size_t end = text.find("-->", at + 4);
      if (end == text.npos) return text.npos;
      at = end + 3;
      continue;
    }
    if (brackets && text.substr(at).starts_with("<?")) {
      const size_t end = text.find("?>", at + 2);
      if (end == text.npos) return text.npos;
      at = end + 2;
      continue;
    }
    if (c == '"' || c == '\'') {
      at = text.find(c, at + 1);
      if (at == text.npos) return at;
    } else if (brackets && (c == '[' || c == ']')) {
      depth += c == '[' ? 1 : -1;
    } else if (c == '>' && depth <= 0) {
      return at + 1;
    }
    ++at;
  }
  return text.npos;
}

// Finds an attribute's value, with its quotes. Empty: there is none.
std::string_view FindAttribute(std::string_view tag, std::string_view wanted) {
  size_t at = tag.find_first_of(" \t\r\n");
  while (at < tag.size()) {
    while (at < tag.size() && IsXmlSpace(tag[at])) ++at;
    const size_t name = at;
    while (at < tag.size() && !IsXmlSpace(tag[at]) && tag[at] != '=') ++at;
    const std::string_view found = tag.substr(name, at - name);
    at = tag.find_first_of("\"'", at);
    if (at == tag.npos) break;
    const size_t end = tag.find(tag[at], at + 1);
    if (end == tag.npos) break;
    if (found == wanted) return tag.substr(at, end + 1 - at);
    at = end + 1;
  }
  return "";
}

}  // namespace

std::string_view XmlToken::local_name() const {
  const size_t colon = name.rfind(':');
  return colon == name.npos ? name : name.substr(colon + 1);
}
std::string_view XmlToken::prefix() const {
  const size_t colon = name.rfind(':');
  return colon == name.npos ? "" : name.substr(0, colon + 1);
}
std::string XmlToken::Attribute(std::string_view attribute) const {
  const std::string_view value = FindAttribute(raw, attribute);
  return value.empty() ? "" : DecodeXml(value.substr(1, value.size() - 2));
}
bool XmlToken::HasAttribute(std::string_view attribute) const {
  return !FindAttribute(raw, attribute).empty();
}
std::string XmlToken::Text() const {
  if (kind == TokenKind::kText) return DecodeXml(raw);
  constexpr size_t kBegin = std::string_view("<![CDATA[").size();
  return std::string(raw.substr(kBegin, raw.size() - kBegin - 3));
}

absl::StatusOr<std::vector<XmlToken>> XmlTokensOf(std::string_view text,
                                                  size_t most) {
  TRIVIUM_RETURN_IF_ERROR(CheckXml(text));
  std::vector<XmlToken> tokens;
  size_t at = 0;
  while (at < text.size()) {
    if (tokens.size() == most) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: the document has more than {} tags and texts; split it",
          LinePlaces(text).Place(at), kMostXmlTokens));
    }
    const std::string_view rest = text.substr(at);
    XmlToken token{TokenKind::kOther, "", "", at};
    size_t end = text.npos;
    const auto end_at = [&](std::string_view mark, size_t skip) {
      const size_t found = text.find(mark, at + skip);
      return found == text.npos ? found : found + mark.size();
    };
    if (!rest.starts_with('<')) {
      token.kind = TokenKind::kText;
      end = std::min(text.find('<', at), text.size());
    } else if (rest.starts_with("<!--")) {
      end = end_at("-->", 4);
    } else if (rest.starts_with("<![CDATA[")) {
      token.kind = TokenKind::kCdata;
      end = end_at("]]>", 9);
    } else if (rest.starts_with("<?")) {
      end = end_at("?>", 2);
    } else if (rest.starts_with("<!")) {
      end = EndOfTag(text, at + 2, /*brackets=*/true);
    } else {
      end = EndOfTag(text, at + 1, /*brackets=*/false);
      const size_t name = rest.starts_with("</") ? 2 : 1;
      size_t name_end = name;
      while (name_end < rest.size() && !IsXmlSpace(rest[name_end]) &&
             rest[name_end] != '/' && rest[name_end] != '>') {
        ++name_end;
      }
      token.name = rest.substr(name, name_end - name);
      token.kind = name == 2 ? TokenKind::kClose : TokenKind::kOpen;
    }
    if (end == text.npos) {
      return absl::InvalidArgumentError(
          fmt::format("{}: this is not XML: a part has no end",
                      LinePlaces(text).Place(at)));
    }
    token.raw = text.substr(at, end - at);
    if (token.kind == TokenKind::kOpen && token.raw.ends_with("/>")) {
      token.kind = TokenKind::kEmpty;
    }
    tokens.push_back(token);
    at = end;
  }
  return tokens;
}

size_t EndOfElement(const std::vector<XmlToken>& tokens, size_t at) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    depth += tokens[at].depth();
    if (depth <= 0) return at;
  }
  return tokens.size() - 1;
}

}  // namespace trivium
