#ifndef TRIVIUM_SERVER_TRANSLATION_PLACEHOLDERS_H_
#define TRIVIUM_SERVER_TRANSLATION_PLACEHOLDERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/translation/sentences.h"

namespace trivium {

// Placeholders replace spans that a model must not translate; the model copies
// them. They are numbered from 1, as in "<x1>". Models differ in what they
// copy, so there are several styles. Those that worked best with the embedded
// model come first.
inline constexpr int kPlaceholderStyles = 3;

// Returns the text of `sentence` in `text` with a placeholder for each span.
// The spans must be ascending, disjoint and within the sentence. Returns
// nullopt if the rest of the sentence already has a placeholder of this style.
std::optional<std::string> WithPlaceholders(std::string_view text,
                                            TextSpan sentence,
                                            const std::vector<TextSpan>& spans,
                                            int style);

// A translation whose placeholders are replaced by the original spans.
struct Restored {
  std::string text;
  std::vector<int> counts;  // [spans]: number of its placeholders
  // The text before, between and after the spans, in which the caller can look
  // for spans that the model made up.
  std::vector<std::string> between;
  // True if the translation has a placeholder whose number no span has. It
  // stays in the text.
  bool stray = false;
  // A placeholder and the span that replaced it.
  struct Place {
    size_t span = 0;       // its index
    TextSpan placeholder;  // in the translation
    TextSpan restored;     // in `text`
  };
  std::vector<Place> places;  // ascending
};
Restored RestoreSpans(std::string_view translation,
                      const std::vector<std::string_view>& spans, int style);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PLACEHOLDERS_H_
