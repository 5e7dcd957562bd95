#include "model/families/granite_hybrid.h"

#include <optional>
#include <string>
#include <vector>

#include "model/families/experts.h"
#include "model/families/granite.h"
#include "model/families/joined_linear.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/mixers.h"
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
  LlamaFamily family(json, weights, problems);
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  TensorMemory* const memory = &family.description.memory;
  // "nope", null and all others mean none.
  const ConfigReader::Layer positions = config->Find("position_embedding_type");
  if (positions.json != nullptr && *positions.json == "rope") {
    family.ReadRotary(/*usual_theta=*/10000);
  }
  LlamaTensors has =
      ReadGraniteFactors(config, &family.geometry, &family.description);
  has.attends = ReadAttendingLayers(config, {"linear_attention", "mamba"},
                                    {"full_attention", "attention"},
                                    std::vector<bool>(family.decoder.layers));
  Mamba2Config mamba =
      ReadMamba2Config(config, ReadMamba2Width(config, family.decoder.d_model),
                       /*usual_heads=*/128,
                       /*usual_state=*/256);
  mamba.activation = family.decoder.activation;
  const int shared =
      config->Integer("shared_intermediate_size", 1, kMaxWidth).value_or(1024);
  const ConfigReader::Layer all = config->Find(kGraniteExperts);
  ExpertCounts counts;
  if (all.json == nullptr || *all.json != 0) {
    counts = ReadExpertCounts(config, kGraniteExperts, {.all = 8, .chosen = 2});
  }
  const int d_model = family.decoder.d_model;
  return family.ReadModel(
      has, {family.geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int i, const std::string& name,
          LayerDescription* layer) {
        if (!has.attends[i]) {
          layer->mixer =
              ReadMamba2(tensors, name + "mamba.", mamba, {}, d_model, memory);
          ReadMamba2Norm(tensors, name + "mamba.", mamba, /*after_gate=*/true,
                         &*layer->mixer);
        }
        ReadGraniteFeedForward(tensors, name, counts, shared, family.decoder,
                               memory, layer);
      });
}

FamilyModel LoadGraniteMoe(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  LlamaFamily family(json, weights, problems);
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  family.ReadRotary(/*usual_theta=*/10000);
  const LlamaTensors has =
      ReadGraniteFactors(config, &family.geometry, &family.description);
  const ExpertCounts counts =
      ReadExpertCounts(config, kGraniteExperts, {.all = 8, .chosen = 2});
  // The first of the two families has no such feed-forward.
  const int shared =
      config->Integer("shared_intermediate_size", 0, kMaxWidth).value_or(0);
  return family.ReadModel(
      has, {family.geometry}, /*tied_by_default=*/false,
      [&](TensorReader* tensors, int, const std::string& name,
          LayerDescription* layer) {
        ReadGraniteFeedForward(tensors, name, counts, shared, family.decoder,
                               &family.description.memory, layer);
      });
}

}  // namespace trivium
