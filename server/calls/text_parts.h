#ifndef TRIVIUM_SERVER_CALLS_TEXT_PARTS_H_
#define TRIVIUM_SERVER_CALLS_TEXT_PARTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "server/translation/sentences.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// An input as the model reads it, in parts: the sentences of a text, or the
// input itself.
struct TextParts {
  struct Part {
    TextSpan span;     // of a split text
    bool cut = false;  // not a whole sentence
    // What of the span is protected: ascending, apart.
    std::vector<TextSpan> kept = {};

    // The same, from the span's begin on.
    std::vector<TextSpan> KeptInSpan() const {
      std::vector<TextSpan> spans = kept;
      for (TextSpan& one : spans) {
        one = {one.begin - span.begin, one.end - span.begin};
      }
      return spans;
    }
  };
  bool split = false;
  std::string text;         // if split
  std::vector<Part> parts;  // in order; none of a blank text that is split

  std::vector<std::string_view> KeptOf(const Part& part) const {
    std::vector<std::string_view> texts;
    for (const TextSpan& span : part.kept) texts.push_back(span.Of(text));
    return texts;
  }
};

// One result of those of a split text's parts, [parts], as the messages
// describe it; `sentences`: tell where they are. A single one's hypotheses keep
// every number, and get the white space around. What they have `unkept` gets
// its characters' places.
v1::TranslateResult JoinParts(const TextParts& text,
                              std::vector<v1::TranslateResult> results,
                              bool sentences);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_TEXT_PARTS_H_
