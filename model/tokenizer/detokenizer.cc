#include "model/tokenizer/detokenizer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "model/tokenizer/unicode.h"

namespace trivium {
namespace {

constexpr char32_t kSpaceSymbol = 0x2581;

}  // namespace

StreamingReplacer::StreamingReplacer(std::string from, std::string to)
    : from_(std::move(from)), to_(std::move(to)) {}

void StreamingReplacer::Push(std::string_view text, std::string* out) {
  held_ += text;
  size_t done = 0;
  for (size_t found = held_.find(from_); found != std::string::npos;
       found = held_.find(from_, done)) {
    out->append(held_, done, found - done);
    out->append(to_);
    done = found + from_.size();
  }
  size_t keep = std::min(from_.size() - 1, held_.size() - done);
  while (keep > 0 &&
         !held_.ends_with(std::string_view(from_).substr(0, keep))) {
    --keep;
  }
  out->append(held_, done, held_.size() - keep - done);
  held_.erase(0, held_.size() - keep);
}

void StreamingReplacer::Finish(std::string* out) {
  out->append(held_);
  held_.clear();
}

std::vector<StreamingReplacer> MakeCleanUp() {
  std::vector<StreamingReplacer> clean_up;
  // PreTrainedTokenizerBase.clean_up_tokenization, in its order.
  for (const auto& [from, to] : {std::pair{" .", "."},
                                 {" ?", "?"},
                                 {" !", "!"},
                                 {" ,", ","},
                                 {" ' ", "'"},
                                 {" n't", "n't"},
                                 {" 'm", "'m"},
                                 {" 's", "'s"},
                                 {" 've", "'ve"},
                                 {" 're", "'re"}}) {
    clean_up.emplace_back(from, to);
  }
  return clean_up;
}

Detokenizer::Detokenizer(bool clean_up_spaces) {
  if (clean_up_spaces) clean_up_ = MakeCleanUp();
}

void Detokenizer::PushText(std::string_view piece, std::string* out) {
  FlushBytes(/*all=*/true, out);
  PushCharacters(piece, out);
}

void Detokenizer::PushByte(uint8_t byte, std::string* out) {
  bytes_.push_back(static_cast<char>(byte));
  FlushBytes(/*all=*/false, out);
}

void Detokenizer::PushWord(std::string_view word, std::string* out) {
  if (started_) out->push_back(' ');
  started_ = true;
  out->append(word);
}

void Detokenizer::FlushBytes(bool all, std::string* out) {
  const size_t size = all ? bytes_.size() : WholeSize(bytes_);
  if (size == 0) return;
  std::string text;
  for (size_t at = 0; at < size;) {
    AppendUtf8(NextCharacter(bytes_, &at), &text);
  }
  bytes_.erase(0, size);
  PushCharacters(text, out);
}

void Detokenizer::PushCharacters(std::string_view text, std::string* out) {
  std::string part;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = NextCharacter(text, &at);
    const std::string_view character =
        c == kSpaceSymbol ? " " : text.substr(begin, at - begin);
    if (c == kSpaceSymbol || IsPythonSpace(c)) {
      if (started_) whitespace_ += character;
      continue;
    }
    started_ = true;
    part += whitespace_;
    whitespace_.clear();
    part += character;
  }
  for (StreamingReplacer& replacer : clean_up_) {
    std::string replaced;
    replacer.Push(part, &replaced);
    part = std::move(replaced);
  }
  out->append(part);
}

void Detokenizer::Finish(std::string* out) {
  FlushBytes(/*all=*/true, out);
  std::string part;
  for (StreamingReplacer& replacer : clean_up_) {
    std::string replaced;
    replacer.Push(part, &replaced);
    replacer.Finish(&replaced);
    part = std::move(replaced);
  }
  out->append(part);
}

}  // namespace trivium
