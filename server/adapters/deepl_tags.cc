#include "server/adapters/deepl_tags.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "base/utf8.h"

namespace trivium {
namespace {

// Returns the name behind "<" or "</"; empty unless it is a tag's.
std::string_view TagName(std::string_view tag) {
  if (!tag.starts_with('<')) return {};
  tag.remove_prefix(tag.starts_with("</") ? 2 : 1);
  if (tag.empty() || tag[0] == '!' || tag[0] == '?') return {};
  return tag.substr(0, std::min(tag.find_first_of(" \t\r\n/>"), tag.size()));
}

}  // namespace

std::optional<DisputedTag> FindDisputedTag(std::string_view text,
                                           MarkupFormat format,
                                           const DeeplTags& tags) {
  const bool xml = format == MarkupFormat::kXml;
  const absl::StatusOr<std::vector<MarkupPiece>> pieces =
      xml ? XmlPieces(text) : HtmlPieces(text);
  if (!pieces.ok()) return std::nullopt;
  // These tell of the tags between two words: whether one of them ends a
  // sentence or may, and the first ones that do what they should not.
  bool splits = false, may_split = false;
  std::string splitting, within;
  bool words = false;  // before it
  for (const MarkupPiece& piece : *pieces) {
    const std::string_view bytes = piece.span.Of(text);
    std::string name(TagName(bytes));
    if (!xml) name = absl::AsciiStrToLower(name);
    const bool asked = tags.splitting.contains(name);
    switch (piece.kind) {
      case MarkupPiece::Kind::kBreak:
        splits = true;
        if (name.empty() || asked || tags.ignored.contains(name) ||
            (tags.outline && !tags.non_splitting.contains(name))) {
          may_split = true;
        } else if (splitting.empty()) {
          splitting = name;
        }
        continue;
      case MarkupPiece::Kind::kOpen:
      case MarkupPiece::Kind::kClose:
      case MarkupPiece::Kind::kVoid:
        if (asked && within.empty()) within = name;
        continue;
      default:
        if (IsBlank(bytes)) continue;
    }
    if (words && splits && !may_split) {
      const bool listed = tags.non_splitting.contains(splitting);
      return {{listed ? "non_splitting_tags" : "outline_detection", splitting}};
    }
    if (words && !splits && !within.empty()) {
      return {{"splitting_tags", within}};
    }
    words = true;
    splits = may_split = false;
    splitting.clear();
    within.clear();
  }
  return std::nullopt;
}

void UntranslatedTags::Avoid(std::string_view text) {
  while (text.find(attribute_) != text.npos) attribute_.insert(0, " ");
}

std::string UntranslatedTags::Mark(std::string_view text) const {
  std::string marked;
  for (size_t at = text.find('<'); at != text.npos; at = text.find('<')) {
    const std::string_view name = TagName(text.substr(at));
    const size_t end = text.find('>', at);
    size_t copied = at + 1;
    if (end != text.npos && text[at + 1] != '/' &&
        names_.contains(std::string(name))) {
      const std::string_view tag = text.substr(at, end - at);
      const bool filled =
          !tag.ends_with('/') && !text.substr(end + 1).starts_with("</");
      copied += name.size();
      marked += text.substr(0, copied);
      if (filled && tag.find("translate=") == tag.npos) marked += attribute_;
    } else {
      marked += text.substr(0, copied);
    }
    text.remove_prefix(copied);
  }
  marked += text;
  return marked;
}

std::string UntranslatedTags::Unmark(std::string translation) const {
  if (names_.empty()) return translation;
  return absl::StrReplaceAll(translation, {{attribute_, ""}});
}

}  // namespace trivium
