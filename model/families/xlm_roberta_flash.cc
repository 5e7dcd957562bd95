// The tensors of an adapted layer NAME are
// NAME.parametrizations.weight.original and, for all tasks together,
//
//   NAME.parametrizations.weight.0.lora_A  [tasks, rank, in]
//   NAME.parametrizations.weight.0.lora_B  [tasks, out, rank]
//
// with W + alpha / rank B A as the task's weight. A table of embeddings has
// [tasks, rows, rank] and [tasks, rank, width], and W + alpha / rank A B.
#include "model/families/xlm_roberta_flash.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/families/derived_tensors.h"
#include "model/families/encoder_head.h"
#include "model/families/encoder_stack.h"
#include "model/families/family_reader.h"
#include "model/families/rotary_config.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

struct Adapters {
  int tasks = 0;  // 0: none
  int task = -1;  // -1: none is added
  int rank = 4;
  float factor = 1;  // alpha / rank
};

Adapters ReadFlashAdapters(ConfigReader* config) {
  Adapters adapters;
  const ConfigReader::Layer list = config->Find("lora_adaptations");
  if (list.json == nullptr || !list.json->is_array()) return adapters;
  adapters.tasks = static_cast<int>(std::min<size_t>(list.json->size(), 1000));
  adapters.rank = config->Integer("lora_rank", 1, kMaxWidth).value_or(4);
  adapters.factor = static_cast<float>(
      config->Real("lora_alpha", 0, 1e6).value_or(1) / adapters.rank);
  const std::optional<std::string> task = config->Text("lora_task");
  if (!task) return adapters;
  for (int i = 0; i < adapters.tasks; ++i) {
    if ((*list.json)[i] == *task) adapters.task = i;
  }
  if (adapters.task < 0) {
    config->Report("lora_task", config->Find("lora_task"),
                   "give one of lora_adaptations");
  }
  return adapters;
}

// Reads tensors that may have adapters.
class AdaptedReader {
 public:
  AdaptedReader(const Adapters& adapters, TensorReader* tensors,
                TensorMemory* memory)
      : adapters_(adapters), tensors_(tensors), memory_(memory) {}

  // A linear layer's weight [out, in], or a table of embeddings [rows, width].
  const TensorView* Weight(const std::string& name, int64_t rows,
                           int64_t columns, bool table = false) const {
    const std::string adapted = name + ".parametrizations.weight.";
    const std::vector<int64_t> shape = {rows, columns};
    if (!tensors_->HasAnyWith(adapted) || adapters_.tasks == 0) {
      return tensors_->Required(name + ".weight", shape);
    }
    const TensorView* const weight = tensors_->RequiredOneOf(
        {adapted + "original", name + ".weight"}, shape);
    if (adapters_.task < 0) return weight;
    const int64_t tasks = adapters_.tasks, rank = adapters_.rank;
    const std::vector<int64_t> left = {tasks, rows, rank};
    const std::vector<int64_t> right = {tasks, rank, columns};
    const TensorView* const a =
        tensors_->Required(adapted + "0.lora_A", table ? left : right);
    const TensorView* const b =
        tensors_->Required(adapted + "0.lora_B", table ? right : left);
    if (weight == nullptr || a == nullptr || b == nullptr) return nullptr;
    return PlusProduct(*weight, table ? *a : *b, table ? *b : *a,
                       adapters_.task, adapters_.factor, memory_);
  }

  LinearTensors Linear(const std::string& name, int out, int in) const {
    return {Weight(name, out, in), tensors_->Required(name + ".bias", {out})};
  }

  // Queries, keys and values, joined or each by itself.
  void Projections(const std::string& name, int d_model,
                   AttentionDescription* attention) const {
    LinearTensors* const parts[] = {&attention->query, &attention->key,
                                    &attention->value};
    if (tensors_->Has(name + "self_attn.q_proj.weight")) {
      const char* const names[] = {"q_proj", "k_proj", "v_proj"};
      for (int i = 0; i < 3; ++i) {
        *parts[i] =
            tensors_->Linear(name + "self_attn." + names[i], d_model, d_model);
      }
      return;
    }
    const LinearTensors joined =
        Linear(name + "mixer.Wqkv", 3 * d_model, d_model);
    if (joined.weight == nullptr || joined.bias == nullptr) return;
    const std::vector<int64_t> rows(3, d_model);
    const auto weights = SplitRows(*joined.weight, /*groups=*/1, rows, memory_);
    const auto biases = SplitRows(*joined.bias, /*groups=*/1, rows, memory_);
    for (int i = 0; i < 3; ++i) *parts[i] = {weights[i], biases[i]};
  }

 private:
  const Adapters& adapters_;
  TensorReader* const tensors_;
  TensorMemory* const memory_;
};

