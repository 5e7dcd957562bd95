// A GGUF file has metadata under other names than config.json, and some facts
// only indirectly: scaled rotary positions may be a list of divisors
// (rope_freqs.weight), and tied embeddings are the absence of a tensor. Every
// key that a function here reads counts as consumed. Finish() reports the rest,
// so a file with an unknown feature is refused instead of being served wrongly.
#include "model/gguf/config_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "model/gguf/gguf_model.h"

namespace trivium {
namespace {

using nlohmann::json;

// Values that do not affect what is computed here.
constexpr std::array<std::string_view, 3> kWithoutEffect = {
    "vocab_size", "tensor_data_layout", "rope.scaling.finetuned"};

constexpr std::string_view kFactors = "rope_freqs.weight";

}  // namespace

const json* ConfigMaker::Consume(std::string_view key) {
  const std::string name = fmt::format("{}.{}", architecture_, key);
  const auto found = file_.metadata.find(name);
  if (found == file_.metadata.end()) return nullptr;
  consumed_.insert(name);
  return &*found;
}

double ConfigMaker::Number(std::string_view key, double otherwise) {
  const json* const value = Consume(key);
  if (value == nullptr || !value->is_number()) return otherwise;
  const double number = value->get<double>();
  return std::isfinite(number) ? number : otherwise;
}

bool ConfigMaker::Flag(std::string_view key, bool otherwise) {
  const json* const value = Consume(key);
  return value != nullptr && value->is_boolean() ? value->get<bool>()
                                                 : otherwise;
}

void ConfigMaker::Copy(std::string_view config_key, std::string_view key) {
  const json* const value = Consume(key);
  if (value != nullptr) Set(config_key, *value);
}

void ConfigMaker::Refuse(std::string_view key, const std::string& expectation) {
  const json* const value = Consume(key);
  problems_->push_back(
      fmt::format("metadata: {}.{} is {}; {}", architecture_, key,
                  value == nullptr ? "missing" : value->dump().substr(0, 100),
                  expectation));
}

bool ConfigMaker::Has(const std::string& tensor) const {
  if (file_.tensors.contains(tensor)) return true;
  constexpr std::string_view kQuery = "attn_q.", kAll = "attn_qkv.";
  const size_t at = tensor.find(kQuery);
  return at != tensor.npos &&
         file_.tensors.contains(
             std::string(tensor).replace(at, kQuery.size(), kAll));
}

bool ConfigMaker::HasInLayers(std::string_view name) const {
  return std::any_of(
      file_.tensors.begin(), file_.tensors.end(), [name](const auto& tensor) {
        std::string_view full = tensor.first;
        return full.find("blk.") != full.npos && full.ends_with(name) &&
               full.size() > name.size() &&
               full[full.size() - name.size() - 1] == '.';
      });
}

int64_t ConfigMaker::Rows(const std::string& tensor) const {
  const auto found = file_.tensors.find(tensor);
  return found == file_.tensors.end() || found->second.shape.empty()
             ? 0
             : found->second.shape.front();
}

void ConfigMaker::DescribeDecoder(std::string_view model_type) {
  Set("model_type", model_type);
  Copy("max_position_embeddings", "context_length");
  Copy("num_hidden_layers", "block_count");
  // Layers that predict further tokens come last and are left out.
  const double more = Number("nextn_predict_layers", 0);
  const double layers = Number("block_count", 0);
  if (more > 0 && layers > more && layers <= 1e6) {
    Set("num_hidden_layers", static_cast<int>(layers - more));
    Set("num_nextn_predict_layers", static_cast<int>(more));
  }
  Copy("hidden_size", "embedding_length");
  Copy("intermediate_size", "feed_forward_length");
  Copy("num_attention_heads", "attention.head_count");
  const json* const kv = Consume("attention.head_count_kv");
  if (kv != nullptr && !kv->is_array()) Set("num_key_value_heads", *kv);
  Set("attention_bias",
      HasInLayers("attn_q.bias") || HasInLayers("attn_qkv.bias"));
  Set("mlp_bias", HasInLayers("ffn_up.bias"));
}

void ConfigMaker::DescribeRotaryDecoder(std::string_view model_type,
                                        GgufRotary rotary) {
  DescribeDecoder(model_type);
  Copy("rms_norm_eps", "attention.layer_norm_rms_epsilon");
  Copy("rope_theta", "rope.freq_base");
  const double heads = Number("attention.head_count", 0);
  const double even = heads > 0 ? Number("embedding_length", 0) / heads : 0;
  const double head_size = Number("attention.key_length", even);
  if (Number("attention.value_length", head_size) != head_size) {
    Refuse("attention.value_length", "values must be as wide as keys");
  }
  // The family refuses invalid sizes.
  if (!(head_size >= 1 && head_size <= 1 << 16)) return;
  Set("head_dim", static_cast<int>(head_size));
  const double turned = Number("rope.dimension_count", head_size);
  if (rotary == kPartialRotary) {
    Set("partial_rotary_factor", turned / head_size);
  } else if (turned != head_size) {
    Refuse("rope.dimension_count", "rotary positions must cover whole heads");
  }
  DescribeRotaryScaling(static_cast<int>(head_size));
}

void ConfigMaker::RequireNoScaling() {
  const json* const type = Consume("rope.scaling.type");
  if (type != nullptr && *type != "none") {
    Refuse("rope.scaling.type", "it must be none");
  }
}

void ConfigMaker::AddToScaling(const char* key, double value) {
  const auto scaling = config_.find("rope_scaling");
  if (scaling != config_.end()) (*scaling)[key] = value;
}

void ConfigMaker::DescribeQueryGrowth() {
  constexpr char kLength[] = "attention.temperature_length";
  const double original = Number("rope.scaling.original_context_length", 0);
  if (Number(kLength, original) != original) {
    Refuse(kLength, "it must be rope.scaling.original_context_length");
  }
  constexpr char kGrowth[] = "attention.temperature_scale";
  const double growth = Number(kGrowth, 0);
  if (growth == 0) return;
  if (!config_.contains("rope_scaling")) {
    return Refuse(kGrowth, "without rope.scaling.type it must be 0");
  }
  AddToScaling("llama_4_scaling_beta", growth);
}

void ConfigMaker::DescribeBothWays() {
  const json* const causal = Consume("attention.causal");
  if (causal != nullptr && *causal == false) {
    Set("use_bidirectional_attention", true);
  }
}

void ConfigMaker::DescribeWindows(int usual) {
  const json* const pattern = Consume("attention.sliding_window_pattern");
  if (pattern != nullptr && pattern->is_array()) {
    DescribeLayerTypes(*pattern, "sliding_attention", "full_attention");
  } else if (pattern != nullptr) {
    Set("sliding_window_pattern", *pattern);
  } else {
    Set("sliding_window_pattern", usual);
  }
}

void ConfigMaker::DescribeLayerTypes(const json& list, const char* one,
                                     const char* other) {
  json types = json::array();
  const double layers = config_.contains("num_nextn_predict_layers")
                            ? config_["num_hidden_layers"].get<double>()
                            : static_cast<double>(list.size());
  for (const json& is_one : list) {
    if (static_cast<double>(types.size()) >= layers) break;
    types.push_back(is_one == true ? one : other);
  }
  Set("layer_types", std::move(types));
}

void ConfigMaker::DescribeAttendingLayers(const char* none,
                                          const char* attends) {
  const json* const heads = Consume("attention.head_count_kv");
  if (heads == nullptr || !heads->is_array()) return;
  json empty = json::array();
  json most = 0u;
  for (const json& count : *heads) {
    empty.push_back(count == 0);
    if (count.is_number() && count > most) most = count;
  }
  DescribeLayerTypes(empty, none, attends);
  if (most != 0) Set("num_key_value_heads", most);
}

void ConfigMaker::DescribeGraniteFactors() {
  for (const auto& [name, key] :
       {std::pair("embedding_multiplier", "embedding_scale"),
        {"residual_multiplier", "residual_scale"},
        {"logits_scaling", "logit_scale"}}) {
    Copy(name, key);
  }
  // The usual scale, of those that say none.
  const auto size = config_.find("head_dim");
  Set("attention_multiplier",
      size == config_.end() ? 1 : 1 / std::sqrt(size->get<double>()));
  Copy("attention_multiplier", "attention.scale");
}

void ConfigMaker::DescribeClassifier(const char* architecture,
                                     const std::string& tensor) {
  Set("architectures", {architecture});
  const int64_t rows = std::min<int64_t>(Rows(tensor + ".weight"), 1 << 20);
  const json* const given = Consume("classifier.output_labels");
  json labels = json::object();
  for (int64_t i = 0; i < rows; ++i) {
    const bool known = given != nullptr && given->is_array() &&
                       static_cast<int64_t>(given->size()) == rows &&
                       (*given)[i].is_string();
    labels[std::to_string(i)] =
        known ? (*given)[i] : json(fmt::format("LABEL_{}", i));
  }
  Set("id2label", std::move(labels));
}

// The file does not have them, nor count them.
void ConfigMaker::DescribeRobertaPositions() {
  constexpr double kUsual = 1;
  const auto found = file_.metadata.find("tokenizer.ggml.padding_token_id");
  const double given = found != file_.metadata.end() && found->is_number()
                           ? found->get<double>()
                           : kUsual;
  const double padding =
      std::isfinite(given) ? std::clamp(given, 0.0, 1000.0) : kUsual;
  const double context = std::clamp(Number("context_length", 0), 0.0, 1e8);
  Set("pad_token_id", static_cast<int>(padding));
  Set("max_position_embeddings", static_cast<int>(context + padding + 1));
}

// Phi 3's divisors of frequencies, for texts within and beyond the original
// context.
void ConfigMaker::DescribeLongFactors(int head_size) {
  json scaling = {{"rope_type", "longrope"}};
  for (const auto& [key, name] :
       {std::pair("long_factor", "rope_factors_long.weight"),
        {"short_factor", "rope_factors_short.weight"}}) {
    const auto tensor = file_.tensors.find(name);
    if (tensor == file_.tensors.end() || !IsReal(tensor->second)) continue;
    if (tensor->second.elements() > head_size) {
      problems_->push_back(fmt::format(
          "weights: tensor {} has {} factors, but a head has only {} "
          "dimensions; fetch the model again",
          name, tensor->second.elements(), head_size));
      return;
    }
    std::vector<float> factors(tensor->second.elements());
    CopyToF32(tensor->second, 0, factors);
    scaling[key] = factors;
  }
  const double original = Number("rope.scaling.original_context_length", 0);
  if (original >= 1 && original <= 1e9) {
    scaling["original_max_position_embeddings"] = static_cast<int>(original);
  }
  if (const json* factor = Consume("rope.scaling.attn_factor")) {
    scaling["attention_factor"] = *factor;
  }
  Set("rope_scaling", std::move(scaling));
}

void ConfigMaker::DescribeRotaryScaling(int head_size) {
  const json* const type = Consume("rope.scaling.type");
  const double original = Number("rope.scaling.original_context_length", 0);
  if (Has("rope_factors_long.weight")) return DescribeLongFactors(head_size);
  json scaling = json::object();
  if (type != nullptr && *type != "none") {
    if (*type != "linear" && *type != "yarn") {
      Refuse("rope.scaling.type",
             "supported in GGUF files are linear and yarn");
      return;
    }
    scaling["rope_type"] = *type;
    for (const auto& [name, key] :
         {std::pair("factor", "rope.scaling.factor"),
          {"beta_fast", "rope.scaling.yarn_beta_fast"},
          {"beta_slow", "rope.scaling.yarn_beta_slow"},
          {"attention_factor", "rope.scaling.yarn_attn_factor"}}) {
      if (const json* value = Consume(key)) scaling[name] = *value;
    }
    if (original >= 1 && original <= 1e9) {
      scaling["original_max_position_embeddings"] = static_cast<int>(original);
    }
  } else if (Number("rope.scaling.factor", 1) != 1) {
    Refuse("rope.scaling.factor", "without rope.scaling.type it must be 1");
  } else if (const double old = Number("rope.scale_linear", 1); old != 1) {
    scaling = {{"rope_type", "linear"}, {"factor", old}};
  }
  if (Has(std::string(kFactors))) {
    if (!scaling.empty()) {
      Refuse("rope.scaling.type", "with rope_freqs.weight it must be none");
    }
    DescribeFrequencyFactors(head_size, Number("rope.freq_base", 10000));
  } else if (!scaling.empty()) {
    Set("rope_scaling", std::move(scaling));
  }
}

// With theta the base and d the head's size, the wavelength of pair i is
//   2 pi theta^(2 i / d).
// Its frequency is divided by `factor` if the wave is longer than 8192 / 1, by
// 1 if it is shorter than 8192 / 4, and in between by
//   1 / ((1 - s) / factor + s) with s = (8192 / wave - 1) / (4 - 1).
// These are the numbers of every published LLaMA 3.1 to 3.3, except for
// `factor`, which is found here. Other divisors are those of longrope, for
// texts of any length.
void ConfigMaker::DescribeFrequencyFactors(int head_size, double theta) {
  constexpr double kOriginal = 8192, kLow = 1, kHigh = 4;
  const TensorView& tensor = file_.tensors.find(kFactors)->second;
  const int64_t pairs = head_size / 2;
  std::vector<float> factors(pairs);
  bool valid = IsReal(tensor) && pairs > 0 && tensor.elements() == pairs;
  if (valid) {
    CopyToF32(tensor, 0, factors);
    valid = std::ranges::all_of(
        factors, [](float factor) { return factor > 0 && factor <= 1e15f; });
  }
  if (!valid) {
    problems_->push_back(fmt::format(
        "weights: tensor rope_freqs.weight does not have {} numbers above 0, "
        "one for each pair of a head's dimensions; fetch the model again",
        pairs));
    return;
  }
  const double factor = *std::ranges::max_element(factors);
  bool known = factor >= 1 && factor <= 1e6;
  for (int64_t i = 0; known && i < pairs; ++i) {
    const double wave = 2 * std::numbers::pi *
                        std::pow(theta, 2 * static_cast<double>(i) / head_size);
    double expected = factor;
    if (wave < kOriginal / kHigh) {
      expected = 1;
    } else if (wave <= kOriginal / kLow) {
      const double smooth = (kOriginal / wave - kLow) / (kHigh - kLow);
      expected = 1 / ((1 - smooth) / factor + smooth);
    }
    known = std::abs(factors[i] - expected) <= 1e-3 * expected;
  }
  if (known) {
    Set("rope_scaling",
        {{"rope_type", "llama3"},
         {"factor", factor},
         {"low_freq_factor", kLow},
         {"high_freq_factor", kHigh},
         {"original_max_position_embeddings", static_cast<int>(kOriginal)}});
  } else {
    Set("rope_scaling", {{"rope_type", "longrope"},
                         {"short_factor", factors},
                         {"long_factor", factors}});
  }
}

double ConfigMaker::TurnedShare() {
  const auto found = file_.tensors.find(std::string(kFactors));
  if (found == file_.tensors.end()) return 1;
  const TensorView& tensor = found->second;
  constexpr int64_t kMost = 1 << 16;
  bool known =
      IsReal(tensor) && tensor.elements() > 0 && tensor.elements() <= kMost;
  double share = 1;
  if (known) {
    std::vector<float> factors(tensor.elements());
    CopyToF32(tensor, 0, factors);
    // The pairs that turn have ones, and come first; the others stand still.
    constexpr float kStops = 1e20f;
    size_t turned = 0;
    while (turned < factors.size() && factors[turned] == 1) ++turned;
    for (size_t i = turned; i < factors.size(); ++i) {
      known = known && factors[i] >= kStops;
    }
    share = static_cast<double>(turned) / static_cast<double>(factors.size());
  }
  if (known) return share;
  problems_->push_back(
      "weights: tensor rope_freqs.weight has other factors than 1 and then "
      "1e30; use the model's Hugging Face folder");
  return 1;
}

void ConfigMaker::DescribeExperts(std::string_view count_key) {
  Copy(count_key, "expert_count");
  Copy("num_experts_per_tok", "expert_used_count");
}

void ConfigMaker::DescribeGroupedExperts() {
  DescribeExperts("n_routed_experts");
  Copy("moe_intermediate_size", "expert_feed_forward_length");
  Copy("n_shared_experts", "expert_shared_count");
  Copy("routed_scaling_factor", "expert_weights_scale");
  Set("norm_topk_prob", Flag("expert_weights_norm", false));
  Set("n_group", 1);
  Set("topk_group", 1);
  Copy("n_group", "expert_group_count");
  Copy("topk_group", "expert_group_used_count");
}

void ConfigMaker::RequireGate(GgufGate gate) {
  constexpr char kKey[] = "expert_gating_func";
  const double number = gate;
  if (Number(kKey, number) == number) return;
  Refuse(kKey, gate == kGgufSigmoid ? "it must be 2 (sigmoid)"
                                    : "it must be 1 (softmax)");
}

int ConfigMaker::StateHeadSize() {
  const double heads = std::max(1.0, Number("ssm.time_step_rank", 1));
  const double size = Number("ssm.inner_size", 0) / heads;
  return static_cast<int>(std::clamp(size, 0.0, 65536.0));
}

void ConfigMaker::CopyTokenId(std::string_view config_key,
                              std::string_view key) {
  const auto found = file_.metadata.find("tokenizer.ggml." + std::string(key));
  if (found != file_.metadata.end()) Set(config_key, *found);
}

// Maps llama.cpp's numbers of pooling types; 4 is a reranker.
void ConfigMaker::DescribePooling() {
  const json* const type = Consume("pooling_type");
  constexpr int kRank = 4;
  // A head says itself what it reads.
  if (type == nullptr || *type == 0 ||
      (*type == kRank && Has("cls.output.weight"))) {
    return;
  }
  for (const auto& [number, name] :
       {std::pair(1, "mean"), {2, "cls"}, {3, "lasttoken"}}) {
    if (*type != number) continue;
    Set(kGgufPooling, name);
    return;
  }
  Refuse("pooling_type",
         "supported in GGUF files are 0 (none), 1 (mean), 2 (cls) and 3 "
         "(last); use a reranker's Hugging Face folder");
}

json ConfigMaker::Finish() {
  if (const std::string causal = architecture_ + ".attention.causal";
      file_.metadata.value(causal, json()) == true) {
    consumed_.insert(causal);
  }
  for (const std::string_view key : kWithoutEffect) Consume(key);
  if (const auto tokens = file_.tensors.find("token_embd.weight");
      tokens != file_.tensors.end() && !tokens->second.shape.empty()) {
    Set("vocab_size", tokens->second.shape.front());
  }
  Set("tie_word_embeddings", !Has("output.weight"));
  DescribePooling();
  CopyTokenId("bos_token_id", "bos_token_id");
  CopyTokenId("eos_token_id", "eos_token_id");
  CopyTokenId("pad_token_id", "padding_token_id");
  const std::string prefix = architecture_ + ".";
  for (const auto& [name, value] : file_.metadata.items()) {
    if (!name.starts_with(prefix) || consumed_.contains(name)) continue;
    problems_->push_back(
        fmt::format("metadata: {} may change what the model computes, but is "
                    "not supported; use the model's Hugging Face folder",
                    name));
  }
  return std::move(config_);
}

}  // namespace trivium
