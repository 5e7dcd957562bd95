// XLIFF 1.2 (https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html) and 2
// (https://docs.oasis-open.org/xliff/xliff-core/v2.1/xliff-core-v2.1.html).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/documents/entities.h"
#include "server/documents/readers.h"
#include "server/documents/text_document.h"
#include "server/documents/text_lines.h"
#include "server/documents/xml_tokens.h"

namespace trivium {
namespace {

using Kind = DocumentItem::Kind;
using Tokens = std::vector<XmlToken>;

template <typename... Names>
bool IsOneOf(std::string_view name, Names... names) {
  return ((name == names) || ...);
}

bool IsUnit(std::string_view name) {
  return IsOneOf(name, "trans-unit", "segment");
}
// Inline codes. In 1.2 their contents belong to the native format and are not
// texts. They begin or end something, or stand for a word.
bool BeginsCode(std::string_view name) {
  return IsOneOf(name, "bpt", "bx", "sc");
}
bool EndsCode(std::string_view name) {
  return IsOneOf(name, "ept", "ex", "ec");
}

bool IsNative(const XmlToken& token) {
  const std::string_view name = token.local_name();
  return token.opens() &&
         (IsOneOf(name, "ph", "it", "x", "cp") || BeginsCode(name) ||
          EndsCode(name) || token.Attribute("translate") == "no" ||
          (name == "mrk" && token.Attribute("mtype") == "protected"));
}

// A source, a segmented source or a target, as places in the tokens.
struct XliffElement {
  size_t open;
  size_t close;  // equal to `open` for <target/>
};

// Tokens [first, last) that are replaced by the content of a source.
struct XliffEdit {
  size_t first, last;
  std::string before;
  size_t content_begin, content_end;
  std::string after;
};

class XliffReader {
 public:
  XliffReader(std::string_view text, const Tokens& tokens,
              const DocumentOptions& options, SegmentBuilder* builder)
      : options_(options), builder_(*builder), lines_(text), tokens_(tokens) {}

  absl::Status Read() {
    const auto root =
        std::find_if(tokens_.begin(), tokens_.end(),
                     [](const XmlToken& token) { return token.opens(); });
    if (root == tokens_.end() || root->local_name() != "xliff") {
      return absl::InvalidArgumentError(
          fmt::format("{}: this is not XLIFF: <{}>", lines_.Place(root->begin),
                      std::string(root->name.substr(0, 64))));
    }
    FindUnits();
    size_t at = 0;
    for (const XliffEdit& edit : edits_) {
      Copy(at, edit.first);
      builder_.Literal(edit.before);
      builder_.Close();
      WriteContent(edit.content_begin, edit.content_end);
      builder_.Literal(edit.after);
      at = edit.last;
    }
    Copy(at, tokens_.size());
    return absl::OkStatus();
  }

 private:
  void Copy(size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      const auto changed = changed_tags_.find(i);
      builder_.Literal(changed == changed_tags_.end() ? tokens_[i].raw
                                                      : changed->second);
    }
  }

  void FindUnits() {
    struct Open {
      std::string_view name;
      size_t token;
      bool wanted;  // is it translated
    };
    std::vector<Open> path;
    std::map<std::string_view, XliffElement> found;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const XmlToken& token = tokens_[i];
      const std::string_view name = token.local_name();
      if (token.opens()) {
        bool wanted = path.empty() || path.back().wanted;
        if (token.HasAttribute("translate")) {
          wanted = token.Attribute("translate") != "no";
        }
        if (IsOneOf(name, "xliff", "file")) NameLanguage(i);
        if (IsUnit(name)) found.clear();
        path.push_back({name, i, wanted});
      }
      if (token.kind != XmlToken::Kind::kClose &&
          token.kind != XmlToken::Kind::kEmpty) {
        continue;
      }
      const Open closed = path.back();
      path.pop_back();
      if (!path.empty() && IsUnit(path.back().name)) {
        found[name] = {closed.token, i};
      }
      if (!IsUnit(name)) continue;
      if (closed.wanted) AddUnit(found);
      // A unit around this one has no source of its own yet.
      found.clear();
    }
  }

  // Writes the targets' language, which XLIFF 2 requires and 1.2 allows.
  void NameLanguage(size_t at) {
    const XmlToken& token = tokens_[at];
    std::string attribute;
    if (token.local_name() == "xliff") {
      if (token.Attribute("version").starts_with('2')) attribute = "trgLang";
    } else if (token.HasAttribute("source-language")) {
      attribute = "target-language";
    }
    const std::string& language = options_.target_language;
    if (language.empty() || attribute.empty() ||
        token.HasAttribute(attribute)) {
      return;
    }
    std::string_view head = token.raw;
    head.remove_suffix(token.kind == XmlToken::Kind::kEmpty ? 2 : 1);
    head.remove_suffix(TrailingSpace(head));
    changed_tags_[at] =
        fmt::format("{} {}=\"{}\"{}", head, attribute, EscapeMarkup(language),
                    token.raw.substr(head.size()));
  }

