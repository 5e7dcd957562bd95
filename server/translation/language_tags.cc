#include "server/translation/language_tags.h"

#include <string>

#include "absl/strings/ascii.h"
#include "server/translation/markup_elements.h"
#include "server/translation/markup_lexer.h"

namespace trivium {
namespace {

// Returns a tag's language without script and region, in lower case.
std::string PrimaryOf(std::string_view tag) {
  return absl::AsciiStrToLower(
      std::string(tag.substr(0, tag.find_first_of("-_"))));
}

bool IsNameByte(char c) {
  return !IsBlankByte(c) && c != '=' && c != '>' && c != '/';
}

// Returns the values of a start tag's lang and xml:lang attributes, as bytes of
// the tag.
std::vector<TextSpan> LanguagesOf(std::string_view tag) {
  std::vector<TextSpan> values;
  size_t at = 1;
  while (at < tag.size() && IsNameByte(tag[at])) ++at;  // the element's name
  while (at < tag.size()) {
    while (at < tag.size() && !IsNameByte(tag[at])) ++at;
    const size_t name_begin = at;
    while (at < tag.size() && IsNameByte(tag[at])) ++at;
    const std::string name = absl::AsciiStrToLower(
        std::string(tag.substr(name_begin, at - name_begin)));
    while (at < tag.size() && IsBlankByte(tag[at])) ++at;
    if (at >= tag.size() || tag[at] != '=') continue;
    ++at;
    while (at < tag.size() && IsBlankByte(tag[at])) ++at;
    if (at >= tag.size()) break;
    const bool quoted = tag[at] == '"' || tag[at] == '\'';
    const size_t begin = at + (quoted ? 1 : 0);
    const size_t end = quoted ? tag.find(tag[at], begin)
                              : tag.find_first_of(" \t\n\r\f>", begin);
    if (end == tag.npos) break;
    if (name == "lang" || name == "xml:lang") values.push_back({begin, end});
    at = end + (quoted ? 1 : 0);
  }
  return values;
}

}  // namespace

std::vector<TextEdit> LanguageTagEdits(std::string_view text, bool xml,
                                       std::string_view source,
                                       std::string_view target) {
  std::vector<TextEdit> edits;
  // Most texts name no language, and need not be lexed.
  if (target.empty() ||
      (text.find("lang") == text.npos && text.find("LANG") == text.npos)) {
    return edits;
  }
  std::string from = PrimaryOf(source);
  const std::vector<MarkupToken> tokens = LexMarkup(text, xml);
  if (tokens.size() > kMostMarkupTokens) return edits;  // it is refused later
  for (size_t i = 0; i < tokens.size(); ++i) {
    const MarkupToken& token = tokens[i];
    if (token.kind != MarkupToken::Kind::kStart) continue;
    const std::string_view tag = token.span.Of(text);
    const std::vector<TextSpan> languages = LanguagesOf(tag);
    // The first element of a text may tell the language of all.
    if (from.empty()) {
      if (languages.empty()) return edits;
      from = PrimaryOf(languages[0].Of(tag));
    }
    const ElementRole role = xml ? ElementRole::kInline : RoleOf(token.name);
    const bool stays = token.untranslated || role == ElementRole::kName ||
                       role == ElementRole::kListing ||
                       role == ElementRole::kObject;
    if (stays) {
      if (token.partner != MarkupToken::kNone) i = token.partner;
      continue;
    }
    for (const TextSpan& value : languages) {
      if (PrimaryOf(value.Of(tag)) != from) continue;
      edits.push_back(
          {{token.span.begin + value.begin, token.span.begin + value.end},
           std::string(target)});
    }
  }
  return edits;
}

}  // namespace trivium
