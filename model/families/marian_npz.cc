// Reading order: all of special:model.yml, then the tensors, which the table of
// names in Marian's src/models/transformer.h gives. Matrices are [in, out] and
// become [out, in]. Options that change the arithmetic are refused unless they
// have the one known value, and in the end so is any array that nothing has
// read: an unknown array would change the result without any sign of it.
//
// Both vocabularies get one embedding more, at the end: zeros, with which the
// decoder starts. The output projection gets a row of zeros and the bias kNever
// for it, so its probability is 0.
#include "model/families/marian_npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/families/derived_tensors.h"
#include "model/families/sizes.h"
#include "model/families/tensor_reader.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr char kConfig[] = "special:model.yml";
// The most that Marian itself translates by default.
constexpr int kMarianPositions = 1000;
constexpr float kEpsilon = 1e-6f;
// Logit of the id that the decoder starts with: its share of a softmax is 0.
constexpr float kNever = -1e9f;

struct Options {
  bool norm_embedding = false;  // norm of the sum of embeddings and positions
  bool norm_top = false;        // norm of the last layer's output
  bool tied_all = false, tied_source = false, tied_target = false;
  bool output_bias = true;
  bool recurrent = false;           // the decoder's layers
  std::vector<int> decoder_layers;  // numbers of the layers' tensors, from 1
};

// Refuses options that change the arithmetic and differ from the one known
// value.
void RefuseOthers(ConfigReader* config) {
  const std::pair<const char*, json> kRules[] = {
      {"type", "transformer"},
      {"right-left", false},
      {"ulr", false},
      {"lemma-dim-emb", 0},
      {"lemma-dependency", ""},
      {"factors-combine", "sum"},
      {"transformer-ffn-depth", 2},
      {"transformer-no-projection", false},
      {"transformer-no-bias", false},
      {"transformer-no-affine", false},
      {"transformer-pool", false},
      {"transformer-train-positions", false},
      {"transformer-attention-mask", "default"},
      {"transformer-disable-position-embeddings", false},
  };
  for (const auto& [key, known] : kRules) {
    const ConfigReader::Layer value = config->Find(key);
    if (value.json == nullptr || *value.json == known) continue;
    config->Report(key, value,
                   fmt::format("this server supports only {}", known.dump()));
  }
  const ConfigReader::Layer depth =
      config->Find("transformer-decoder-ffn-depth");
  if (depth.json != nullptr && *depth.json != 0 && *depth.json != 2) {
    config->Report("transformer-decoder-ffn-depth", depth,
                   "this server supports only 2");
  }
  const ConfigReader::Layer types = config->Find("input-types");
  if (types.json != nullptr &&
      std::any_of(types.json->begin(), types.json->end(),
                  [](const json& type) { return type != "sequence"; })) {
    config->Report("input-types", types,
                   "this server supports only \"sequence\"");
  }
}

// True if the decoder has an SSRU instead of self-attention.
bool ReadRecurrence(ConfigReader* config) {
  constexpr char kKey[] = "transformer-decoder-autoreg";
  const std::string kind = config->Text(kKey).value_or("self-attention");
  if (kind == "self-attention") return false;
  if (kind != "rnn") {
    config->Report(kKey, config->Find(kKey),
                   "this server supports only self-attention and rnn");
    return false;
  }
  const std::pair<const char*, json> kRules[] = {
      {"dec-cell", "ssru"},
      {"layer-normalization", false},
      {"transformer-rnn-projection", false},
  };
  for (const auto& [key, known] : kRules) {
    const ConfigReader::Layer value = config->Find(key);
    if (value.json != nullptr && *value.json == known) continue;
    if (value.json == nullptr && known == false) continue;
    config->Report(key, value,
                   fmt::format("for recurrent decoders this server supports "
                               "only {}",
                               known.dump()));
  }
  return true;
}

// Returns a list of operations without "d"; `fallback` if there is none. Adds a
// problem if the list is not in `known`.
std::string ReadOperations(ConfigReader* config, const char* key,
                           const char* fallback,
                           std::initializer_list<std::string_view> known) {
  std::string operations = config->Text(key).value_or(fallback);
  std::erase(operations, 'd');
  if (std::find(known.begin(), known.end(), operations) == known.end()) {
    config->Report(key, config->Find(key),
                   fmt::format("besides d, this server supports only \"{}\"",
                               fmt::join(known, "\" and \"")));
  }
  return operations;
}