  void AddUnit(const std::map<std::string_view, XliffElement>& found) {
    auto element = found.find("seg-source");
    if (element == found.end()) element = found.find("source");
    if (element == found.end()) return;
    const XliffElement& source = element->second;
    const size_t begin = std::min(source.open + 1, source.close);
    if (std::none_of(tokens_.begin() + static_cast<long>(begin),
                     tokens_.begin() + static_cast<long>(source.close),
                     IsWords)) {
      return;
    }
    const XmlToken& open = tokens_[source.open];
    const std::string name = fmt::format("{}target", open.prefix());
    const std::string end = fmt::format("</{}>", name);
    const auto target = found.find("target");
    if (target == found.end()) {
      edits_.push_back({source.close + 1, source.close + 1,
                        fmt::format("{}<{}>", IndentBefore(source.open), name),
                        begin, source.close, end});
      return;
    }
    const auto [first, last] = target->second;
    for (size_t i = first + 1; i < last && !options_.retranslate; ++i) {
      // The marks of segments stand in targets without a translation, too.
      if (IsWords(tokens_[i]) || (tokens_[i].kind != XmlToken::Kind::kText &&
                                  tokens_[i].local_name() != "mrk")) {
        return;
      }
    }
    std::string_view opened = tokens_[first].raw;
    std::string tag(opened);
    if (first == last) {
      opened.remove_suffix(2);
      opened.remove_suffix(TrailingSpace(opened));
      tag = fmt::format("{}>", opened);
    }
    edits_.push_back({first, last + 1, tag, begin, source.close, end});
  }

  static bool IsWords(const XmlToken& token) {
    return (token.kind == XmlToken::Kind::kText ||
            token.kind == XmlToken::Kind::kCdata) &&
           !IsSpaces(token.raw);
  }

  // The white space in front of a tag, from its line break on.
  std::string_view IndentBefore(size_t at) const {
    if (at == 0 || tokens_[at - 1].kind != XmlToken::Kind::kText) return "";
    const std::string_view before = tokens_[at - 1].raw;
    const std::string_view space =
        before.substr(before.size() - TrailingSpace(before));
    const size_t line = space.find_first_of("\r\n");
    return line == space.npos ? "" : space.substr(line);
  }

  void WriteContent(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const XmlToken& token = tokens_[i];
      if (IsNative(token)) {
        const size_t last = EndOfElement(tokens_, i);
        AddNative(i, last);
        i = last;
        continue;
      }
      if (token.kind == XmlToken::Kind::kText) {
        builder_.Text(token.raw, lines_.Place(token.begin), DecodeXml);
        continue;
      }
      if (token.kind == XmlToken::Kind::kCdata) {
        builder_.Item({Kind::kText, std::string(token.raw), token.Text()},
                      lines_.Place(token.begin));
        continue;
      }
      const Kind kind = token.depth() > 0   ? Kind::kOpen
                        : token.depth() < 0 ? Kind::kClose
                                            : Kind::kVoid;
      builder_.Mark(kind, token.raw, std::string(token.local_name()));
      if (token.local_name() == "mrk" && token.Attribute("mtype") == "seg") {
        builder_.Close();
      }
    }
    builder_.Close();
  }

  void AddNative(size_t first, size_t last) {
    const XmlToken& token = tokens_[first];
    std::string raw;
    for (size_t i = first; i <= last; ++i) raw += tokens_[i].raw;
    const std::string_view name = token.local_name();
    std::string key;
    for (const char* const attribute : {"startRef", "rid", "id"}) {
      if (key.empty()) key = token.Attribute(attribute);
    }
    builder_.Mark(BeginsCode(name) ? Kind::kOpen
                  : EndsCode(name) ? Kind::kClose
                                   : Kind::kKept,
                  raw, "#" + key);
  }

  const DocumentOptions& options_;
  SegmentBuilder& builder_;
  const LinePlaces lines_;
  const Tokens& tokens_;
  std::vector<XliffEdit> edits_;
  std::map<size_t, std::string> changed_tags_;  // new texts, by token
};

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadXliff(
    std::string_view data, const DocumentOptions& options) {
  TRIVIUM_ASSIGN_OR_RETURN(DecodedText source,
                           DecodeDocument(data, XmlEncoding(data)));
  TRIVIUM_ASSIGN_OR_RETURN(const Tokens tokens, XmlTokensOf(source.text));
  SegmentBuilder builder(Joined(EscapeMarkup));
  TRIVIUM_RETURN_IF_ERROR(
      XliffReader(source.text, tokens, options, &builder).Read());
  return NewTextDocument(std::move(source), std::move(builder),
                         DecodedText::Missing::kReference);
}

}  // namespace trivium
