#include "model/families/gpt_oss.h"

#include <utility>
#include <vector>

#include "model/families/activation_names.h"
#include "model/families/derived_tensors.h"
#include "model/families/experts.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// A joined tensor of all experts in which columns become rows: [experts, in,
// out], or [experts, out] of a bias; or blocks of MXFP4 [experts, out, in].
class JoinedExperts {
 public:
  JoinedExperts(TensorReader* tensors, const std::string& name, int experts,
                int out, int in, TensorMemory* memory)
      : memory_(memory) {
    constexpr int kGroup = 32;
    if (tensors->Has(name + "_blocks") && in % kGroup == 0) {
      blocks_ = tensors->RequiredBytes(name + "_blocks",
                                       {experts, out, in / kGroup, kGroup / 2});
      scales_ =
          tensors->RequiredBytes(name + "_scales", {experts, out, in / kGroup});
    } else {
      weight_ = tensors->Required(name, {experts, in, out});
    }
    bias_ = tensors->Required(name + "_bias", {experts, out});
  }

  bool complete() const {
    return bias_ != nullptr &&
           (weight_ != nullptr || (blocks_ != nullptr && scales_ != nullptr));
  }
  // Returns every `step`th output of an expert, beginning with `first`.
  LinearTensors Outputs(int expert, int first, int step) const {
    return {weight_ != nullptr
                ? TransposedColumns(*weight_, expert, first, step, memory_)
                : Mxfp4Rows(*blocks_, *scales_, expert, first, step, memory_),
            TransposedColumns(*bias_, expert, first, step, memory_)};
  }

 private:
  TensorMemory* const memory_;
  const TensorView* weight_ = nullptr;
  const TensorView* blocks_ = nullptr;
  const TensorView* scales_ = nullptr;
  const TensorView* bias_ = nullptr;
};

ExpertsDescription ReadJoinedExperts(TensorReader* tensors,
                                     const std::string& name,
                                     const ExpertCounts& counts,
                                     const StackDescription& stack,
                                     TensorMemory* memory) {
  ExpertsDescription description;
  description.chosen = counts.chosen;
  description.router =
      tensors->Linear(name + "router", counts.all, stack.d_model);
  const int inner = stack.feed_forward;
  const std::string experts = name + "experts.";
  if (tensors->HasAnyWith(experts + "0.")) {  // the layout of GGUF files
    for (int e = 0; e < counts.all; ++e) {
      const std::string one = experts + std::to_string(e);
      description.experts.push_back(
          {tensors->Linear(one + ".gate_proj", inner, stack.d_model),
           tensors->Linear(one + ".up_proj", inner, stack.d_model),
           tensors->Linear(one + ".down_proj", stack.d_model, inner)});
    }
    return description;
  }
  const JoinedExperts gate_up(tensors, name + "experts.gate_up_proj",
                              counts.all, 2 * inner, stack.d_model, memory);
  const JoinedExperts down(tensors, name + "experts.down_proj", counts.all,
                           stack.d_model, inner, memory);
  if (!gate_up.complete() || !down.complete()) return description;
  for (int e = 0; e < counts.all; ++e) {
    description.experts.push_back({gate_up.Outputs(e, 0, 2),
                                   gate_up.Outputs(e, 1, 2),
                                   down.Outputs(e, 0, 1)});
  }
  return description;
}

// Adds the published models' rotary positions, which config.json may leave out.
nlohmann::json WithUsualRotary(nlohmann::json config) {
  if (config.value("rope_parameters", nlohmann::json()).is_null() &&
      config.value("rope_scaling", nlohmann::json()).is_null()) {
    config["rope_parameters"] = {
        {"rope_type", "yarn"}, {"factor", 32.0},
        {"beta_fast", 32.0},   {"beta_slow", 1.0},
        {"truncate", false},   {"original_max_position_embeddings", 4096}};
  }
  return config;
}

void CheckQuantization(ConfigReader* config) {
  const ConfigReader::Layer value = config->Find("quantization_config");
  if (value.json == nullptr) return;
  const auto method = value.json->find("quant_method");
  if (method == value.json->end() || *method != "mxfp4") {
    config->Report("quantization_config", value,
                   "this server reads mxfp4 of this family, or unquantized "
                   "weights");
  }
}

}  // namespace

FamilyModel LoadGptOss(const nlohmann::json& given, const Weights* weights,
                       Problems* problems) {
  const nlohmann::json json = WithUsualRotary(given);
  LlamaFamily family(json, weights, problems,
                     {.head_size = 64, .kv_heads = 8, .epsilon = 1e-5});
  ConfigReader* const config = family.config();
  family.ReadRotary(/*usual_theta=*/150000);
  constexpr char kActivation[] = "hidden_act";
  if (family.decoder.activation != Activation::kSwish) {
    config->Report(kActivation, config->Find(kActivation),
                   "gates of this family are clipped silu");
  }
  family.decoder.gate_clip = GateClip{
      .alpha = static_cast<float>(
          config->Real("swiglu_alpha", 0, 1e6).value_or(1.702)),
      .limit =
          static_cast<float>(config->Real("swiglu_limit", 0, 1e6).value_or(7))};
  const int window =
      config->Integer("sliding_window", 1, kMaxPositions).value_or(128);
  std::vector<bool> slides(family.decoder.layers);
  for (int i = 0; i < family.decoder.layers; ++i) slides[i] = i % 2 == 0;
  const std::vector<AttentionGeometry> geometries = SlidingGeometries(
      config, family.geometry, window, ReadLayerTypes(config, slides));
  const ExpertCounts counts =
      ReadExpertCounts(config, "num_local_experts", {.all = 128, .chosen = 4});
  CheckQuantization(config);
  LlamaTensors has;
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(true);
  return family.ReadModel(
      has, geometries, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        layer->self_attention.sinks = tensors->RequiredOneOf(
            {name + "self_attn.sinks", name + "self_attn.sinks.weight"},
            {family.decoder.heads});
        layer->experts =
            ReadJoinedExperts(tensors, name + "mlp.", counts, family.decoder,
                              &family.description.memory);
      });
}

}  // namespace trivium
