#ifndef TRIVIUM_MODEL_FAMILIES_BART_EXPERTS_H_
#define TRIVIUM_MODEL_FAMILIES_BART_EXPERTS_H_

#include <string>

#include "base/config_reader.h"
#include "model/families/experts.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"

namespace trivium {

// NLLB-MoE's experts, which are the same on both sides.
struct BartExperts {
  ExpertCounts counts;
  // Each step-th layer of the side has experts; 0: none has.
  int encoder_step = 0, decoder_step = 0;
  float factor = 1;  // of their outputs
  bool router_bias = false;
};

// `layers` are those of both sides. Refuses what would make a token's answer
// depend on other tokens or on chance.
BartExperts ReadBartExperts(ConfigReader* config, int layers);

// Reads the experts of the feed-forward `block`, which ends with a dot.
ExpertsDescription ReadBartExpertTensors(TensorReader* tensors,
                                         const std::string& block,
                                         const BartExperts& experts,
                                         const StackDescription& stack);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_BART_EXPERTS_H_
