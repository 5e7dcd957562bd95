#ifndef TRIVIUM_MODEL_TOKENIZER_TOKEN_BYTES_H_
#define TRIVIUM_MODEL_TOKENIZER_TOKEN_BYTES_H_

#include <cstdint>
#include <memory>
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
  // `tokenizer` outlives this. `joining`: the bytes of its joining decoder,
  // which it has.
  explicit TokenBytes(const Tokenizer& tokenizer, bool joining = false);

  struct Bytes {
    std::string bytes;
    bool special = false;  // the text does not have them
  };
  Bytes Of(int32_t id) const;
  // False if tokens could only be asked as the first of a text, which some
  // tokenizers treat in a way of its own.
  bool after_text() const { return before_ >= 0; }

 private:
  std::unique_ptr<StreamingDecoder> NewDecoder() const;

  const Tokenizer& tokenizer_;
  const bool joining_;
  // A token whose text is kBefore. Decoders treat the first token of a text in
  // a way of its own, so another stands before the one that is asked for.
  static constexpr char kBefore[] = "a";
  int32_t before_ = -1;  // -1: there is none
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_TOKENIZER_TOKEN_BYTES_H_
