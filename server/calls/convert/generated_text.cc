#include "server/calls/convert/generated_text.h"

namespace trivium {

std::vector<TextSpan> SpansOfTokens(std::span<const int32_t> ids,
                                    const Tokenizer& tokenizer) {
  std::vector<TextSpan> spans(ids.size());
  const std::unique_ptr<StreamingDecoder> decoder =
      tokenizer.NewStreamingDecoder();
  size_t said = 0, silent = 0;
  for (size_t i = 0; i <= ids.size(); ++i) {
    const size_t bytes = i < ids.size() ? decoder->Push(ids[i]).size()
                                        : decoder->Finish().size();
    if (bytes == 0) continue;
    const size_t last = std::min(i + 1, ids.size());
    std::fill(spans.begin() + silent, spans.begin() + last,
              TextSpan{said, said + bytes});
    said += bytes;
    silent = last;
  }
  return spans;
}

}  // namespace trivium
