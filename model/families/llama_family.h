#ifndef TRIVIUM_MODEL_FAMILIES_LLAMA_FAMILY_H_
#define TRIVIUM_MODEL_FAMILIES_LLAMA_FAMILY_H_

#include <utility>
#include <vector>

#include "model/families/family_reader.h"
#include "model/families/llama_stack.h"
#include "model/families/registry.h"
#include "model/families/rotary_config.h"
#include "model/transformer/description.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A decoder of LLaMA's kind while its folder is read:
//
//   LlamaFamily family(json, weights, problems, {.epsilon = 1e-5});
//   family.ReadRotary(/*usual_theta=*/10000);
//   LlamaTensors has;  // filled from family.config()
//   return family.ReadModel(has, {family.geometry}, /*tied_by_default=*/false);
class LlamaFamily : public FamilyReader {
 public:
  // Reads the sizes: see ReadLlamaConfig. All but `keys` must outlive this.
  LlamaFamily(const nlohmann::json& json, const Weights* weights,
              Problems* problems, const LlamaKeys& keys = {})
      : FamilyReader(json, weights, problems),
        decoder(description.decoder.emplace(
            ReadLlamaConfig(config(), keys, &geometry))) {}
  LlamaFamily(const LlamaFamily&) = delete;
  LlamaFamily& operator=(const LlamaFamily&) = delete;

  // Reads rotary positions that all layers share: see ReadLlamaRotary.
  void ReadRotary(double usual_theta) {
    ReadLlamaRotary(config(), usual_theta, &geometry, &decoder);
  }
  void ReadRotary(const RotaryDefaults& defaults) {
    ReadLlamaRotary(config(), defaults, &geometry, &decoder);
  }

  // Reads the tensors (see ReadLlamaModel) and returns `model`. Call it last.
  FamilyModel ReadModel(const LlamaTensors& has,
                        const std::vector<AttentionGeometry>& geometries,
                        bool tied_by_default) {
    ReadLlamaModel(this, has, geometries, tied_by_default, &description);
    return std::move(model);
  }
  FamilyModel ReadModel(const LlamaTensors& has,
                        const std::vector<AttentionGeometry>& geometries,
                        bool tied_by_default, LlamaLayerReader read_rest) {
    ReadLlamaModel(this, has, geometries, tied_by_default, read_rest,
                   &description);
    return std::move(model);
  }

  FamilyModel model;
  TransformerDescription& description = model.description;
  // The geometry of a layer that sees everything before it.
  AttentionGeometry geometry;
  StackDescription& decoder;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_FAMILIES_LLAMA_FAMILY_H_