Activation ReadMarianActivation(ConfigReader* config) {
  constexpr char kKey[] = "transformer-ffn-activation";
  const std::string name = config->Text(kKey).value_or("swish");
  if (name == "swish") return Activation::kSwish;
  if (name != "relu") {
    config->Report(kKey, config->Find(kKey),
                   "this server supports only swish and relu");
  }
  return Activation::kRelu;
}

// Reads what both stacks have in common.
StackDescription ReadStack(ConfigReader* config) {
  StackDescription stack;
  stack.d_model = config->RequiredInteger("dim-emb", 4, kMaxWidth);
  stack.heads = config->RequiredInteger("transformer-heads", 1, kMaxWidth);
  stack.max_positions = kMarianPositions;
  stack.activation = ReadMarianActivation(config);
  stack.norm_epsilon = kEpsilon;
  stack.positions = PositionEncoding::kSinusoidalToEnd;
  stack.embedding_scale = std::sqrt(static_cast<float>(stack.d_model));
  if (stack.d_model % 2 != 0 || stack.d_model % stack.heads != 0) {
    config->Report("dim-emb", config->Find("dim-emb"),
                   fmt::format("it must be even and a multiple of "
                               "transformer-heads, {}",
                               stack.heads));
  }
  return stack;
}

// Reads both stacks without their tensors.
Options ReadConfig(ConfigReader* config, TransformerDescription* description) {
  Options options;
  RefuseOthers(config);
  options.recurrent = ReadRecurrence(config);
  // Norms before the sublayers are ambiguous: Marian's versions differ in
  // whether keys and values of self-attention are normalized, and in one
  // version training and decoding differ.
  ReadOperations(config, "transformer-preprocess", "", {""});
  ReadOperations(config, "transformer-postprocess", "dan", {"an"});
  options.norm_embedding = ReadOperations(config, "transformer-postprocess-emb",
                                          "d", {"", "n"}) == "n";
  options.norm_top = ReadOperations(config, "transformer-postprocess-top", "",
                                    {"", "n"}) == "n";
  const int ffn = config->RequiredInteger("transformer-dim-ffn", 1, kMaxWidth);
  const int decoder_ffn =
      config->Integer("transformer-decoder-dim-ffn", 0, kMaxWidth).value_or(0);
  options.tied_all = config->Boolean("tied-embeddings-all").value_or(false);
  options.tied_source = options.tied_all ||
                        config->Boolean("tied-embeddings-src").value_or(false);
  options.tied_target =
      options.tied_all || config->Boolean("tied-embeddings").value_or(false);
  options.output_bias = !config->Boolean("output-omit-bias").value_or(false);

  std::vector<int> vocabularies =
      config->Integers("dim-vocabs", 1, kMaxVocabulary);
  if (vocabularies.size() != 2 ||
      (options.tied_source && vocabularies[0] != vocabularies[1])) {
    config->Report("dim-vocabs", config->Find("dim-vocabs"),
                   "give the sizes of two vocabularies, which are equal where "
                   "the embeddings are tied");
    vocabularies = {1, 1};
  }
  StackDescription stack = ReadStack(config);
  stack.layers = config->RequiredInteger("enc-depth", 1, kMaxLayers);
  stack.vocabulary = vocabularies[0];
  stack.feed_forward = ffn;
  description->encoder = stack;
  stack.layers = config->RequiredInteger("dec-depth", 1, kMaxLayers);
  stack.vocabulary = vocabularies[1];
  stack.feed_forward = decoder_ffn == 0 ? ffn : decoder_ffn;
  description->decoder = stack;
  options.decoder_layers = config->Integers("transformer-tied-layers", 1,
                                            description->decoder->layers);
  const size_t layers = static_cast<size_t>(description->decoder->layers);
  if (options.decoder_layers.empty()) {
    for (size_t i = 1; i <= layers; ++i) {
      options.decoder_layers.push_back(static_cast<int>(i));
    }
  } else if (options.decoder_layers.size() != layers) {
    config->Report("transformer-tied-layers",
                   config->Find("transformer-tied-layers"),
                   "give a number for each of the dec-depth layers");
  }
  return options;
}

