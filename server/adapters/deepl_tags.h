#ifndef TRIVIUM_SERVER_ADAPTERS_DEEPL_TAGS_H_
#define TRIVIUM_SERVER_ADAPTERS_DEEPL_TAGS_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "server/translation/markup_pieces.h"

namespace trivium {

// The lists of tags in a request. Of HTML and XML this server knows by itself
// which tags end a sentence, so lists of those must agree with the texts.
struct DeeplTags {
  std::set<std::string> splitting, non_splitting, ignored;
  // If not set, only tags of `splitting` end a sentence.
  bool outline = true;
};

// A tag of a text, and the member of a request that asks something else of it.
struct DisputedTag {
  std::string_view member;  // "splitting_tags"
  std::string name;
};
// Returns the first such tag, or nullopt. A text that cannot be read has none.
std::optional<DisputedTag> FindDisputedTag(std::string_view text,
                                           MarkupFormat format,
                                           const DeeplTags& tags);

// The contents of ignored tags come through as they are, which the attribute
// translate="no" says. It is written so that it can be told from a text's own.
//
//   UntranslatedTags tags({"x"});
//   tags.Avoid(text);                    // of each text, before any is marked
//   std::string marked = tags.Mark(text, format);
//   tags.Unmark(translation)
class UntranslatedTags {
 public:
  explicit UntranslatedTags(std::set<std::string> names = {})
      : names_(std::move(names)) {}

  void Avoid(std::string_view text);
  // Leaves tags with nothing in them as they are: they stand for no words.
  std::string Mark(std::string_view text, MarkupFormat format) const;
  std::string Unmark(std::string translation) const;

 private:
  std::set<std::string> names_;
  std::string attribute_ = "  translate=\"no\"";
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_DEEPL_TAGS_H_
