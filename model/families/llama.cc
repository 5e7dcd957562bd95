#include "model/families/llama.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/families/derived_tensors.h"
#include "model/families/family_reader.h"
#include "model/families/llama_family.h"
#include "model/families/llama_stack.h"
#include "model/families/sizes.h"

namespace trivium {

namespace {

// The head of NVIDIA's bidirectional LLaMA
// (LlamaBidirectionalForSequenceClassification).
struct BidirectionalHead {
  HeadDescription::Input input = HeadDescription::Input::kMean;
  float factor = 1;  // of the logits
};

BidirectionalHead ReadBidirectionalHead(ConfigReader* config) {
  using Input = HeadDescription::Input;
  constexpr std::pair<std::string_view, Input> kPoolings[] = {
      {"avg", Input::kMean},
      {"cls", Input::kFirstToken},
      {"last", Input::kLastToken}};
  BidirectionalHead head;
  head.factor = static_cast<float>(
      1 / config->Real("temperature", 1e-6, 1e6).value_or(1));
  const std::string name = config->Text("pooling").value_or("avg");
  for (const auto& [known, input] : kPoolings) {
    if (known != name) continue;
    head.input = input;
    return head;
  }
  config->Report("pooling", config->Find("pooling"),
                 "give \"avg\", \"cls\" or \"last\"");
  return head;
}

void UseBidirectionalHead(const BidirectionalHead& read,
                          TransformerDescription* description) {
  if (!description->head) return;
  HeadDescription& head = *description->head;
  head.input = read.input;
  for (const TensorView** tensor : {&head.output.weight, &head.output.bias}) {
    if (*tensor == nullptr || read.factor == 1) continue;
    *tensor = Scaled(**tensor, read.factor, &description->memory);
  }
}

}  // namespace

FamilyModel LoadLlama(const nlohmann::json& json, const Weights* weights,
                      Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  TransformerDescription& description = model.description;
  const bool bidirec = config->Text("model_type") == "llama_bidirec";
  const bool both_ways = ReadBothWays(config) || bidirec;
  AttentionGeometry geometry;
  StackDescription& stack =
      (both_ways ? description.encoder : description.decoder)
          .emplace(ReadLlamaConfig(config, {.both_ways = true}, &geometry));
  if (both_ways) geometry.look_ahead = kAllKeys;
  BidirectionalHead head;
  if (bidirec) head = ReadBidirectionalHead(config);
  ReadLlamaRotary(config, /*usual_theta=*/10000, &geometry, &stack);
  LlamaTensors has;
  has.attention_bias = has.output_bias =
      config->Boolean("attention_bias").value_or(false);
  has.feed_forward_bias = config->Boolean("mlp_bias").value_or(false);
  // The split of the products in training; their sums are the same.
  config->Integer("pretraining_tp", 1, kMaxWidth);
  ReadLlamaModel(&family, has, {geometry}, /*tied_by_default=*/false,
                 &description);
  if (bidirec) UseBidirectionalHead(head, &description);
  return model;
}

namespace {

// Reads Mistral's layers, which all have a window or none unless `mixed`.
FamilyModel LoadMistralLike(const nlohmann::json& json, const Weights* weights,
                            const LlamaKeys& keys, const RotaryDefaults& rotary,
                            int usual_window, bool mixed, Problems* problems) {
  LlamaFamily family(json, weights, problems, keys);
  ConfigReader* const config = family.config();
  family.model.generation_defaults = {{"bos_token_id", 1}, {"eos_token_id", 2}};
  family.ReadRotary(rotary);
  // An explicit null means no window; a missing key means this one.
  int window = 0;
  if (!json.contains("sliding_window")) window = usual_window;
  window = config->Integer("sliding_window", 1, kMaxPositions).value_or(window);
  const std::vector<bool> all(family.decoder.layers, window > 0);
  const std::vector<bool> slides = ReadLayerTypes(config, all);
  if (!mixed && slides != all) {
    config->Report("layer_types", config->Find("layer_types"),
                   "layers of this family are alike: with a window, if "
                   "sliding_window is given, or without");
  }
  const std::vector<AttentionGeometry> geometries =
      SlidingGeometries(config, family.geometry, window, slides);
  return family.ReadModel({}, geometries, /*tied_by_default=*/false);
}

}  // namespace

FamilyModel LoadMistral(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  return LoadMistralLike(json, weights, {.kv_heads = 8}, {},
                         /*usual_window=*/4096, /*mixed=*/false, problems);
}

FamilyModel LoadMinistral(const nlohmann::json& json, const Weights* weights,
                          Problems* problems) {
  return LoadMistralLike(json, weights, {.kv_heads = 8}, {},
                         /*usual_window=*/4096, /*mixed=*/true, problems);
}

FamilyModel LoadMinistral3(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  return LoadMistralLike(
      json, weights, {.head_size = 128, .kv_heads = 8, .epsilon = 1e-5},
      {.theta = 1e6,
       .keys = {"llama_4_scaling_beta", "max_position_embeddings"}},
      /*usual_window=*/0, /*mixed=*/false, problems);
}

}  // namespace trivium
