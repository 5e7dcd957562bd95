// Follows https://html.spec.whatwg.org/multipage/parsing.html#tokenization, but
// only as far as is needed to find where tokens end. Text is not decoded, and
// there are no errors: a '<' that begins no tag is text.
#include "server/translation/markup_lexer.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"

namespace trivium {
namespace {

constexpr size_t kNpos = std::string_view::npos;

// True if the text is `lower` in any letter case. `lower` is in lower case.
bool IsLetterCaseOf(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return absl::ascii_tolower(a) == b; });
}

// True if a list of words, such as the value of `class`, contains the word.
bool HasWord(std::string_view list, std::string_view word) {
  for (size_t at = 0; at < list.size();) {
    while (at < list.size() && IsBlankByte(list[at])) ++at;
    size_t end = at;
    while (end < list.size() && !IsBlankByte(list[end])) ++end;
    if (list.substr(at, end - at) == word) return true;
    at = end;
  }
  return false;
}

class Lexer {
 public:
  Lexer(std::string_view text, bool xml) : text_(text), xml_(xml) {}

  std::vector<MarkupToken> Run() {
    while (at_ < text_.size() && tokens_.size() <= kMostMarkupTokens) {
      const size_t tag = text_.find('<', at_);
      if (tag == kNpos) break;
      if (!Tag(tag)) at_ = tag + 1;
    }
    AddText(text_.size());
    return std::move(tokens_);
  }

 private:
  using Kind = MarkupToken::Kind;

  std::string_view From(size_t at) const { return text_.substr(at); }

  void AddText(size_t end) {
    if (text_begin_ < end) {
      MarkupToken& text = tokens_.emplace_back();
      text.span = {text_begin_, end};
    }
  }

  MarkupToken& Add(Kind kind, size_t begin, size_t end) {
    AddText(begin);
    MarkupToken& token = tokens_.emplace_back();
    token.kind = kind;
    token.span = {begin, end};
    at_ = text_begin_ = end;
    return token;
  }

  // Returns the offset just past the next `mark`, or the text's end if there is
  // none.
  size_t After(std::string_view mark, size_t from) const {
    const size_t at = text_.find(mark, std::min(from, text_.size()));
    return at == kNpos ? text_.size() : at + mark.size();
  }

