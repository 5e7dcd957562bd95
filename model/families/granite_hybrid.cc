#include "model/families/granite_hybrid.h"

#include <optional>
#include <string>
#include <vector>

#include "model/families/family_reader.h"
#include "model/families/granite.h"
#include "model/families/joined_linear.h"
#include "model/families/llama_stack.h"
#include "model/families/mixers.h"
#include "model/families/mixtral.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

constexpr char kGraniteExperts[] = "num_local_experts";

// Reads a feed-forward that is `shared` wide, or experts, or both. `shared` and
// counts.all are 0 for what a layer does not have; one of them is not.
void ReadGraniteFeedForward(TensorReader* tensors, const std::string& name,
                            const ExpertCounts& counts, int shared,
                            const StackDescription& stack, TensorMemory* memory,
                            LayerDescription* layer) {
  const int d_model = stack.d_model;
  std::optional<ExpertTensors> every;
  if (shared > 0) {
    const std::string block = name + "shared_mlp.";
    const int64_t halves[] = {shared, shared};
    const auto both =
        ReadJoinedLinear(tensors, block + "input_linear", halves,
                         /*groups=*/1, d_model, /*bias=*/false, memory);
    every = {both[0], both[1],
             tensors->Linear(block + "output_linear", d_model, shared,
                             /*bias=*/false)};
  }
  if (counts.all == 0) {
    layer->gate = every->gate;
    layer->up = every->up;
    layer->down = every->down;
    return;
  }
  const std::string moe = name + "block_sparse_moe.";
  layer->experts = ReadStackedExperts(
      tensors,
      {.router = {moe + "router.layer.weight", moe + "router.weight"},
       .up = {moe + "input_linear.weight", moe + "experts.gate_up_proj"},
       .down = {moe + "output_linear.weight", moe + "experts.down_proj"}},
      counts, stack.feed_forward, d_model, memory);
  layer->experts->shared = every;
}

}  // namespace

FamilyModel LoadGraniteMoeHybrid(const nlohmann::json& json,
                                 const Weights* weights, Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  TensorMemory* const memory = &description.memory;
  AttentionGeometry geometry;
  model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  StackDescription& decoder =
      description.decoder.emplace(ReadLlamaConfig(config, {}, &geometry));
  // "nope", null and all others mean none.
  const ConfigReader::Layer positions = config->Find("position_embedding_type");
  if (positions.json != nullptr && *positions.json == "rope") {
    ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  }
  LlamaTensors has = ReadGraniteFactors(config, &geometry, &description);
  has.attends = ReadAttendingLayers(config, {"linear_attention", "mamba"},
                                    {"full_attention", "attention"},
                                    std::vector<bool>(decoder.layers));
  Mamba2Config mamba = ReadMamba2Config(
      config, ReadMamba2Width(config, decoder.d_model), /*usual_heads=*/128,
      /*usual_state=*/256);
  mamba.activation = decoder.activation;
  const int shared =
      config->Integer("shared_intermediate_size", 1, kMaxWidth).value_or(1024);
  const ConfigReader::Layer all = config->Find(kGraniteExperts);
  ExpertCounts counts;
  if (all.json == nullptr || *all.json != 0) {
    counts = ReadExpertCounts(config, kGraniteExperts, {.all = 8, .chosen = 2});
  }
  const int d_model = decoder.d_model;
  ReadLlamaModel(
      &family, has, {geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        if (!has.attends[i]) {
          layer->mixer =
              ReadMamba2(tensors, name + "mamba.", mamba, {}, d_model, memory);
          ReadMamba2Norm(tensors, name + "mamba.", mamba, /*after_gate=*/true,
                         &*layer->mixer);
        }
        ReadGraniteFeedForward(tensors, name, counts, shared, decoder, memory,
                               layer);
      },
      &description);
  return model;
}

FamilyModel LoadGraniteMoe(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  AttentionGeometry geometry;
  model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  StackDescription& decoder =
      description.decoder.emplace(ReadLlamaConfig(config, {}, &geometry));
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &decoder);
  const LlamaTensors has = ReadGraniteFactors(config, &geometry, &description);
  const ExpertCounts counts =
      ReadExpertCounts(config, kGraniteExperts, {.all = 8, .chosen = 2});
  // The first of the two families has no such feed-forward.
  const int shared =
      config->Integer("shared_intermediate_size", 0, kMaxWidth).value_or(0);
  ReadLlamaModel(
      &family, has, {geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        ReadGraniteFeedForward(tensors, name, counts, shared, decoder,
                               &description.memory, layer);
      },
      &description);
  return model;
}

}  // namespace trivium