// Finds arrays by Marian's names, transposes matrices, and knows in the end
// which arrays were not used.
class MarianTensors {
 public:
  MarianTensors(const Weights& weights, TensorMemory* memory,
                Problems* problems)
      : weights_(weights),
        reader_(weights, "", problems, kConfig),
        memory_(memory) {}

  bool Has(const std::string& name) const { return reader_.Has(name); }
  Problems* problems() const { return reader_.problems(); }
  TensorMemory* memory() const { return memory_; }

  const TensorView* Matrix(const std::string& name, int rows, int columns) {
    used_.insert(name);
    return reader_.Required(name, {rows, columns});
  }
  // x W + b, with W [in, out] and b [1, out].
  LinearTensors Linear(const std::string& weight, const std::string& bias,
                       int out, int in) {
    return {Turned(weight, out, in), Matrix(bias, 1, out)};
  }
  // Returns [out, in] of a matrix [in, out]; a matrix with scales is stored as
  // [out, in] already (weights/marian_bin.h).
  const TensorView* Turned(const std::string& name, int out, int in) {
    const TensorView* const found = weights_.Find(name);
    if (found != nullptr && found->row_scales != nullptr) {
      return Matrix(name, out, in);
    }
    const TensorView* const matrix = Matrix(name, in, out);
    return matrix == nullptr ? nullptr : Transpose(*matrix, memory_);
  }
  // NAME_ln_scaleSUFFIX and NAME_ln_biasSUFFIX, [1, size].
  NormTensors Norm(const std::string& name, const char* suffix, int size) {
    return {Matrix(fmt::format("{}_ln_scale{}", name, suffix), 1, size),
            Matrix(fmt::format("{}_ln_bias{}", name, suffix), 1, size)};
  }
  void ReportUnused() {
    for (const std::string_view name : weights_.Names()) {
      // Scales with which Marian's own products quantize activations.
      const bool alpha = name.ends_with("_QuantMultA");
      if (alpha || used_.contains(name) || name.starts_with("special:")) {
        continue;
      }
      problems()->push_back(fmt::format(
          "weights: array {} does not belong to the model that {} describes, "
          "so "
          "its effect is unknown; use a model of Marian's plain Transformer",
          name, kConfig));
      return;  // one example is enough
    }
  }

 private:
  const Weights& weights_;
  TensorReader reader_;
  TensorMemory* const memory_;
  std::set<std::string, std::less<>> used_;
};

AttentionDescription ReadAttention(MarianTensors* tensors,
                                   const std::string& name, int d_model,
                                   const AttentionGeometry& geometry) {
  const auto part = [&](const char* letter) {
    return tensors->Linear(fmt::format("{}_W{}", name, letter),
                           fmt::format("{}_b{}", name, letter), d_model,
                           d_model);
  };
  return {geometry, part("q"), part("k"), part("v"), part("o")};
}

LayerDescription ReadLayer(MarianTensors* tensors, const std::string& name,
                           const Options& options, bool decoder,
                           const StackDescription& stack) {
  const int d_model = stack.d_model;
  const auto norms = [&](const std::string& of) {
    SublayerNorms read;
    read.after = tensors->Norm(name + of, "", d_model);
    return read;
  };
  LayerDescription layer;
  AttentionGeometry geometry = AttentionGeometry::Even(d_model, stack.heads);
  const AttentionGeometry cross = geometry;
  if (decoder) geometry.look_ahead = 0;
  if (decoder && options.recurrent) {
    layer.self_attention.geometry = geometry;
    layer.recurrence = {
        .input = {tensors->Turned(name + "rnn_W", d_model, d_model), nullptr},
        .forget = tensors->Linear(name + "rnn_Wf", name + "rnn_bf", d_model,
                                  d_model)};
    layer.self_attention_norms = norms("rnn_ffn");
  } else {
    layer.self_attention =
        ReadAttention(tensors, name + "self", d_model, geometry);
    layer.self_attention_norms = norms("self_Wo");
  }
  if (decoder) {
    layer.cross_attention =
        ReadAttention(tensors, name + "context", d_model, cross);
    layer.cross_attention_norms = norms("context_Wo");
  }
  layer.up = tensors->Linear(name + "ffn_W1", name + "ffn_b1",
                             stack.feed_forward, d_model);
  layer.down = tensors->Linear(name + "ffn_W2", name + "ffn_b2", d_model,
                               stack.feed_forward);
  layer.feed_forward_norms = norms("ffn_ffn");
  return layer;
}

