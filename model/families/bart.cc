#include "model/families/bart.h"

#include <utility>

#include "model/families/bart_stack.h"
#include "model/families/family_reader.h"

namespace trivium {
namespace {

FamilyModel Load(const BartOptions& options, nlohmann::json generation_defaults,
                 const nlohmann::json& json, const Weights* weights,
                 Problems* problems) {
  FamilyReader family(json, weights, problems);
  return {.description = ReadBart(options, &family),
          .generation_defaults = std::move(generation_defaults)};
}

}  // namespace

FamilyModel LoadBart(const nlohmann::json& config, const Weights* weights,
                     Problems* problems) {
  return Load(
      {.embedding_norm = true, .position_offset = 2, .classifiers = true},
      {{"decoder_start_token_id", 2},
       {"eos_token_id", 2},
       {"forced_eos_token_id", 2}},
      config, weights, problems);
}

FamilyModel LoadMbart(const nlohmann::json& config, const Weights* weights,
                      Problems* problems) {
  return Load({.norm_before = true,
               .final_norm = true,
               .embedding_norm = true,
               .position_offset = 2},
              {{"eos_token_id", 2}, {"forced_eos_token_id", 2}}, config,
              weights, problems);
}

FamilyModel LoadM2m100(const nlohmann::json& config, const Weights* weights,
                       Problems* problems) {
  return Load({.norm_before = true,
               .final_norm = true,
               .positions = PositionEncoding::kSinusoidalToEnd,
               .position_offset = 2,
               .position_padding_id = 1,
               .activation = Activation::kRelu,
               .scale_embedding = true},
              {{"decoder_start_token_id", 2}, {"eos_token_id", 2}}, config,
              weights, problems);
}

FamilyModel LoadNllbMoe(const nlohmann::json& config, const Weights* weights,
                        Problems* problems) {
  return Load({.norm_before = true,
               .final_norm = true,
               .positions = PositionEncoding::kSinusoidalToEnd,
               .position_offset = 2,
               .position_padding_id = 1,
               .activation = Activation::kRelu,
               .scale_embedding = true,
               .experts = true},
              {{"decoder_start_token_id", 2}, {"eos_token_id", 2}}, config,
              weights, problems);
}

FamilyModel LoadLed(const nlohmann::json& config, const Weights* weights,
                    Problems* problems) {
  return Load({.embedding_norm = true, .windows = true, .prefix = "led."},
              {{"decoder_start_token_id", 2}, {"eos_token_id", 2}}, config,
              weights, problems);
}

FamilyModel LoadBlenderbot(const nlohmann::json& config, const Weights* weights,
                           Problems* problems) {
  return Load({.norm_before = true, .final_norm = true},
              {{"decoder_start_token_id", 1},
               {"bos_token_id", 1},
               {"eos_token_id", 2},
               {"pad_token_id", 0},
               {"forced_eos_token_id", 2},
               {"encoder_no_repeat_ngram_size", 3}},
              config, weights, problems);
}

FamilyModel LoadBlenderbotSmall(const nlohmann::json& config,
                                const Weights* weights, Problems* problems) {
  return Load({.embedding_norm = true, .positions_after_norm = true},
              {{"decoder_start_token_id", 1},
               {"bos_token_id", 1},
               {"eos_token_id", 2},
               {"pad_token_id", 0},
               {"forced_eos_token_id", 2}},
              config, weights, problems);
}

FamilyModel LoadPegasus(const nlohmann::json& config, const Weights* weights,
                        Problems* problems) {
  return Load({.norm_before = true,
               .final_norm = true,
               .positions = PositionEncoding::kSinusoidal},
              {{"decoder_start_token_id", 0},
               {"eos_token_id", 1},
               {"forced_eos_token_id", 1}},
              config, weights, problems);
}

}  // namespace trivium
