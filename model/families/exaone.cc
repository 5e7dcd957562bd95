#include "model/families/exaone.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/families/llama.h"
#include "model/weights/weights.h"

namespace trivium {
namespace {

// EXAONE's names, and LLaMA's.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"transformer.wte.", "model.embed_tokens."},
    {"transformer.h.", "model.layers."},
    {"transformer.ln_f.", "model.norm."},
    {".attn.attention.out_proj.", ".self_attn.o_proj."},
    {".attn.attention.", ".self_attn."},
    {".ln_1.", ".input_layernorm."},
    {".ln_2.", ".post_attention_layernorm."},
    {".mlp.c_fc_0.", ".mlp.gate_proj."},
    {".mlp.c_fc_1.", ".mlp.up_proj."},
    {".mlp.c_proj.", ".mlp.down_proj."},
};
constexpr std::pair<const char*, const char*> kKeys[] = {
    {"num_layers", "num_hidden_layers"},
    {"layer_norm_epsilon", "rms_norm_eps"},
    {"activation_function", "hidden_act"},
};

// A folder's tensors under LLaMA's names. Messages about them have these, too.
class LlamaNames : public Weights {
 public:
  // `all` must outlive this object.
  explicit LlamaNames(const Weights& all) : all_(all) {
    for (const std::string_view name : all.Names()) {
      std::string renamed(name);
      for (const auto& [own, llama] : kNames) {
        const size_t at = renamed.find(own);
        if (at != renamed.npos) renamed.replace(at, own.size(), llama);
      }
      tensors_.emplace(std::move(renamed), all.Find(name));
    }
  }

  const TensorView* Find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second;
  }
  std::vector<std::string_view> Names() const override {
    std::vector<std::string_view> names;
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
  }
  std::string Fingerprint() const override { return all_.Fingerprint(); }
  bool imagined() const override { return all_.imagined(); }
  const TensorView* Imagine(std::string_view name,
                            const std::vector<int64_t>& shape) const override {
    return all_.Imagine(name, shape);
  }

 private:
  const Weights& all_;
  std::map<std::string, const TensorView*, std::less<>> tensors_;
};

}  // namespace

FamilyModel LoadExaone(const nlohmann::json& config, const Weights* weights,
                       Problems* problems) {
  nlohmann::json llama = config;
  for (const auto& [own, name] : kKeys) {
    const auto value = llama.find(own);
    if (value == llama.end()) continue;
    if (!llama.contains(name)) llama[name] = *value;
    llama.erase(own);
  }
  for (const auto& [name, usual] :
       {std::pair<const char*, nlohmann::json>("num_key_value_heads", 8),
        {"rms_norm_eps", 1e-5},
        {"intermediate_size", 14336},
        {"max_position_embeddings", 4096}}) {
    if (!llama.contains(name)) llama[name] = usual;
  }
  // Older folders have it beside rope_scaling.
  if (!llama.contains("rope_theta") && !llama.contains("rope_parameters")) {
    llama["rope_theta"] = 500000.0;
  }
  FamilyModel model;
  if (weights == nullptr) {
    model = LoadLlama(llama, nullptr, problems);
  } else {
    const LlamaNames renamed(*weights);
    model = LoadLlama(llama, &renamed, problems);
  }
  model.generation_defaults = {
      {"bos_token_id", 1}, {"eos_token_id", 361}, {"pad_token_id", 0}};
  return model;
}

}  // namespace trivium
