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

absl::StatusOr<std::vector<MarkupPiece>> PiecesOf(std::string_view text,
                                                  MarkupFormat format) {
  return format == MarkupFormat::kXml ? XmlPieces(text) : HtmlPieces(text);
}

// Returns the name behind "<" or "</"; empty unless it is a tag's. HTML's names
// are in lower case.
std::string TagName(std::string_view tag, MarkupFormat format) {
  if (!tag.starts_with('<')) return {};
  tag.remove_prefix(tag.starts_with("</") ? 2 : 1);
  if (tag.empty() || tag[0] == '!' || tag[0] == '?') return {};
  std::string name(
      tag.substr(0, std::min(tag.find_first_of(" \t\r\n/>"), tag.size())));
  return format == MarkupFormat::kXml ? name : absl::AsciiStrToLower(name);
}

// True if something stands between the tag `pieces[i]` and its end tag.
bool IsFilled(std::string_view text, const std::vector<MarkupPiece>& pieces,
              size_t i) {
  const std::string_view tag = pieces[i].span.Of(text);
  return !tag.starts_with("</") && !tag.ends_with("/>") &&
         i + 1 < pieces.size() &&
         !pieces[i + 1].span.Of(text).starts_with("</");
}

}  // namespace

std::optional<DisputedTag> FindDisputedTag(std::string_view text,
                                           MarkupFormat format,
                                           const DeeplTags& tags) {
  const absl::StatusOr<std::vector<MarkupPiece>> pieces =
      PiecesOf(text, format);
  if (!pieces.ok()) return std::nullopt;
  // These tell of the tags between two words: whether one of them ends a
  // sentence or may, and the first ones that do what they should not.
  bool splits = false, may_split = false;
  std::string splitting, within;
  bool words = false;  // before it
  for (const MarkupPiece& piece : *pieces) {
    const std::string_view bytes = piece.span.Of(text);
    const std::string name = TagName(bytes, format);
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

std::string UntranslatedTags::Mark(std::string_view text,
                                   MarkupFormat format) const {
  const absl::StatusOr<std::vector<MarkupPiece>> pieces =
      PiecesOf(text, format);
  std::string marked;
  for (size_t i = 0; pieces.ok() && i < pieces->size(); ++i) {
    const MarkupPiece& piece = (*pieces)[i];
    std::string_view bytes = piece.span.Of(text);
    const bool opens = piece.kind == MarkupPiece::Kind::kOpen ||
                       piece.kind == MarkupPiece::Kind::kBreak;
    const std::string name = opens ? TagName(bytes, format) : "";
    if (names_.contains(name) && IsFilled(text, *pieces, i) &&
        bytes.find("translate=") == bytes.npos) {
      marked += bytes.substr(0, 1 + name.size());
      marked += attribute_;
      bytes.remove_prefix(1 + name.size());
    }
    marked += bytes;
  }
  // The call says what is wrong with a text that cannot be read.
  return pieces.ok() ? marked : std::string(text);
}

std::string UntranslatedTags::Unmark(std::string translation) const {
  if (names_.empty()) return translation;
  return absl::StrReplaceAll(translation, {{attribute_, ""}});
}

}  // namespace trivium
