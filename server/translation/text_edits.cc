#include "server/translation/text_edits.h"

#include <algorithm>
#include <utility>

namespace trivium {

EditedText::EditedText(std::string original, std::vector<TextEdit> edits)
    : original_(std::move(original)) {
  size_t at = 0;
  for (const TextEdit& edit : edits) {
    text_.append(original_, at, edit.span.begin - at);
    const size_t begin = text_.size();
    text_ += edit.replacement;
    changes_.push_back({{begin, text_.size()}, edit.span});
    at = edit.span.end;
  }
  text_.append(original_, at);
}

TextSpan EditedText::InOriginal(TextSpan span) const {
  // Changes that end before the first byte of the span move it.
  const auto first = std::partition_point(
      changes_.begin(), changes_.end(),
      [&](const Change& one) { return one.edited.end <= span.begin; });
  TextSpan in;
  if (first != changes_.end() && first->edited.begin <= span.begin) {
    in.begin = first->original.begin;
  } else if (first != changes_.begin()) {
    const Change& last = *(first - 1);
    in.begin = span.begin - last.edited.end + last.original.end;
  } else {
    in.begin = span.begin;
  }
  // Changes that begin before the end of the span move that.
  const auto after = std::partition_point(
      changes_.begin(), changes_.end(),
      [&](const Change& one) { return one.edited.begin < span.end; });
  if (after == changes_.begin()) {
    in.end = span.end;
  } else {
    const Change& last = *(after - 1);
    in.end = span.end <= last.edited.end
                 ? last.original.end
                 : span.end - last.edited.end + last.original.end;
  }
  in.end = std::max(in.begin, in.end);
  return in;
}

const EditedText::Change* EditedText::LastBefore(size_t at) const {
  const auto after = std::partition_point(
      changes_.begin(), changes_.end(),
      [at](const Change& one) { return one.original.begin < at; });
  return after == changes_.begin() ? nullptr : &*(after - 1);
}

size_t EditedText::InEdited(size_t at) const {
  const Change* const last = LastBefore(at);
  if (last == nullptr) return at;
  return at < last->original.end ? last->edited.begin
                                 : at - last->original.end + last->edited.end;
}

TextSpan EditedText::InEdited(TextSpan span) const {
  const Change* const last = LastBefore(span.end);
  const bool within = last != nullptr && span.end < last->original.end;
  return {InEdited(span.begin), within ? last->edited.end : InEdited(span.end)};
}

}  // namespace trivium
