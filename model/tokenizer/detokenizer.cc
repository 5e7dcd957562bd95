#include "model/tokenizer/detokenizer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "model/tokenizer/utf8.h"

namespace trivium {
namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

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

void Detokenizer::FlushBytes(bool all, std::string* out) {
  while (!bytes_.empty()) {
    const size_t length = Utf8Length(bytes_, 0);
    const uint8_t first = static_cast<uint8_t>(bytes_[0]);
    const size_t wanted = Utf8LengthFromFirstByte(first);
    if (!all && length < wanted && bytes_.size() < wanted) return;
    if (length == 1 && first >= 0x80) {
      PushCharacters(kReplacementCharacter, out);
    } else {
      PushCharacters(bytes_.substr(0, length), out);
    }
    bytes_.erase(0, length);
  }
}

void Detokenizer::PushCharacters(std::string_view text, std::string* out) {
  std::string part;
  for (size_t at = 0; at < text.size();) {
    std::string_view character = text.substr(at, Utf8Length(text, at));
    at += character.size();
    if (character == kSpaceSymbol) character = " ";
    if (IsPythonSpace(character)) {
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
