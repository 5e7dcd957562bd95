#ifndef TRIVIUM_MODEL_FAMILIES_MAMBA_STACK_H_
#define TRIVIUM_MODEL_FAMILIES_MAMBA_STACK_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "base/config_reader.h"
#include "model/families/family_reader.h"
#include "model/families/tensor_reader.h"
#include "model/transformer/description.h"
#include "model/weights/weights.h"

namespace trivium {

// The common parts of Mamba 1 and 2: decoders whose layers have a norm and a
// mixer, and nothing else.

// Reads the sizes, without those of the mixers.
StackDescription ReadMambaConfig(ConfigReader* config);

// Reads all tensors of the decoder, and its output projection or classifier.
// `read_mixer` reads those of the mixer `name`, which ends with a dot. Reads
// none after a problem, or without weights.
void ReadMambaModel(FamilyReader* family, const Weights* weights,
                    bool tied_by_default,
                    absl::FunctionRef<MixerDescription(TensorReader* tensors,
                                                       const std::string& name)>
                        read_mixer,
                    TransformerDescription* description);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_MAMBA_STACK_H_