void ReadLayers(MarianTensors* tensors, const std::string& side,
                const Options& options, const std::vector<int>& numbers,
                StackDescription* stack) {
  const int d_model = stack->d_model;
  if (options.norm_embedding) {
    stack->embedding_norm = tensors->Norm(side + "_emb", "_pre", d_model);
  }
  for (const int number : numbers) {
    const auto first = std::find(numbers.begin(), numbers.end(), number);
    const size_t earlier = static_cast<size_t>(first - numbers.begin());
    // Layers that share their tensors are the same layer.
    stack->layer.push_back(earlier < stack->layer.size()
                               ? stack->layer[earlier]
                               : ReadLayer(tensors,
                                           fmt::format("{}_l{}_", side, number),
                                           options, side == "decoder", *stack));
  }
  if (options.norm_top) {
    stack->final_norm = tensors->Norm(side + "_top", "", d_model);
  }
}

// Returns the tensor, [rows, columns] or null, with an additional row of
// `value`.
const TensorView* WithRow(const TensorView* tensor, int64_t columns,
                          float value, TensorMemory* memory) {
  if (tensor == nullptr) return nullptr;
  const int64_t rows = tensor->elements() / columns;
  return Extended(*tensor, {rows + 1, columns}, value, memory);
}

void ReadEmbeddings(const Options& options, MarianTensors* tensors,
                    TransformerDescription* description) {
  StackDescription& encoder = *description->encoder;
  StackDescription& decoder = *description->decoder;
  const int d_model = encoder.d_model;
  const auto table = [&](const std::string& name, int vocabulary) {
    const TensorView* const rows = tensors->Matrix(name, vocabulary, d_model);
    return WithRow(rows, d_model, 0, tensors->memory());
  };
  const std::string output = "decoder_ff_logit_out";
  const int vocabulary = decoder.vocabulary;
  if (options.tied_source) {
    encoder.embeddings.tokens = table("Wemb", vocabulary);
    decoder.embeddings.tokens = encoder.embeddings.tokens;
  } else {
    encoder.embeddings.tokens = table("encoder_Wemb", encoder.vocabulary);
    decoder.embeddings.tokens = table("decoder_Wemb", vocabulary);
  }
  LinearTensors& projection = description->output_projection;
  if (options.tied_target) {
    projection.weight = decoder.embeddings.tokens;
  } else if (tensors->Has(output + "_W")) {  // the name of older versions
    projection.weight =
        WithRow(tensors->Turned(output + "_W", vocabulary, d_model), d_model, 0,
                tensors->memory());
  } else {
    projection.weight = table(output + "_Wt", vocabulary);
  }
  const TensorView* bias = nullptr;
  if (options.output_bias) {
    bias = tensors->Matrix(output + "_b", 1, vocabulary);
  } else {
    bias = Extended({DType::kF32, {0}, {}}, {vocabulary}, 0, tensors->memory());
  }
  if (bias != nullptr) {
    projection.bias =
        Extended(*bias, {1, vocabulary + 1}, kNever, tensors->memory());
  }
  ++encoder.vocabulary;
  ++decoder.vocabulary;
}

}  // namespace

FamilyModel LoadMarianNpz(const json& config, const Weights* weights,
                          Problems* problems) {
  FamilyModel model;
  TransformerDescription& description = model.description;
  ConfigReader reader({{kConfig, &config}}, problems);
  const size_t reported = problems->size();
  const Options options = ReadConfig(&reader, &description);
  if (weights == nullptr || problems->size() > reported) return model;

  MarianTensors tensors(*weights, &description.memory, problems);
  std::vector<int> encoder_layers;
  for (int i = 1; i <= description.encoder->layers; ++i) {
    encoder_layers.push_back(i);
  }
  ReadLayers(&tensors, "encoder", options, encoder_layers,
             &*description.encoder);
  ReadLayers(&tensors, "decoder", options, options.decoder_layers,
             &*description.decoder);
  ReadEmbeddings(options, &tensors, &description);
  if (problems->size() == reported) tensors.ReportUnused();
  return model;
}

}  // namespace trivium