StackDescription ReadFlashConfig(ConfigReader* config) {
  const bool own = config->Text("model_type") == "xlm-roberta";
  const bool rotary =
      !own || config->Text("position_embedding_type") == "rotary";
  StackDescription stack = ReadEncoderConfig(
      config, {.position_type = rotary ? "rotary" : "absolute"});
  if (config->Find("layer_norm_eps").json == nullptr) {
    stack.norm_epsilon = own ? 1e-12f : 1e-5f;
  }
  if (!rotary) {
    UseRobertaPositions(
        config, config->Integer("pad_token_id", 0, kMaxVocabulary).value_or(1),
        &stack);
    return stack;
  }
  stack.positions = PositionEncoding::kNone;
  const RotaryDefaults defaults = {.head_size = stack.d_model / stack.heads,
                                   .max_positions = stack.max_positions,
                                   .theta = 20000};
  if (own) {
    nlohmann::json values = nlohmann::json::object();
    values["rope_theta"] =
        config->Real("rotary_emb_base", 1, 1e15).value_or(10000);
    stack.rotary = {
        ReadRotarySet(values, "rotary_emb_base", defaults, config->problems())};
  } else {
    stack.rotary = {ReadRotary(config, defaults)};
  }
  return stack;
}

// Returns the first of two names of a part that the layer `name` has.
std::string OneOf(TensorReader* tensors, const std::string& name,
                  const char* first, const char* other) {
  const std::string one = name + first;
  return tensors->Has(one + ".weight") || !tensors->HasAnyWith(name + other)
             ? one
             : name + other;
}

LayerDescription ReadFlashLayer(const std::string& name,
                                const StackDescription& stack,
                                TensorReader* tensors,
                                const AdaptedReader& adapted) {
  const int d_model = stack.d_model;
  const auto either = [&](const char* first, const char* other) {
    return OneOf(tensors, name, first, other);
  };
  LayerDescription layer;
  AttentionDescription& attention = layer.self_attention;
  attention.geometry = AttentionGeometry::Even(d_model, stack.heads);
  if (!stack.rotary.empty()) attention.geometry.rotary = 0;
  adapted.Projections(name, d_model, &attention);
  attention.output = adapted.Linear(
      either("self_attn.o_proj", "mixer.out_proj"), d_model, d_model);
  layer.self_attention_norms.after =
      tensors->Norm(either("post_attention_layernorm", "norm1"), d_model);
  layer.up = adapted.Linear(name + "mlp.fc1", stack.feed_forward, d_model);
  layer.down = adapted.Linear(name + "mlp.fc2", d_model, stack.feed_forward);
  layer.feed_forward_norms.after =
      tensors->Norm(either("post_mlp_layernorm", "norm2"), d_model);
  return layer;
}

void ReadFlashEmbeddings(TensorReader* tensors, const AdaptedReader& adapted,
                         StackDescription* stack) {
  const int d_model = stack->d_model;
  EmbeddingTensors& embeddings = stack->embeddings;
  embeddings.tokens = adapted.Weight("embeddings.word_embeddings",
                                     stack->vocabulary, d_model, true);
  if (stack->positions == PositionEncoding::kLearned) {
    embeddings.positions = adapted.Weight(
        "embeddings.position_embeddings",
        stack->max_positions + stack->position_offset, d_model, true);
  }
  if (stack->type_vocabulary > 0) {
    embeddings.types = adapted.Weight("embeddings.token_type_embeddings",
                                      stack->type_vocabulary, d_model, true);
  }
  stack->embedding_norm = tensors->Norm(
      OneOf(tensors, "", "embeddings.LayerNorm", "emb_ln"), d_model);
}

}  // namespace

bool IsXlmRobertaFlash(const nlohmann::json& config, const Weights* weights) {
  if (!config.is_object()) return false;
  if (config.value("position_embedding_type", nlohmann::json()) == "rotary" ||
      config.contains("use_flash_attn")) {
    return true;
  }
  if (weights == nullptr || weights->imagined()) return false;
  const std::vector<std::string_view> names = weights->Names();
  return std::any_of(names.begin(), names.end(), [](std::string_view name) {
    return name.find(".mixer.Wqkv.") != name.npos;
  });
}

FamilyModel LoadXlmRobertaFlash(const nlohmann::json& json,
                                const Weights* weights, Problems* problems) {
  FamilyReader family(json, weights, problems);
  ConfigReader* const config = family.config();
  FamilyModel model;
  TransformerDescription& description = model.description;
  StackDescription& encoder =
      description.encoder.emplace(ReadFlashConfig(config));
  const Adapters adapters = ReadFlashAdapters(config);
  TensorReader* const tensors = family.OpenTensors("roberta.");
  if (tensors == nullptr) return model;
  const AdaptedReader adapted(adapters, tensors, &description.memory);
  ReadFlashEmbeddings(tensors, adapted, &encoder);
  const bool own = !tensors->HasAnyWith("layers.") ||
                   tensors->HasAnyWith("encoder.layers.0.mixer.");
  for (int i = 0; i < encoder.layers; ++i) {
    const std::string name =
        fmt::format("{}layers.{}.", own ? "encoder." : "", i);
    if (!HasLayer(tensors, name, i, EncoderKeys().layers, encoder)) {
      return model;
    }
    encoder.layer.push_back(ReadFlashLayer(name, encoder, tensors, adapted));
  }
  ReadPooler("pooler.dense", encoder.d_model, Activation::kTanh, tensors,
             &description);
  ReadEncoderHead(RobertaHeadNames(encoder), config, tensors, &description);
  return model;
}

}  // namespace trivium
