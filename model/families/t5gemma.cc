#include "model/families/t5gemma.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "model/families/decoder_stack.h"
#include "model/families/encoder_head.h"
#include "model/families/family_reader.h"
#include "model/families/gemma.h"
#include "model/families/llama_stack.h"

namespace trivium {
namespace {

using SideReader = GemmaStack (*)(const nlohmann::json& json, bool both_ways,
                                  ConfigReader* config);

// Reads the sizes of a side from the object `key` of `outer`, config.json or an
// object in it; `text` is the key of an object in that one, or empty.
GemmaStack ReadSide(const std::string& key, const std::string& text,
                    SideReader read, bool both_ways, ConfigReader* outer) {
  const ConfigReader::Layer own = outer->Find(key);
  if (own.json == nullptr || !own.json->is_object()) {
    outer->Report(key, own, "give the sizes of that side as an object");
    return {};
  }
  ConfigReader config({{own.file + ": " + key, own.json}}, outer->problems());
  if (!text.empty()) return ReadSide(text, "", read, both_ways, &config);
  GemmaStack gemma = read(*own.json, both_ways, &config);
  gemma.has.norms.before_attention = "pre_self_attn_layernorm";
  gemma.has.norms.of_attention = "post_self_attn_layernorm";
  return gemma;
}

// Reads what both families have beside their sides.
FamilyModel BeginModel(ConfigReader* config) {
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
  return model;
}

// Returns self-attention's geometry without positions and windows.
AttentionGeometry CrossGeometry(const LayerDescription& layer) {
  AttentionGeometry geometry = layer.self_attention.geometry;
  geometry.rotary = AttentionGeometry::kNoRotary;
  geometry.look_back = geometry.look_ahead = kAllKeys;
  return geometry;
}

// Reads the cross-attention of layer `name` to states that are `source_width`
// wide.
void ReadCross(TensorReader* tensors, const std::string& name,
               const GemmaStack& gemma, int source_width, int d_model,
               LayerDescription* layer) {
  const AttentionGeometry geometry = CrossGeometry(*layer);
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

// Reads the tensors of both sides. With `merged`, self-attention sees the
// source, too, and tied weights are those of the encoder's embeddings as well.
void ReadSides(const GemmaStack& encoder, const GemmaStack& decoder,
               bool merged, const Weights* weights, FamilyReader* family,
               TransformerDescription* description) {
  description->encoder = encoder.stack;
  description->decoder = decoder.stack;
  description->logit_soft_cap = decoder.logit_soft_cap;
  const bool tied =
      family->config()->Boolean("tie_word_embeddings").value_or(true);
  TensorReader* const tensors = family->OpenTensors("model.");
  if (tensors == nullptr) return;
  StackDescription& stack = *description->decoder;
  const std::string prefix =
      PrefixOf(weights, {"model.encoder.text_model.", "model.encoder."});
  TensorReader of_encoder(*weights, prefix, family->config()->problems());
  ReadLlamaTensors(&of_encoder, encoder.has, encoder.geometries,
                   &*description->encoder);
  if (merged && tied) {
    stack.embeddings.tokens = description->encoder->embeddings.tokens;
  }
  TensorReader of_decoder(*weights, "model.decoder.",
                          family->config()->problems());
  ReadLlamaTensors(
      &of_decoder, decoder.has, decoder.geometries,
      [&](TensorReader* reader, int, const std::string& name,
          LayerDescription* layer) {
        if (merged) {
          const AttentionDescription& self = layer->self_attention;
          layer->cross_attention = {.geometry = CrossGeometry(*layer),
                                    .query = {},
                                    .key = self.key,
                                    .value = self.value,
                                    .output = {}};
        } else {
          ReadCross(reader, name, decoder, description->encoder->d_model,
                    stack.d_model, layer);
        }
        ReadGatedFeedForward(reader, name + "mlp.", stack.feed_forward,
                             /*bias=*/false, stack.d_model, layer);
      },
      &stack);
  description->output_projection.weight =
      tied ? stack.embeddings.tokens
           : tensors->Required("lm_head.out_proj.weight",
                               {stack.vocabulary, stack.d_model});
}

}  // namespace

FamilyModel LoadT5Gemma(const nlohmann::json& json, const Weights* weights,
                        Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model = BeginModel(config);
  const GemmaStack encoder =
      ReadSide("encoder", "", ReadGemma2Stack, /*both_ways=*/true, config);
  const GemmaStack decoder =
      ReadSide("decoder", "", ReadGemma2Stack, /*both_ways=*/false, config);
  ReadSides(encoder, decoder, /*merged=*/false, weights, &family,
            &model.description);
  return model;
}

FamilyModel LoadT5Gemma2(const nlohmann::json& json, const Weights* weights,
                         Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model = BeginModel(config);
  GemmaStack encoder = ReadSide("encoder", "text_config", ReadGemma3Stack,
                                /*both_ways=*/true, config);
  GemmaStack decoder =
      ReadSide("decoder", "", ReadGemma3Stack, /*both_ways=*/false, config);
  for (GemmaStack* side : {&encoder, &decoder}) {
    // Transformers reads attn_logit_softcapping and does not apply it.
    for (AttentionGeometry& one : side->geometries) one.soft_cap = 0;
  }
  // An even window has one token more ahead than behind.
  for (AttentionGeometry& one : encoder.geometries) {
    if (one.look_back != kAllKeys) one.look_back = (encoder.window - 1) / 2;
  }
  const bool both = encoder.stack.layers > 0 && decoder.stack.layers > 0;
  if (both && (encoder.stack.d_model != decoder.stack.d_model ||
               encoder.stack.vocabulary != decoder.stack.vocabulary)) {
    problems->push_back(fmt::format(
        "config.json: decoder has hidden_size {} and vocab_size {}; they must "
        "be those of the encoder's text_config, {} and {}",
        decoder.stack.d_model, decoder.stack.vocabulary, encoder.stack.d_model,
        encoder.stack.vocabulary));
  }
  ReadSides(encoder, decoder, /*merged=*/true, weights, &family,
            &model.description);
  return model;
}

}  // namespace trivium
