#include "model/families/mamba.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/family_reader.h"
#include "model/families/joined_linear.h"
#include "model/families/mamba_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

struct MambaSizes {
  int values = 0;  // the width inside
  int state = 0;
  int rate_width = 0;
  int width = 0;  // of the convolution
  bool bias = false;
  bool convolution_bias = true;
  std::optional<float> epsilon;  // see MixerDescription::selection_epsilon
};

MambaSizes ReadMambaSizes(ConfigReader* config, int d_model, bool falcon) {
  MambaSizes sizes;
  const int expand = config->Integer("expand", 1, 64).value_or(2);
  // Falcon-Mamba's folders have an expand that does not tell their width.
  sizes.values = config->Integer("intermediate_size", 1, kMaxWidth)
                     .value_or(expand * d_model);
  if (sizes.values > kMaxWidth) {
    config->Report("expand", config->Find("expand"),
                   fmt::format("times hidden_size, {}, it must be at most {}",
                               d_model, kMaxWidth));
  }
  sizes.state = config->Integer("state_size", 1, kMaxWidth / 4).value_or(16);
  constexpr char kRank[] = "time_step_rank";
  const ConfigReader::Layer rank = config->Find(kRank);
  sizes.rate_width = (d_model + 15) / 16;
  if (rank.json != nullptr && *rank.json != "auto") {
    sizes.rate_width =
        config->Integer(kRank, 1, kMaxWidth / 4).value_or(sizes.rate_width);
  }
  sizes.width = config->Integer("conv_kernel", 2, MixerDescription::kMostWidth)
                    .value_or(4);
  sizes.bias = config->Boolean("use_bias").value_or(false);
  sizes.convolution_bias = config->Boolean("use_conv_bias").value_or(true);
  // The gate has this activation, too, which the engine does not choose.
  constexpr char kActivation[] = "hidden_act";
  if (FindActivation(config->Text(kActivation).value_or("silu")) !=
      Activation::kSwish) {
    config->Report(kActivation, config->Find(kActivation),
                   "this server runs this family with \"silu\" only");
  }
  if (falcon) {
    sizes.epsilon =
        static_cast<float>(config->Real("mixer_rms_eps", 0, 1).value_or(1e-6));
  }
  return sizes;
}

// Reads the tensors of `name`, which ends with a dot.
MixerDescription ReadMixer(TensorReader* tensors, const std::string& name,
                           const MambaSizes& sizes, int d_model,
                           TensorMemory* memory) {
  const int values = sizes.values, state = sizes.state;
  MixerDescription mixer;
  mixer.kind = MixerDescription::Kind::kSelectiveScan;
  const int64_t rows[] = {values, values};
  const std::vector<LinearTensors> parts =
      ReadJoinedLinear(tensors, name + "in_proj", rows, /*groups=*/1, d_model,
                       sizes.bias, memory);
  mixer.channels = {parts[0]};
  mixer.gate = parts[1];
  mixer.selection = tensors->Linear(
      name + "x_proj", sizes.rate_width + 2 * state, values, /*bias=*/false);
  mixer.rate = tensors->Linear(name + "dt_proj", values, sizes.rate_width,
                               /*bias=*/false);
  mixer.rate_bias = tensors->Required(name + "dt_proj.bias", {values});
  mixer.rate_width = sizes.rate_width;
  mixer.selection_epsilon = sizes.epsilon;
  mixer.output =
      tensors->Linear(name + "out_proj", d_model, values, sizes.bias);
  mixer.width = sizes.width;
  mixer.convolution =
      tensors->Required(name + "conv1d.weight", {values, 1, sizes.width});
  if (sizes.convolution_bias) {
    mixer.convolution_bias = tensors->Required(name + "conv1d.bias", {values});
  }
  mixer.heads = mixer.key_heads = 1;
  mixer.key_size = state;
  mixer.value_size = values;
  mixer.decay = tensors->Required(name + "A_log", {values, state});
  mixer.skip = tensors->Required(name + "D", {values});
  return mixer;
}

FamilyModel Load(const nlohmann::json& json, const Weights* weights,
                 bool falcon, Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  model.generation_defaults = {
      {"bos_token_id", 0}, {"eos_token_id", 0}, {"pad_token_id", 0}};
  const StackDescription& decoder =
      description.decoder.emplace(ReadMambaConfig(config));
  const MambaSizes sizes = ReadMambaSizes(config, decoder.d_model, falcon);
  ReadMambaModel(
      &family, weights, /*tied_by_default=*/true,
      [&](TensorReader* tensors, const std::string& name) {
        return ReadMixer(tensors, name, sizes, decoder.d_model,
                         &description.memory);
      },
      &description);
  return model;
}

}  // namespace

FamilyModel LoadMamba(const nlohmann::json& config, const Weights* weights,
                      Problems* problems) {
  return Load(config, weights, /*falcon=*/false, problems);
}

FamilyModel LoadFalconMamba(const nlohmann::json& config,
                            const Weights* weights, Problems* problems) {
  return Load(config, weights, /*falcon=*/true, problems);
}

}  // namespace trivium