  // Returns the offset just past a document type, which in XML may have a '>'
  // in quotes.
  size_t AfterDoctype(size_t begin) const {
    char quote = 0;
    for (size_t at = begin; xml_ && at < text_.size(); ++at) {
      const char c = text_[at];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '>') {
        return at + 1;
      }
    }
    return After(">", begin);
  }

  // Adds the token that begins with the '<' at `begin`. Returns false if the
  // '<' is text.
  bool Tag(size_t begin) {
    const std::string_view rest = From(begin);
    if (rest.starts_with("<!--")) {
      // "<!-->" and "<!--->" are whole comments in HTML.
      Add(Kind::kOther, begin, After("-->", begin + (xml_ ? 4 : 2)));
    } else if (xml_ && rest.starts_with("<![CDATA[")) {
      Add(Kind::kCdata, begin, After("]]>", begin));
    } else if (rest.starts_with("<?")) {
      Add(Kind::kOther, begin, After(xml_ ? "?>" : ">", begin));
    } else if (IsLetterCaseOf(rest.substr(0, 9), "<!doctype")) {
      Add(Kind::kDoctype, begin, AfterDoctype(begin));
    } else if (rest.starts_with("<!")) {
      Add(Kind::kOther, begin, After(">", begin));
    } else if (rest.size() > 1 && IsNameStart(rest[1])) {
      AddTag(Kind::kStart, begin, begin + 1);
    } else if (rest.size() > 2 && rest[1] == '/' && IsNameStart(rest[2])) {
      AddTag(Kind::kEnd, begin, begin + 2);
    } else if (rest.starts_with("</") && rest.size() > 2) {
      Add(Kind::kOther, begin, After(">", begin));
    } else {
      return false;
    }
    return true;
  }

  bool IsNameStart(char c) const {
    return absl::ascii_isalpha(c) ||
           (xml_ && (c == '_' || c == ':' || static_cast<signed char>(c) < 0));
  }

  void AddTag(Kind kind, size_t begin, size_t name_begin) {
    size_t at = name_begin;
    while (at < text_.size() && !IsBlankByte(text_[at]) && text_[at] != '/' &&
           text_[at] != '>') {
      ++at;
    }
    std::string name(text_.substr(name_begin, at - name_begin));
    if (!xml_) absl::AsciiStrToLower(&name);
    bool untranslated = false;
    const size_t after = AfterAttributes(at, &untranslated);
    // HTML drops a tag that the text's end cuts off; here it is kept.
    const bool whole = after != kNpos;
    const size_t end = whole ? after : text_.size();
    MarkupToken& token = Add(whole ? kind : Kind::kOther, begin, end);
    token.name = std::move(name);
    token.untranslated = untranslated;
    token.self_closing =
        xml_ && text_.substr(begin, end - begin).ends_with("/>");
    if (whole && kind == Kind::kStart && !xml_) AddRawText(token.name);
  }

  // Returns the end of a tag whose name ends at `at`, or kNpos if the text ends
  // first. Sets `untranslated` if an attribute forbids translation.
  size_t AfterAttributes(size_t at, bool* untranslated) const {
    while (at < text_.size()) {
      while (at < text_.size() &&
             (IsBlankByte(text_[at]) || text_[at] == '/')) {
        ++at;
      }
      if (at >= text_.size()) break;
      if (text_[at] == '>') return at + 1;
      const size_t name_begin = at++;
      while (at < text_.size() && !IsBlankByte(text_[at]) && text_[at] != '/' &&
             text_[at] != '>' && text_[at] != '=') {
        ++at;
      }
      const std::string_view name = text_.substr(name_begin, at - name_begin);
      size_t value = at;
      while (value < text_.size() && IsBlankByte(text_[value])) ++value;
      if (value >= text_.size() || text_[value] != '=') continue;
      ++value;
      while (value < text_.size() && IsBlankByte(text_[value])) ++value;
      if (value >= text_.size()) break;
      const char quote = text_[value];
      if (quote == '"' || quote == '\'') {
        at = text_.find(quote, value + 1);
        if (at == kNpos) break;
        *untranslated |=
            IsUntranslated(name, text_.substr(value + 1, at - value - 1));
        ++at;
      } else {
        at = value;
        while (at < text_.size() && !IsBlankByte(text_[at]) &&
               text_[at] != '>') {
          ++at;
        }
        *untranslated |= IsUntranslated(name, text_.substr(value, at - value));
      }
    }
    return kNpos;
  }

  bool IsUntranslated(std::string_view name, std::string_view value) const {
    if (xml_) {
      return (name == "translate" || name.ends_with(":translate")) &&
             value == "no";
    }
    return (IsLetterCaseOf(name, "translate") && IsLetterCaseOf(value, "no")) ||
           (IsLetterCaseOf(name, "class") && HasWord(value, "notranslate"));
  }

  // Adds the contents of an element that has no tags in it, up to its end tag.
  void AddRawText(const std::string& name) {
    const bool title = name == "title";
    if (!title && !IsRawTextElement(name)) return;
    size_t end = at_;
    while (true) {
      end = std::min(text_.find("</", end), text_.size());
      const std::string_view rest = From(end);
      if (rest.empty()) break;
      const size_t after = 2 + name.size();
      if (IsLetterCaseOf(rest.substr(2, name.size()), name) &&
          (rest.size() == after || IsBlankByte(rest[after]) ||
           rest[after] == '/' || rest[after] == '>')) {
        break;
      }
      end += 2;
    }
    if (end == at_) return;
    Add(title ? Kind::kText : Kind::kRawText, at_, end);
  }

  const std::string_view text_;
  const bool xml_;
  size_t at_ = 0;
  size_t text_begin_ = 0;  // begin of the bytes without token
  std::vector<MarkupToken> tokens_;
};

bool IsVoidElement(std::string_view name) {
  constexpr std::array<std::string_view, 16> kVoid = {
      "area", "base",  "basefont", "bgsound", "br",   "col",    "embed", "hr",
      "img",  "input", "keygen",   "link",    "meta", "source", "track", "wbr"};
  return std::find(kVoid.begin(), kVoid.end(), name) != kVoid.end();
}

// Pairs start and end tags. An end tag closes the last open start tag of its
// name; tags still open inside remain without a partner.
void FindPartners(bool xml, std::vector<MarkupToken>* tokens) {
  std::vector<size_t> open;
  std::map<std::string_view, int> open_of_name;
  for (size_t i = 0; i < tokens->size(); ++i) {
    MarkupToken& token = (*tokens)[i];
    if (token.kind == MarkupToken::Kind::kStart) {
      if (token.self_closing || (!xml && IsVoidElement(token.name))) continue;
      open.push_back(i);
      ++open_of_name[token.name];
    } else if (token.kind == MarkupToken::Kind::kEnd) {
      const auto of_name = open_of_name.find(token.name);
      if (of_name == open_of_name.end() || of_name->second == 0) continue;
      while ((*tokens)[open.back()].name != token.name) {
        --open_of_name[(*tokens)[open.back()].name];
        open.pop_back();
      }
      --of_name->second;
      token.partner = open.back();
      (*tokens)[open.back()].partner = i;
      open.pop_back();
    }
  }
}

}  // namespace

bool IsRawTextElement(std::string_view name) {
  constexpr std::array<std::string_view, 8> kRaw = {
      "script", "style",   "textarea", "xmp",
      "iframe", "noembed", "noframes", "plaintext"};
  return std::find(kRaw.begin(), kRaw.end(), name) != kRaw.end();
}

std::vector<MarkupToken> LexMarkup(std::string_view text, bool xml) {
  std::vector<MarkupToken> tokens = Lexer(text, xml).Run();
  FindPartners(xml, &tokens);
  return tokens;
}

}  // namespace trivium
