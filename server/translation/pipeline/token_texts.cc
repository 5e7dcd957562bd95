#include "server/translation/pipeline/token_texts.h"

#include <algorithm>
#include <memory>

#include "model/search/stop_strings.h"

namespace trivium {

std::span<const int32_t> WithoutStopId(std::span<const int32_t> ids,
                                       std::span<const int32_t> stop_ids) {
  const bool stopped =
      !ids.empty() &&
      std::find(stop_ids.begin(), stop_ids.end(), ids.back()) != stop_ids.end();
  return ids.first(ids.size() - (stopped ? 1 : 0));
}

std::vector<TextSpan> SpansOfTokens(std::span<const int32_t> ids,
                                    const Tokenizer& tokenizer) {
  std::vector<TextSpan> spans(ids.size());
  const std::unique_ptr<StreamingDecoder> decoder =
      tokenizer.NewStreamingDecoder();
  size_t bytes = 0;
  // Tokens from here on have no text yet: the next text is theirs, too.
  size_t silent = 0;
  for (size_t i = 0; i <= ids.size(); ++i) {
    const size_t more = i < ids.size() ? decoder->Push(ids[i]).size()
                                       : decoder->Finish().size();
    if (more == 0) continue;
    const size_t last = std::min(i + 1, ids.size());
    std::fill(spans.begin() + silent, spans.begin() + last,
              TextSpan{bytes, bytes + more});
    bytes += more;
    silent = last;
  }
  return spans;
}

std::string TextOfTokens(std::span<const int32_t> ids,
                         std::span<const int32_t> stop_ids,
                         std::span<const std::string> stop,
                         const Tokenizer& tokenizer) {
  std::string text = tokenizer.Decode(WithoutStopId(ids, stop_ids));
  text.resize(std::min(text.size(), FindStop(text, stop)));
  return text;
}

}  // namespace trivium
