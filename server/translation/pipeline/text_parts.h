#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TEXT_PARTS_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TEXT_PARTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "server/translation/pipeline/translated_text.h"
#include "server/translation/sentences.h"
#include "server/translation/text_edits.h"

namespace trivium {

// The most bytes of a sentence. A longer part is no sentence that somebody
// wrote, so text stages that look at sentences leave it to the model.
inline constexpr size_t kLongestSentence = 4096;

// An input, divided into parts that are translated separately: the sentences of
// a text, or the whole input.
struct TextParts {
  struct Part {
    TextSpan span;
    bool cut = false;  // a part of a sentence
    // The protected spans in the part, as bytes of the text. They ascend and do
    // not overlap.
    std::vector<TextSpan> protected_spans = {};

    // Returns the protected spans as bytes of the part.
    std::vector<TextSpan> ProtectedInPart() const {
      std::vector<TextSpan> spans = protected_spans;
      for (TextSpan& one : spans) {
        one = {one.begin - span.begin, one.end - span.begin};
      }
      return spans;
    }
  };
  // True if the text is cut into parts. If not, the one part is the whole
  // input.
  bool split = false;
  std::string text;
  std::vector<Part> parts;  // in order; none if the text is blank
  // The spaces of `text` that are or were unusual ones (unusual_spaces.h), in
  // order.
  std::vector<TextEdit> spaces = {};
  // The mark of a label's key, which `text` lacks, and its letter: "&F".
  std::string mnemonic = {};

  std::vector<std::string_view> ProtectedTexts(const Part& part) const {
    std::vector<std::string_view> texts;
    for (const TextSpan& span : part.protected_spans) {
      texts.push_back(span.Of(text));
    }
    return texts;
  }

  // Returns the spaces within a span, as bytes of it.
  std::vector<TextEdit> SpacesIn(TextSpan span) const;
};

// Joins the translations of a split text's parts, [parts]. A hypothesis of the
// whole joins the parts' hypotheses of the same rank; a part that has fewer
// repeats its last one. Counts and log-probabilities add up, the score is the
// mean over tokens, and the worst finish reason counts. `sentences`: fill
// TranslatedText::sentences.
TranslatedText JoinParts(const TextParts& text,
                         std::vector<TranslatedText> translations,
                         bool sentences);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TEXT_PARTS_H_
