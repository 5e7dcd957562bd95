#include "model/families/mamba2.h"

#include <fmt/format.h>

#include <string>

#include "model/families/activation_names.h"
#include "model/families/family_reader.h"
#include "model/families/mamba_stack.h"
#include "model/families/mixers.h"

namespace trivium {
namespace {

Mamba2Config ReadSizes(ConfigReader* config, int d_model) {
  const size_t reported = config->problems()->size();
  Mamba2Config sizes = ReadOwnMamba2Config(config,
                                           {.heads = "num_heads",
                                            .head = "head_dim",
                                            .groups = "n_groups",
                                            .state = "state_size"},
                                           {.heads = 128,
                                            .groups = 8,
                                            .key_size = 128,
                                            .value_size = 64,
                                            .width = 4});
  const int expand = config->Integer("expand", 1, 64).value_or(2);
  // Sizes after a problem need not fit together.
  if (config->problems()->size() == reported &&
      int64_t{expand} * d_model != int64_t{sizes.heads} * sizes.value_size) {
    config->Report(
        "num_heads", config->Find("num_heads"),
        fmt::format("times head_dim, {}, it must be expand, {}, times "
                    "hidden_size, {}",
                    sizes.value_size, expand, d_model));
  }
  sizes.activation = ReadActivation(config, "hidden_act", Activation::kSwish);
  ReadMamba2RateBounds(config, &sizes);
  return sizes;
}

}  // namespace

FamilyModel LoadMamba2(const nlohmann::json& json, const Weights* weights,
                       Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  model.generation_defaults = {
      {"bos_token_id", 0}, {"eos_token_id", 2}, {"pad_token_id", 1}};
  const StackDescription& decoder =
      description.decoder.emplace(ReadMambaConfig(config));
  const Mamba2Config mamba = ReadSizes(config, decoder.d_model);
  ReadMambaModel(
      &family, weights, /*tied_by_default=*/false,
      [&](TensorReader* tensors, const std::string& name) {
        MixerDescription mixer = ReadMamba2(
            tensors, name, mamba, {}, decoder.d_model, &description.memory);
        ReadMamba2Norm(tensors, name, mamba, /*after_gate=*/true, &mixer);
        return mixer;
      },
      &description);
  return model;
}

}  // namespace trivium
