#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TEXT_PARTS_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TEXT_PARTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "server/translation/pipeline/translated_text.h"
#include "server/translation/sentences.h"

namespace trivium {

// An input in the parts that are translated by themselves: the sentences of a
// text, or the whole input.
struct TextParts {
  struct Part {
    TextSpan span;
    bool cut = false;  // less than a sentence
    // The protected spans within, as bytes of the text: ascending and apart.
    std::vector<TextSpan> protected_spans = {};

    // The protected spans as bytes of the part.
    std::vector<TextSpan> ProtectedInPart() const {
      std::vector<TextSpan> spans = protected_spans;
      for (TextSpan& one : spans) {
        one = {one.begin - span.begin, one.end - span.begin};
      }
      return spans;
    }
  };
  // The text is cut. If not, the one part is the whole input.
  bool split = false;
  std::string text;
  std::vector<Part> parts;  // in order; none of a blank text

  std::vector<std::string_view> ProtectedTexts(const Part& part) const {
    std::vector<std::string_view> texts;
    for (const TextSpan& span : part.protected_spans) {
      texts.push_back(span.Of(text));
    }
    return texts;
  }
};

// The translation of a split text of those of its parts, [parts]. A hypothesis
// of the whole joins the parts' hypotheses of the same rank; a part that has
// fewer repeats its last one. Sums, means and the worst finish reason follow.
// `sentences`: fill TranslatedText::sentences.
TranslatedText JoinParts(const TextParts& text,
                         std::vector<TranslatedText> translations,
                         bool sentences);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TEXT_PARTS_H_
