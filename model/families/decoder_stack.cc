#include "model/families/decoder_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "model/families/encoder_head.h"
#include "model/families/sizes.h"

namespace trivium {
namespace {

// True for the heads that ReadOutputProjection reads.
bool HasLabels(ConfigReader* config) {
  return IsSequenceClassifier(config) || IsTokenClassifier(config);
}

// Families name the tagger's product either way.
void ReadTagger(int d_model, ConfigReader* config, TensorReader* tensors,
                TransformerDescription* description) {
  HeadDescription& head = description->head.emplace();
  head.kind = HeadKind::kTag;
  const std::string name =
      tensors->HasAnyWith("score.") ? "score" : "classifier";
  head.output = tensors->Linear(name, LabelCount(config), d_model,
                                tensors->Has(name + ".bias"));
}

void ReadClassifier(ConfigReader* config, TensorReader* tensors,
                    TransformerDescription* description) {
  const StackDescription& stack =
      description->encoder ? *description->encoder : *description->decoder;
  if (IsTokenClassifier(config)) {
    return ReadTagger(stack.d_model, config, tensors, description);
  }
  HeadDescription& head = description->head.emplace();
  head.kind = HeadKind::kClassify;
  head.input = HeadDescription::Input::kLastToken;
  // -1 is no token.
  head.padding_id = config->Integer("pad_token_id", -1, kMaxVocabulary);
  int64_t width = stack.d_model;
  if (description->output_narrowing) {
    head.dense = std::exchange(description->output_narrowing, std::nullopt);
    if (head.dense->weight != nullptr) width = head.dense->weight->shape[0];
  }
  const int64_t labels = LabelCount(config);
  head.output.weight = tensors->Required("score.weight", {labels, width});
  if (tensors->Has("score.bias")) {
    head.output.bias = tensors->Required("score.bias", {labels});
  }
}

// True if the weights have a tensor of that name, of the same shape as `tied`
// but with other numbers. Transformers 5 does not tie such a tensor.
bool HasOther(TensorReader* tensors, const std::string& name,
              const TensorView& tied) {
  if (tensors->ShapeOf(name) != tied.shape) return false;
  const TensorView* const own = tensors->Required(name, tied.shape);
  return own != nullptr && (own->dtype != tied.dtype ||
                            !std::ranges::equal(own->data, tied.data));
}

}  // namespace

void RefuseOtherHeads(ConfigReader* config) {
  const ConfigReader::Layer architectures = config->Find("architectures");
  if (architectures.json == nullptr || !architectures.json->is_array()) return;
  constexpr std::array<std::string_view, 4> kOthers = {
      "ForSequenceClassification", "ForTokenClassification",
      "ForQuestionAnswering", "ForMultipleChoice"};
  for (const auto& architecture : *architectures.json) {
    if (!architecture.is_string()) continue;
    const std::string& name = architecture.get_ref<const std::string&>();
    for (const std::string_view other : kOthers) {
      if (name.find(other) == std::string::npos) continue;
      config->Report("architectures", architectures,
                     "this server runs this family as a language model only");
      return;
    }
  }
}

StackDescription ReadDecoderConfig(ConfigReader* config,
                                   const DecoderKeys& keys) {
  const size_t reported = config->problems()->size();
  StackDescription stack;
  stack.layers = config->RequiredInteger(keys.layers, 1, kMaxLayers);
  stack.d_model = config->RequiredInteger(keys.d_model, 1, kMaxWidth);
  stack.heads = keys.heads.empty()
                    ? 1
                    : config->RequiredInteger(keys.heads, 1, kMaxWidth);
  if (keys.feed_forward_factor == 0) {
    stack.feed_forward =
        config->RequiredInteger(keys.feed_forward, 1, kMaxWidth);
  } else {
    stack.feed_forward = keys.feed_forward_factor * stack.d_model;
    if (!keys.feed_forward.empty()) {
      stack.feed_forward = config->Integer(keys.feed_forward, 1, kMaxWidth)
                               .value_or(stack.feed_forward);
    }
  }
  stack.vocabulary = config->RequiredInteger("vocab_size", 1, kMaxVocabulary);
  stack.max_positions =
      keys.usual_positions == 0
          ? config->RequiredInteger(keys.positions, 1, kMaxPositions)
          : config->Integer(keys.positions, 1, kMaxPositions)
                .value_or(keys.usual_positions);
  // After a problem, values are replaced by their minimum and need not fit
  // together.
  if (keys.even_heads && config->problems()->size() == reported &&
      stack.d_model % stack.heads != 0) {
    config->Report(
        keys.heads, config->Find(keys.heads),
        fmt::format("it must divide {}, {}", keys.d_model, stack.d_model));
  }
  stack.positions = PositionEncoding::kLearned;
  if (!keys.any_head && !HasLabels(config)) RefuseOtherHeads(config);
  if (!keys.both_ways) {
    RequireBoolean(config, "is_causal", true);
    RequireBoolean(config, "use_bidirectional_attention", false);
  }
  return stack;
}

void RequireBoolean(ConfigReader* config, const std::string& key, bool only) {
  if (config->Boolean(key).value_or(only) == only) return;
  config->Report(key, config->Find(key),
                 fmt::format("this server runs {} only", only));
}

void ReadOutputProjection(ConfigReader* config, bool tied_by_default,
                          TensorReader* tensors,
                          TransformerDescription* description,
                          const std::string& head, bool bias) {
  if (HasLabels(config)) {
    ReadClassifier(config, tensors, description);
    return;
  }
  if (!description->decoder) return;
  const TensorView* const tokens = description->decoder->embeddings.tokens;
  const bool tied =
      config->Boolean("tie_word_embeddings").value_or(tied_by_default);
  if (tokens == nullptr ||
      (tied && !HasOther(tensors, head + ".weight", *tokens))) {
    description->output_projection.weight = tokens;
  } else if (tensors->HasAnyWith(head + ".") ||
             !ArchitectureEndsWith(config, "Model") ||
             ArchitectureEndsWith(config, "HeadModel")) {
    description->output_projection.weight =
        tensors->Required(head + ".weight", tokens->shape);
  }
  if (bias && description->output_projection.weight != nullptr) {
    description->output_projection.bias =
        tensors->Required(head + ".bias", {description->decoder->vocabulary});
  }
}

nlohmann::json EndDefaults(int32_t id, const StackDescription& stack) {
  if (id >= stack.vocabulary) return nlohmann::json::object();
  return {{"bos_token_id", id}, {"eos_token_id", id}};
}

AttentionGeometry CausalGeometry(const StackDescription& stack) {
  AttentionGeometry geometry =
      AttentionGeometry::Even(stack.d_model, stack.heads);
  geometry.look_ahead = 0;
  return geometry;
}

NormTensors BareNorm(int size, NormTensors::Kind kind, TensorMemory* memory) {
  return {.weight = Extended({DType::kF32, {0}, {}}, {size}, 1, memory),
          .kind = kind};
}

void TurnHalves(const StackDescription& stack, AttentionDescription* attention,
                TensorMemory* memory) {
  const AttentionGeometry& geometry = attention->geometry;
  if (geometry.rotary == AttentionGeometry::kNoRotary) return;
  const int pairs =
      static_cast<int>(stack.rotary[geometry.rotary].frequencies.size());
  for (LinearTensors* linear : {&attention->query, &attention->key}) {
    for (const TensorView** tensor : {&linear->weight, &linear->bias}) {
      if (*tensor == nullptr) continue;
      *tensor = PairsToHalves(**tensor, geometry.head_size, pairs, memory);
    }
  }
}

void ReadFeedForward(TensorReader* tensors, const std::string& up,
                     const std::string& down, bool bias,
                     const StackDescription& stack, LayerDescription* layer) {
  layer->up = tensors->Linear(up, stack.feed_forward, stack.d_model, bias);
  layer->down = tensors->Linear(down, stack.d_model, stack.feed_forward, bias);
}

std::vector<float> AlibiSlopes(int heads, float scale) {
  const auto even = static_cast<int>(std::bit_floor(1u * heads));
  std::vector<float> slopes;
  for (int head = 0; head < heads; ++head) {
    // 2^(-8 i / n) for i from 1 on; in the second part i is odd and n doubled.
    const double exponent = head < even
                                ? -8.0 * (head + 1) / even
                                : -8.0 * (2 * (head - even) + 1) / (2 * even);
    slopes.push_back(scale * static_cast<float>(std::exp2(exponent)));
  }
  return slopes;
}

float ReadClip(ConfigReader* config) {
  return static_cast<float>(config->Real("clip_qkv", 1e-6, 1e6).value_or(0));
}

}  // namespace trivium
