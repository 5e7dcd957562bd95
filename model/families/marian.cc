#include "model/families/marian.h"

#include "model/families/bart_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// The first Marian folders, of 2020, still have BART's keys.
BartOptions ReadMarianOptions(ConfigReader* config) {
  BartOptions options;
  options.positions = PositionEncoding::kSinusoidal;
  options.shared_embeddings =
      config->Boolean("share_encoder_decoder_embeddings").value_or(true);
  const auto decoder_vocabulary =
      config->Integer("decoder_vocab_size", 1, kMaxVocabulary);
  if (!options.shared_embeddings) {
    options.decoder_vocabulary = decoder_vocabulary.value_or(0);
  }
  options.norm_before = config->Boolean("normalize_before").value_or(false);
  options.final_norm = config->Boolean("add_final_layer_norm").value_or(false);
  options.embedding_norm =
      config->Boolean("normalize_embedding").value_or(false);
  return options;
}

}  // namespace

FamilyModel LoadMarian(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  FamilyReader family(json, weights, problems);
  const BartOptions options = ReadMarianOptions(family.config());
  return {.description = ReadBart(options, &family),
          .generation_defaults = {{"decoder_start_token_id", 58100},
                                  {"eos_token_id", 0},
                                  {"forced_eos_token_id", 0}}};
}

}  // namespace trivium
