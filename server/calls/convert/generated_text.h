#ifndef TRIVIUM_SERVER_CALLS_CONVERT_GENERATED_TEXT_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_GENERATED_TEXT_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "model/search/stop_strings.h"
#include "model/tokenizer/tokenizer.h"
#include "server/translation/pipeline/token_texts.h"

namespace trivium {

// The text that follows a prompt, while its tokens arrive: the text of both
// without that of the prompt. A tokenizer that read only the new tokens would
// drop a space before the first word, and could not complete a character that
// the prompt began.
class ContinuedText {
 public:
  // An empty prompt is allowed. `joining`: as the tokenizer's joining decoder
  // has it, which must be there. `written` are texts of special tokens by id,
  // which the text has, too; null: none. All pointers outlive this.
  ContinuedText(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                bool joining,
                const std::map<int32_t, std::string>* written = nullptr)
      : tokenizer_(tokenizer), joining_(joining), written_(written) {
    // Earlier tokens never change the text of a token.
    constexpr size_t kContext = 32;
    prompt = prompt.last(std::min(prompt.size(), kContext));
    prompt_.assign(prompt.begin(), prompt.end());
    Begin();
  }

  // Returns the text that became certain, as StreamingDecoder does.
  std::string Push(int32_t id) {
    if (written_ != nullptr) {
      if (const auto found = written_->find(id); found != written_->end()) {
        // Whatever the decoder holds back stands before the token.
        std::string text = Finish() + found->second;
        Begin();
        return text;
      }
    }
    return Skip(decoder_->Push(id));
  }
  std::string Finish() { return Skip(decoder_->Finish()); }

 private:
  std::unique_ptr<StreamingDecoder> NewDecoder() const {
    return joining_ ? tokenizer_.NewJoiningDecoder()
                    : tokenizer_.NewStreamingDecoder();
  }
  // Begins behind the prompt.
  void Begin() {
    const auto whole = NewDecoder();
    said_.clear();
    for (const int32_t id : prompt_) said_ += whole->Push(id);
    said_ += whole->Finish();
    decoder_ = NewDecoder();
    for (const int32_t id : prompt_) Skip(decoder_->Push(id));
  }
  // Drops the characters of the prompt's own text. If the prompt ends within a
  // character, its last one differs from that of both together.
  std::string Skip(std::string text) {
    size_t same = 0;
    while (same < text.size() && !said_.empty()) {
      const size_t size =
          FirstCodePoint(std::string_view(text).substr(same)).size;
      if (said_.compare(0, size, text, same, size) != 0) {
        said_.clear();
        break;
      }
      said_.erase(0, size);
      same += size;
    }
    text.erase(0, same);
    return text;
  }

  const Tokenizer& tokenizer_;
  const bool joining_;
  const std::map<int32_t, std::string>* const written_;
  std::vector<int32_t> prompt_;  // its last tokens
  std::unique_ptr<StreamingDecoder> decoder_;
  std::string said_;  // the prompt's text that the decoder has yet to give
};

// The text of one hypothesis while its tokens arrive: whole characters, never
// taken back, cut before the first stop string, or behind it if `keep_stop`.
class GeneratedText {
 public:
  // `tokenizer` null: there is no text. `prompt`, `joining` and `written` are
  // ContinuedText's. `hidden_ids` have no text at the end.
  GeneratedText(const Tokenizer* tokenizer, std::span<const int32_t> prompt,
                bool joining, std::vector<std::string> stop, bool keep_stop,
                std::vector<int32_t> hidden_ids,
                const std::map<int32_t, std::string>* written = nullptr)
      : filter_(std::move(stop), keep_stop),
        hidden_ids_(std::move(hidden_ids)) {
    if (tokenizer != nullptr) {
      text_ =
          std::make_unique<ContinuedText>(*tokenizer, prompt, joining, written);
    }
  }

  // Returns the text that became certain.
  std::string Push(std::span<const int32_t> ids) {
    std::string text;
    count_ += ids.size();
    if (text_ == nullptr) return text;
    for (const int32_t id : WithoutStopId(ids, hidden_ids_)) {
      text += filter_.Push(text_->Push(id));
    }
    return text;
  }

  // Returns the rest; called once.
  std::string Finish() {
    if (text_ == nullptr) return "";
    std::string rest = filter_.Push(text_->Finish());
    return rest + filter_.Finish();
  }

  // The stop string that was found; null if there is none.
  const std::string* stopped_by() const { return filter_.stopped_by(); }
  // The number of tokens pushed.
  size_t count() const { return count_; }

 private:
  std::unique_ptr<ContinuedText> text_;
  StopStringFilter filter_;
  const std::vector<int32_t> hidden_ids_;
  size_t count_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_GENERATED_TEXT_H_
