#include "model/families/longformer.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/sizes.h"
#include "model/families/windowed_attention.h"

namespace trivium {
namespace {

constexpr char kLayers[] = "encoder.layer.";

}  // namespace

FamilyModel LoadLongformer(const nlohmann::json& json, const Weights* weights,
                           Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  StackDescription& encoder =
      description.encoder.emplace(ReadEncoderConfig(config));
  UseRobertaPositions(
      config, config->Integer("pad_token_id", 0, kMaxVocabulary).value_or(1),
      &encoder);
  const std::vector<int> windows = ReadAttentionWindows(config, encoder.layers);
  const int separator =
      config->Integer("sep_token_id", 0, kMaxVocabulary).value_or(2);
  TensorReader* const tensors = family.OpenTensors("longformer.");
  if (tensors == nullptr) return model;
  ReadEncoderEmbeddings(tensors, encoder.d_model, &encoder);
  ReadEncoderLayers(tensors, kLayers, EncoderLayerNames(), EncoderKeys().layers,
                    &encoder);
  ReadPooler("pooler.dense", encoder.d_model, Activation::kTanh, tensors,
             &description);
  ReadEncoderHead(RobertaHeadNames(encoder), config, tensors, &description);
  if (description.head.has_value()) {
    const HeadKind kind = description.head->kind;
    if (kind == HeadKind::kClassify) encoder.global_tokens.emplace();
    if (kind == HeadKind::kAnswer) encoder.global_tokens = {separator};
  }
  for (size_t i = 0; i < encoder.layer.size(); ++i) {
    AttentionDescription& attention = encoder.layer[i].self_attention;
    attention.geometry.look_back = attention.geometry.look_ahead = windows[i];
    if (encoder.global_tokens.has_value()) {
      attention.global =
          ReadGlobalAttention(fmt::format("{}{}.attention.self.", kLayers, i),
                              encoder.d_model, tensors);
    }
  }
  return model;
}

}  // namespace trivium
