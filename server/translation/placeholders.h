#ifndef TRIVIUM_SERVER_TRANSLATION_PLACEHOLDERS_H_
#define TRIVIUM_SERVER_TRANSLATION_PLACEHOLDERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {

// What a model copies in place of spans that it must not translate: numbered
// from 1, as "<x1>". Models differ in what they copy, so there are several
// styles, those first that did best with the embedded model.
inline constexpr int kPlaceholderStyles = 3;

// The text of `sentence` in `text` with a placeholder for each of the spans,
// which are ascending, apart and in it; nothing where the rest of it has such
// a placeholder already.
std::optional<std::string> WithPlaceholders(std::string_view text,
                                            TextSpan sentence,
                                            const std::vector<TextSpan>& spans,
                                            int style);

// A text with placeholders of spans, and those put back.
struct Restored {
  std::string text;
  std::vector<int> counts;  // [spans], how often each was there
  // The text between the spans, for those that a model made up.
  std::vector<std::string> between;
  // It has a placeholder that no span has.
  bool stray = false;
  // A placeholder, and the span in its place.
  struct Place {
    size_t span = 0;       // its index
    TextSpan placeholder;  // of the translation
    TextSpan restored;     // of `text`
  };
  std::vector<Place> places;  // ascending
};
Restored RestoreSpans(std::string_view translation,
                      const std::vector<std::string_view>& spans, int style);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PLACEHOLDERS_H_
