#include "model/families/gemma4.h"

#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "model/families/decoder_stack.h"
#include "model/families/derived_tensors.h"
#include "model/families/experts.h"
#include "model/families/family_reader.h"
#include "model/families/gemma4_config.h"
#include "model/families/llama_stack.h"

namespace trivium {
namespace {

class Gemma4Reader {
 public:
  Gemma4Reader(const Gemma4Config& config, TensorReader* tensors,
               StackDescription* stack, TensorMemory* memory)
      : config_(config), tensors_(tensors), stack_(stack), memory_(memory) {}

  // `weights` have the tensors.
  void ReadTokenInputs(const Weights* weights) const {
    const int width = config_.token_width, all = stack_->layers * width;
    if (width == 0) return;
    TokenInputsDescription& inputs = stack_->token_inputs.emplace();
    inputs.width = width;
    // The table is as large as all layers, but a token reads one row of it.
    inputs.in_place = weights;
    // Both parts of the sum are multiplied by sqrt(1 / 2).
    inputs.scale = std::sqrt(static_cast<float>(width) / 2);
    inputs.tokens = tensors_->Required("embed_tokens_per_layer.weight",
                                       {config_.token_vocabulary, all});
    inputs.projection = Linear("per_layer_model_projection", all,
                               stack_->d_model, /*bias=*/false);
    inputs.norm = Norm("per_layer_projection_norm", width);
    if (inputs.norm.weight != nullptr) {
      inputs.norm.weight =
          Scaled(*inputs.norm.weight, std::sqrt(0.5f), memory_);
    }
    // Transformers divides the product by sqrt(d_model). The norm cancels that
    // but for its epsilon.
    inputs.norm_epsilon =
        stack_->norm_epsilon * static_cast<float>(stack_->d_model);
  }

  AttentionDescription Attention(int i, const std::string& name) const {
    const AttentionGeometry& geometry = config_.geometries[i];
    const int d_model = stack_->d_model, size = geometry.head_size;
    const int width = geometry.query_width(), kv_width = geometry.kv_width();
    AttentionDescription attention;
    attention.geometry = geometry;
    attention.query = Linear(name + "q_proj", width, d_model, config_.bias);
    attention.output = Linear(name + "o_proj", d_model, width, config_.bias);
    attention.query_norm = Norm(name + "q_norm", size);
    if (geometry.reads >= 0) return attention;
    attention.key = Linear(name + "k_proj", kv_width, d_model, config_.bias);
    if (config_.slides[i] || !config_.key_is_value) {
      attention.value =
          Linear(name + "v_proj", kv_width, d_model, config_.bias);
    }
    attention.key_norm = Norm(name + "k_norm", size);
    attention.value_norm = BareNorm(size, NormTensors::Kind::kRms, memory_);
    return attention;
  }

  void ReadRest(int i, const std::string& name, LayerDescription* layer) const {
    const bool wide = config_.wide_sharers && config_.geometries[i].reads >= 0;
    ReadGatedFeedForward(tensors_, name + "mlp.",
                         stack_->feed_forward * (wide ? 2 : 1),
                         /*bias=*/false, stack_->d_model, layer);
    if (config_.experts > 0) ReadExpertsBeside(name, layer);
    const TensorView* const factor =
        tensors_->Required(name + "layer_scalar", {1});
    if (factor != nullptr && factor->has_values()) {
      CopyToF32(*factor, 0, std::span(&layer->factor, 1));
    }
    const int width = config_.token_width, d_model = stack_->d_model;
    if (width == 0) return;
    layer->token_input = {
        Linear(name + "per_layer_input_gate", width, d_model, /*bias=*/false),
        Linear(name + "per_layer_projection", d_model, width, /*bias=*/false),
        Norm(name + "post_per_layer_input_norm", d_model)};
  }

 private:
  void ReadExpertsBeside(const std::string& name,
                         LayerDescription* layer) const {
    const int d_model = stack_->d_model;
    ExpertsDescription experts =
        ReadStackedExperts(tensors_,
                           {.router = {name + "router.proj.weight"},
                            .up = {name + "experts.gate_up_proj"},
                            .down = {name + "experts.down_proj"}},
                           {config_.experts, config_.chosen},
                           config_.expert_inner, d_model, memory_);
    experts.scales =
        tensors_->Required(name + "router.per_expert_scale", {config_.experts});
    experts.shared = {*std::exchange(layer->gate, std::nullopt),
                      std::exchange(layer->up, {}),
                      std::exchange(layer->down, {})};
    const TensorView* scale =
        tensors_->Required(name + "router.scale", {d_model});
    if (scale != nullptr) {
      scale =
          Scaled(*scale, 1 / std::sqrt(static_cast<float>(d_model)), memory_);
    }
    experts.beside = {
        .router = {.weight = scale, .kind = NormTensors::Kind::kRms},
        .of_input = Norm(name + "pre_feedforward_layernorm_2", d_model),
        .of_experts = Norm(name + "post_feedforward_layernorm_2", d_model),
        .of_shared = Norm(name + "post_feedforward_layernorm_1", d_model)};
    layer->experts = std::move(experts);
  }

  LinearTensors Linear(const std::string& name, int out, int in,
                       bool bias) const {
    return tensors_->Linear(name, out, in, bias);
  }
  NormTensors Norm(const std::string& name, int size) const {
    return {.weight = tensors_->Required(name + ".weight", {size}),
            .kind = NormTensors::Kind::kRms};
  }

  const Gemma4Config& config_;
  TensorReader* const tensors_;
  StackDescription* const stack_;
  TensorMemory* const memory_;
};

}  // namespace

FamilyModel LoadGemma4Text(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  FamilyModel model;
  model.generation_defaults = {
      {"bos_token_id", 2}, {"eos_token_id", 1}, {"pad_token_id", 0}};
  TransformerDescription& description = model.description;
  StackDescription& decoder = description.decoder.emplace();
  const Gemma4Config config = ReadGemma4Config(family.config(), json, &decoder);
  description.logit_soft_cap = config.logit_soft_cap;
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;

  const Gemma4Reader reader(config, tensors, &decoder, &description.memory);
  reader.ReadTokenInputs(weights);
  LlamaTensors has = {.norms = kGemmaNorms};
  has.read_attention = [&](TensorReader*, int i, const std::string& name) {
    return reader.Attention(i, name);
  };
  ReadLlamaTensors(
      tensors, has, config.geometries,
      [&](TensorReader*, int i, const std::string& name,
          LayerDescription* layer) { reader.ReadRest(i, name, layer); },
      &decoder);
  ReadOutputProjection(family.config(), /*tied_by_default=*/true, tensors,
                       &description);
  return model;
}

}  // namespace trivium
