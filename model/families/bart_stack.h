#ifndef TRIVIUM_MODEL_FAMILIES_BART_STACK_H_
#define TRIVIUM_MODEL_FAMILIES_BART_STACK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "model/families/family_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// Encoder-decoders with BART's names of keys and tensors: BART, mBART, M2M-100,
// Pegasus, Marian, LED, NLLB-MoE. The options say how they differ.
struct BartOptions {
  bool norm_before = false;  // before each sublayer, else after it
  bool final_norm = false;
  bool embedding_norm = false;
  // The decoder's positions come after that norm.
  bool positions_after_norm = false;
  // Sines and cosines, or kLearned with position_offset unused rows in front.
  PositionEncoding positions = PositionEncoding::kLearned;
  int position_offset = 0;
  std::optional<int32_t> position_padding_id = std::nullopt;
  // Activation if config.json names none.
  Activation activation = Activation::kGelu;
  bool scale_embedding = false;
  // True if both sides share one table of tokens. If not, each has its own, and
  // the decoder may have a vocabulary of its own.
  bool shared_embeddings = true;
  int decoder_vocabulary = 0;  // 0: the encoder's
  bool classifiers = false;    // there are classifiers of whole texts, too
  // The encoder's layers see windows, and each side has a number of positions
  // of its own (LED).
  bool windows = false;
  bool experts = false;           // in each n-th layer (NLLB-MoE)
  std::string prefix = "model.";  // that the names of tensors may begin with
};

// Reads the stacks and refuses models that neither generate nor classify texts.
// The output projection is tied to the decoder's tokens unless
// tie_word_embeddings is false. Returns an empty description if there are no
// tensors to read.
TransformerDescription ReadBart(const BartOptions& options,
                                FamilyReader* family);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_BART_STACK_H_
