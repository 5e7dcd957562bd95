#ifndef TRIVIUM_MODEL_TOKENIZER_TOKEN_BYTES_H_
#define TRIVIUM_MODEL_TOKENIZER_TOKEN_BYTES_H_

#include <cstdint>
#include <string>

#include "model/tokenizer/tokenizer.h"

namespace trivium {

// Tells the bytes that tokens of the target side add to a text: " Paris" where
// the vocabulary spells "ĠParis" or "▁Paris". Bytes may be a part of a
// character. Special tokens, which add none, have the bytes of their names.
//
//   TokenBytes bytes(tokenizer);
//   bytes.Of(id)
class TokenBytes {
 public:
  // `tokenizer` outlives this.
  explicit TokenBytes(const Tokenizer& tokenizer);

  struct Bytes {
    std::string bytes;
    bool special = false;  // the text does not have them
  };
  Bytes Of(int32_t id) const;

 private:
  const Tokenizer& tokenizer_;
  // A token whose text is kBefore. Decoders treat the first token of a text in
  // a way of its own, so another stands before the one that is asked for.
  static constexpr char kBefore[] = "a";
  int32_t before_ = -1;  // -1: there is none
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TOKEN_BYTES_H_
