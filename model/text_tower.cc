// Always:
// - text_config wins over the keys beside it. Of those only the ids of special
//   tokens are used, where text_config has none.
// - Folders of 2025 leave out what is usual, so the usual values of the text
//   model's Transformers class are added here.
// - The output projection is tied to the embeddings unless the weights have one
//   of its own: tie_word_embeddings, which text_config and the keys beside it
//   may contradict, counts only if there are no weights.
#include "model/text_tower.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/weights/renamed_weights.h"

namespace trivium {
namespace {

using nlohmann::json;

struct Wrapper {
  std::string_view type;       // of the folder
  std::string_view text_type;  // of its text model, if text_config has none
  // True: without a text_config the keys beside it are the text model's.
  bool flat = false;
};
constexpr Wrapper kWrappers[] = {
    {"aya_vision", "cohere2"},
    {"cohere2_vision", "cohere2"},
    {"gemma3", "gemma3_text"},
    {"gemma4", "gemma4_text"},
    {"idefics3", "llama"},
    {"internvl", "qwen2"},
    {"lfm2_vl", "lfm2"},
    {"llava", "llama"},
    {"llava_next", "llama"},
    {"llava_onevision", "qwen2"},
    {"mistral3", "mistral"},
    {"qwen2_5_vl", "qwen2_5_vl_text", /*flat=*/true},
    {"qwen2_audio", "qwen2"},
    {"qwen2_vl", "qwen2_vl_text", /*flat=*/true},
    {"qwen3_5", "qwen3_5_text"},
    {"qwen3_5_moe", "qwen3_5_moe_text"},
    {"qwen3_vl", "qwen3_vl_text"},
    {"qwen3_vl_moe", "qwen3_vl_moe_text"},
    {"smolvlm", "llama"},
    {"voxtral", "llama"}};

// The other towers' names, with or without "model." in front.
constexpr std::string_view kOthers[] = {
    "vision_tower.", "vision_model.", "multi_modal_projector.",
    "visual.",       "audio_tower.",  "embed_vision.",
    "embed_audio.",  "connector.",    "image_newline"};
// The text model's, likewise.
constexpr std::string_view kTexts[] = {"language_model.", "text_model."};

constexpr std::string_view kOutput = "lm_head.weight";

// Returns the usual values that published folders leave out.
json UsualValues(const std::string& text_type) {
  struct Usual {
    std::string_view type;
    int vocabulary, d_model, inner, layers, heads, positions;
  };
  constexpr Usual kUsual[] = {
      {"gemma3_text", 262208, 2304, 9216, 26, 8, 131072},
      {"gemma4_text", 262144, 2304, 9216, 30, 8, 131072},
      {"llama", 32000, 4096, 11008, 32, 32, 2048},
      {"mistral", 32000, 4096, 14336, 32, 32, 131072},
      {"qwen2", 151936, 4096, 22016, 32, 32, 32768}};
  for (const Usual& usual : kUsual) {
    if (usual.type != text_type) continue;
    return {{"vocab_size", usual.vocabulary},
            {"hidden_size", usual.d_model},
            {"intermediate_size", usual.inner},
            {"num_hidden_layers", usual.layers},
            {"num_attention_heads", usual.heads},
            {"max_position_embeddings", usual.positions}};
  }
  return json::object();
}

// Returns a tensor's name in the text model, or an empty one if it belongs to
// another tower.
std::string TextName(std::string_view name) {
  constexpr std::string_view kModel = "model.";
  std::string_view bare = name;
  const bool in_model = bare.starts_with(kModel);
  if (in_model) bare.remove_prefix(kModel.size());
  for (const std::string_view other : kOthers) {
    if (bare.starts_with(other)) return "";
  }
  for (const std::string_view text : kTexts) {
    if (!bare.starts_with(text)) continue;
    bare.remove_prefix(text.size());
    return in_model ? std::string(kModel).append(bare) : std::string(bare);
  }
  return std::string(name);
}

bool Has(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

}  // namespace

void UseTextTower(json* config, std::unique_ptr<Weights>* weights,
                  Problems* problems) {
  if (!config->is_object()) return;
  const json type = config->value("model_type", json());
  const auto* const wrapper =
      std::find_if(std::begin(kWrappers), std::end(kWrappers),
                   [&](const Wrapper& one) { return type == one.type; });
  if (wrapper == std::end(kWrappers)) return;
  constexpr char kText[] = "text_config", kTied[] = "tie_word_embeddings";
  const bool flat = wrapper->flat && !Has(*config, kText);
  if (flat) {
    // The other towers' configurations are of no account.
    json text = *config;
    text["model_type"] = std::string(wrapper->text_type);
    *config = {{kText, std::move(text)}};
  }
  if (!config->contains(kText) || !(*config)[kText].is_object()) {
    ConfigReader reader({{"config.json", config}}, problems);
    reader.Report(kText, reader.Find(kText),
                  "it must be an object, the text model's configuration");
    return;
  }
  json text = (*config)[kText];
  if (!Has(text, "model_type")) {
    text["model_type"] = std::string(wrapper->text_type);
  }
  const json text_type = text["model_type"];
  const json usual = text_type.is_string()
                         ? UsualValues(text_type.get<std::string>())
                         : json::object();
  for (const auto& [key, value] : usual.items()) {
    if (!Has(text, key.c_str())) text[key] = value;
  }
  for (const char* key :
       {"bos_token_id", "eos_token_id", "pad_token_id", kTied}) {
    if (!Has(text, key) && Has(*config, key)) text[key] = (*config)[key];
  }
  *config = std::move(text);
  if (*weights == nullptr) return;
  *weights = std::make_unique<RenamedWeights>(std::move(*weights), TextName);
  if (!(*weights)->imagined()) {
    (*config)[kTied] = (*weights)->Find(kOutput) == nullptr;
  }
}

std::vector<std::string_view> TextTowerTypes() {
  std::vector<std::string_view> types;
  for (const Wrapper& wrapper : kWrappers) types.push_back(wrapper.type);
  return types;
}

}  // namespace trivium
