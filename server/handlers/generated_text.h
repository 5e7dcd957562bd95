#ifndef TRIVIUM_SERVER_HANDLERS_GENERATED_TEXT_H_
#define TRIVIUM_SERVER_HANDLERS_GENERATED_TEXT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/search/stop_strings.h"
#include "model/tokenizer/tokenizer.h"

namespace trivium {

// The text of one hypothesis while its tokens arrive: whole characters, never
// taken back, cut before the first stop string.
class GeneratedText {
 public:
  // `tokenizer` may be null: there is no text then.
  GeneratedText(const Tokenizer* tokenizer, std::vector<std::string> stop)
      : decoder_(tokenizer == nullptr ? nullptr
                                      : tokenizer->NewStreamingDecoder()),
        filter_(std::move(stop)) {}

  // The text that became certain.
  std::string Push(std::span<const int32_t> ids) {
    std::string text;
    count_ += ids.size();
    if (decoder_ == nullptr) return text;
    for (const int32_t id : ids) text += filter_.Push(decoder_->Push(id));
    return text;
  }

  // The rest; once.
  std::string Finish() {
    if (decoder_ == nullptr) return "";
    return filter_.Push(decoder_->Finish()) + filter_.Finish();
  }

  // Tokens pushed.
  size_t count() const { return count_; }

 private:
  std::unique_ptr<StreamingDecoder> decoder_;
  StopStringFilter filter_;
  size_t count_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_GENERATED_TEXT_H_
