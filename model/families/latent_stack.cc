#include "model/families/latent_stack.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "model/families/sizes.h"

namespace trivium {
namespace {

// Checkpoints have the turned dimensions behind the others, and perhaps in
// pairs; a description has them in front, in halves. Returns the order of
// rows of `groups` groups of {plain, turned} rows.
std::vector<int64_t> TurnedFirst(const LatentConfig& config, int groups,
                                 int plain) {
  const int turned = config.turned;
  std::vector<int64_t> order;
  for (int group = 0; group < groups; ++group) {
    const int64_t begin = int64_t{group} * (plain + turned);
    for (int i = 0; i < turned; ++i) {
      const int pair = i < turned / 2 ? 2 * i : 2 * i - turned + 1;
      order.push_back(begin + plain + (config.adjacent ? pair : i));
    }
    for (int i = 0; i < plain; ++i) order.push_back(begin + i);
  }
  return order;
}

LinearTensors InOrder(LinearTensors linear, const std::vector<int64_t>& order,
                      TensorMemory* memory) {
  for (const TensorView** tensor : {&linear.weight, &linear.bias}) {
    if (*tensor != nullptr) *tensor = RowsInOrder(**tensor, order, memory);
  }
  return linear;
}

}  // namespace

LatentConfig ReadLatentConfig(ConfigReader* config, const nlohmann::json& json,
                              const LatentDefaults& usual,
                              StackDescription* stack) {
  LatentConfig read;
  const auto size = [config](const char* key, int otherwise) {
    return config->Integer(key, 1, kMaxWidth).value_or(otherwise);
  };
  read.rank = size("kv_lora_rank", usual.rank);
  // A null says that queries are not narrowed.
  constexpr char kQueryRank[] = "q_lora_rank";
  read.query_rank =
      size(kQueryRank, json.contains(kQueryRank) ? 0 : usual.query_rank);
  read.turned = size("qk_rope_head_dim", 64);
  read.plain = size("qk_nope_head_dim", usual.plain);
  read.value = size("v_head_dim", usual.value);
  read.adjacent = config->Boolean("rope_interleave").value_or(true);
  read.bias = config->Boolean("attention_bias").value_or(false);
  // Each head has tensors of its own in memory, however small.
  constexpr int kMostHeads = 1 << 10;
  if (stack->heads > kMostHeads) {
    constexpr char kHeads[] = "num_attention_heads";
    config->Report(kHeads, config->Find(kHeads),
                   fmt::format("latent attention has at most {}", kMostHeads));
  }
  const int64_t width =
      int64_t{stack->heads} *
      (int64_t{read.rank} + read.turned + read.plain + read.value);
  if (width > kMaxWidth) {
    config->Report("kv_lora_rank", config->Find("kv_lora_rank"),
                   fmt::format("together with qk_rope_head_dim, "
                               "qk_nope_head_dim and v_head_dim, times {} "
                               "heads, it must be at most {}",
                               stack->heads, kMaxWidth));
  }
  RotaryDefaults rotary = usual.rotary;
  rotary.head_size = read.turned;
  rotary.max_positions = stack->max_positions;
  stack->rotary = {ReadRotary(config, rotary)};
  read.geometry = {
      .heads = stack->heads,
      .kv_heads = 1,
      .head_size = read.turned + read.rank,
      .scale = stack->rotary[0].score_factor /
               std::sqrt(static_cast<float>(read.turned + read.plain)),
      .look_ahead = 0,
      .rotary = 0,
      .values_are_keys = true};
  return read;
}

AttentionDescription ReadLatentAttention(TensorReader* tensors,
                                         const std::string& name,
                                         const LatentConfig& config,
                                         int d_model, TensorMemory* memory) {
  AttentionDescription attention;
  attention.geometry = config.geometry;
  LatentDescription& latent = attention.latent.emplace();
  latent.rank = config.rank;
  latent.turned = config.turned;
  latent.plain = config.plain;
  latent.value = config.value;
  const int heads = config.geometry.heads;
  const int query_width = heads * (config.turned + config.plain);
  const auto norm = [&](const char* part, int size) {
    return NormTensors{
        .weight = tensors->Required(name + part + ".weight", {size}),
        .kind = NormTensors::Kind::kRms};
  };
  const bool narrowed = config.query_rank > 0;
  if (narrowed) {
    latent.query_down = tensors->Linear(name + "q_a_proj", config.query_rank,
                                        d_model, config.bias);
    latent.query_norm = norm("q_a_layernorm", config.query_rank);
  }
  attention.query = InOrder(
      tensors->Linear(name + (narrowed ? "q_b_proj" : "q_proj"), query_width,
                      narrowed ? config.query_rank : d_model, /*bias=*/false),
      TurnedFirst(config, heads, config.plain), memory);
  attention.key = InOrder(
      tensors->Linear(name + "kv_a_proj_with_mqa", config.rank + config.turned,
                      d_model, config.bias),
      TurnedFirst(config, /*groups=*/1, config.rank), memory);
  latent.norm = norm("kv_a_layernorm", config.rank);
  attention.output = tensors->Linear(name + "o_proj", d_model,
                                     heads * config.value, config.bias);
  const int rows = config.plain + config.value;
  const TensorView* const up =
      tensors->Required(name + "kv_b_proj.weight", {heads * rows, config.rank});
  if (up == nullptr) return attention;
  for (int head = 0; head < heads; ++head) {
    std::vector<int64_t> key_rows, value_rows;
    for (int i = 0; i < rows; ++i) {
      (i < config.plain ? key_rows : value_rows)
          .push_back(int64_t{head} * rows + i);
    }
    TensorMemory key_memory;
    latent.key_up.push_back(
        {Transpose(*RowsInOrder(*up, key_rows, &key_memory), memory)});
    latent.value_up.push_back({RowsInOrder(*up, value_rows, memory)});
  }
  return attention;
}

}  // namespace trivium
