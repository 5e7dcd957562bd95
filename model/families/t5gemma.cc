#include "model/families/t5gemma.h"

#include <optional>
#include <string>

#include "model/families/decoder_stack.h"
#include "model/families/encoder_head.h"
#include "model/families/family_reader.h"
#include "model/families/gemma.h"
#include "model/families/llama_stack.h"

namespace trivium {
namespace {

// Reads config.json's object `side`, "encoder" or "decoder".
Gemma2Stack ReadSide(const std::string& side, ConfigReader* config) {
  const ConfigReader::Layer own = config->Find(side);
  if (own.json == nullptr || !own.json->is_object()) {
    config->Report(side, own, "give the sizes of that side as an object");
    return {};
  }
  ConfigReader reader({{"config.json: " + side, own.json}}, config->problems());
  Gemma2Stack gemma =
      ReadGemma2Stack(*own.json, /*both_ways=*/side == "encoder", &reader);
  gemma.has.norms.before_attention = "pre_self_attn_layernorm";
  gemma.has.norms.of_attention = "post_self_attn_layernorm";
  return gemma;
}

// Reads the cross-attention of layer `name` to states that are `source_width`
// wide.
void ReadCross(TensorReader* tensors, const std::string& name,
               const Gemma2Stack& gemma, int source_width, int d_model,
               LayerDescription* layer) {
  AttentionGeometry geometry = layer->self_attention.geometry;
  geometry.rotary = AttentionGeometry::kNoRotary;
  geometry.look_back = geometry.look_ahead = kAllKeys;
  const std::string attention = name + "cross_attn.";
  const int width = geometry.query_width(), kv_width = geometry.kv_width();
  const auto linear = [&](const char* part, int out, int in, bool bias) {
    return tensors->Linear(attention + part, out, in, bias);
  };
  const bool bias = gemma.has.attention_bias;
  layer->cross_attention = {
      geometry, linear("q_proj", width, d_model, bias),
      linear("k_proj", kv_width, source_width, bias),
      linear("v_proj", kv_width, source_width, bias),
      linear("o_proj", d_model, width, gemma.has.output_bias)};
  const auto norm = [&](const std::string& part) -> NormTensors {
    return {.weight = tensors->Required(name + part + ".weight", {d_model}),
            .kind = NormTensors::Kind::kRms,
            .one_plus_weight = true};
  };
  layer->cross_attention_norms = {
      .before = norm("pre_cross_attn_layernorm"),
      .of_output = norm("post_cross_attn_layernorm"),
      .after = std::nullopt};
}

}  // namespace

FamilyModel LoadT5Gemma(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  model.generation_defaults = {{"decoder_start_token_id", 2},
                               {"bos_token_id", 2},
                               {"eos_token_id", 1},
                               {"pad_token_id", 0}};
  RefuseOtherHeads(config);
  if (ArchitectureEndsWith(config, "EncoderModel")) {
    config->Report("architectures", config->Find("architectures"),
                   "this server runs this family with its decoder only");
  }
  const Gemma2Stack encoder = ReadSide("encoder", config);
  const Gemma2Stack decoder = ReadSide("decoder", config);
  TransformerDescription& description = model.description;
  description.encoder = encoder.stack;
  description.decoder = decoder.stack;
  description.logit_soft_cap = decoder.logit_soft_cap;
  const bool tied = config->Boolean("tie_word_embeddings").value_or(true);
  TensorReader* const tensors = family.OpenTensors("model.");
  if (tensors == nullptr) return model;

  TensorReader of_encoder(*weights, "model.encoder.", problems);
  ReadLlamaTensors(&of_encoder, encoder.has, encoder.geometries,
                   &*description.encoder);
  TensorReader of_decoder(*weights, "model.decoder.", problems);
  StackDescription& stack = *description.decoder;
  ReadLlamaTensors(
      &of_decoder, decoder.has, decoder.geometries,
      [&](TensorReader* reader, int, const std::string& name,
          LayerDescription* layer) {
        ReadCross(reader, name, decoder, description.encoder->d_model,
                  stack.d_model, layer);
        ReadGatedFeedForward(reader, name + "mlp.", stack.feed_forward,
                             /*bias=*/false, stack.d_model, layer);
      },
      &stack);
  description.output_projection.weight =
      tied ? stack.embeddings.tokens
           : tensors->Required("lm_head.out_proj.weight",
                               {stack.vocabulary, stack.d_model});
  return model;
}

}  // namespace trivium
