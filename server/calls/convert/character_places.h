#ifndef TRIVIUM_SERVER_CALLS_CONVERT_CHARACTER_PLACES_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_CHARACTER_PLACES_H_

#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "server/translation/sentences.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// Converts spans of a text, which have bytes, to spans of bytes and characters.
// Mostly they come in order: each begins where the one before ended, or later,
// or is that one again. Then the text is read once, and may still grow behind
// the span. A span before the last one's end reads the text from its beginning.
class CharacterPlaces {
 public:
  // `text` reaches at least to the span's end.
  v1::SentencePair::Span Next(std::string_view text, TextSpan span) {
    if (span == last_) return place_;
    last_ = span;
    if (span.begin < bytes_) bytes_ = characters_ = 0;
    place_.set_byte_begin(static_cast<uint32_t>(span.begin));
    place_.set_byte_end(static_cast<uint32_t>(span.end));
    place_.set_char_begin(Advance(text, span.begin));
    place_.set_char_end(Advance(text, span.end));
    return place_;
  }

 private:
  uint32_t Advance(std::string_view text, size_t end) {
    characters_ += static_cast<uint32_t>(
        CountCharacters(text.substr(bytes_, end - bytes_)));
    bytes_ = end;
    return characters_;
  }

  size_t bytes_ = 0;
  uint32_t characters_ = 0;
  TextSpan last_;
  v1::SentencePair::Span place_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_CHARACTER_PLACES_H_
