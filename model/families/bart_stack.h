#ifndef TRIVIUM_MODEL_FAMILIES_BART_STACK_H_
#define TRIVIUM_MODEL_FAMILIES_BART_STACK_H_

#include <cstdint>
#include <optional>

#include "model/families/family_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// Encoder-decoders whose keys and tensors have BART's names: BART, mBART,
// M2M-100, Pegasus, Marian. What they differ in:
struct BartOptions {
  bool norm_before = false;  // each sublayer, else after it
  bool final_norm = false;
  bool embedding_norm = false;
  // Sines and cosines, or kLearned with position_offset rows before the first.
  PositionEncoding positions = PositionEncoding::kLearned;
  int position_offset = 0;
  std::optional<int32_t> position_padding_id = std::nullopt;
  // Where config.json names none.
  Activation activation = Activation::kGelu;
  bool scale_embedding = false;
  // One table of tokens for both sides, else each has its own, and the decoder
  // perhaps a vocabulary of its own.
  bool shared_embeddings = true;
  int decoder_vocabulary = 0;  // 0: the encoder's
};

// Refuses what does not generate text. The output projection is tied to the
// decoder's tokens unless tie_word_embeddings is false. Empty where there are
// no tensors to read.
TransformerDescription ReadBart(const BartOptions& options,
                                FamilyReader* family);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_BART_STACK_H_
