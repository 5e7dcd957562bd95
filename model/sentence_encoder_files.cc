// Reads the folders of sentence encoders. modules.json names the modules, each
// with a folder of its own; config_sentence_transformers.json has the prompts
// and, in PyLate's folders, what later versions have as modules.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/json.h"
#include "base/status.h"
#include "model/multi_vector_files.h"
#include "model/sentence_encoder.h"
#include "model/tokenizer/sentence_config.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using nlohmann::json;

// In the order in which sentence-transformers concatenates them.
constexpr std::pair<const char*, TokenPooling> kPoolings[] = {
    {"cls", TokenPooling::kFirst},
    {"max", TokenPooling::kMax},
    {"mean", TokenPooling::kMean},
    {"mean_sqrt_len_tokens", TokenPooling::kMeanRoot},
    {"weightedmean", TokenPooling::kWeightedMean},
    {"lasttoken", TokenPooling::kLast},
};

bool IsRegularFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

absl::Status MixedModules(const std::string& file, const std::string& type) {
  return UnusableModules(
      file, fmt::format("module {} reads the vector of a text after one that "
                        "reads those of its tokens, or the other way round, "
                        "which is not supported",
                        type));
}

// True of modules that read or make the vector of a whole text.
bool ReadsWholeText(const std::string& type) {
  return type == "Pooling" || type == "LayerNorm" || type == "SpladePooling" ||
         type == "SparseAutoEncoder" || type == "LogitScore";
}

// Names of functions are written in any case; empty: the folder has none.
std::string SimilarityName(const json& settings) {
  const json name = settings.value("similarity_fn_name", json());
  return name.is_string() ? absl::AsciiStrToLower(name.get<std::string>()) : "";
}

SimilarityFunction ToSimilarity(std::string_view name) {
  if (name == "dot") return SimilarityFunction::kDot;
  if (name == "euclidean") return SimilarityFunction::kEuclidean;
  if (name == "manhattan") return SimilarityFunction::kManhattan;
  return SimilarityFunction::kCosine;
}

std::string LastPart(const std::string& type) {
  return type.substr(type.rfind('.') + 1);
}

}  // namespace

absl::StatusOr<SentenceEncoder> SentenceEncoder::Load(const std::string& folder,
                                                      int d_model,
                                                      const ModuleList* list) {
  SentenceEncoder encoder;
  const std::string file = folder + "/modules.json";
  SentenceModules read;
  if (list == nullptr) {
    absl::StatusOr<SentenceModules> modules = ReadSentenceModules(folder);
    if (absl::IsNotFound(modules.status()) && !IsRegularFile(file))
      return encoder;
    TRIVIUM_ASSIGN_OR_RETURN(read, std::move(modules));
    if (read.lists.size() > 1) {
      return UnusableModules(file, "a Router needs the folders of its modules");
    }
    list = &read.lists.front();
  }
  encoder.steps_.clear();
  TRIVIUM_ASSIGN_OR_RETURN(
      const SentenceConfig config,
      list->empty() ? SentenceConfig::Load(folder)
                    : SentenceConfig::OfModule(list->front().folder));
  encoder.max_tokens_ = config.max_tokens;
  // A StaticEmbedding reads texts of any length.
  if (!list->empty() && list->front().type == kStaticEmbedding) {
    encoder.max_tokens_ = 0;
  }
  const std::string settings_file =
      folder + "/config_sentence_transformers.json";
  absl::StatusOr<json> settings = ReadJsonFile(settings_file);
  if (absl::IsNotFound(settings.status())) settings = json::object();
  TRIVIUM_RETURN_IF_ERROR(settings.status());
  encoder.ReadPrompts(*settings);
  MultiVectors::Settings multi;
  TRIVIUM_ASSIGN_OR_RETURN(
      const bool pylate,
      ReadPyLate(settings_file, *settings, &multi, &encoder.prompts_));
  if (!list->empty()) {
    TRIVIUM_RETURN_IF_ERROR(
        ReadMultiVectorLengths(list->front().folder, &multi));
  }
  // The lengths of queries and documents may be above max_seq_length.
  if (encoder.max_tokens_ > 0) {
    multi.text_length = encoder.max_tokens_;
    encoder.max_tokens_ = std::max(
        {encoder.max_tokens_, multi.query_length, multi.document_length,
         multi.expansion ? multi.expansion->length : 0});
  }
  const std::string similarity = SimilarityName(*settings);
  multi.takes_mean = similarity == "meanmaxsim";
  encoder.similarity_ = ToSimilarity(similarity);
  TRIVIUM_RETURN_IF_ERROR(
      encoder.ReadModules(file, *list, d_model, pylate, std::move(multi)));
  TRIVIUM_RETURN_IF_ERROR(encoder.ReadSettings(settings_file, *settings));
  return encoder;
}

// Modules of token vectors come after the Transformer, up to the end of the
// list. If `by_tokens`, all are: PyLate's folders do not say so, and leave the
// mask and the normalization out.
absl::Status SentenceEncoder::ReadModules(const std::string& file,
                                          const ModuleList& list, int d_model,
                                          bool by_tokens,
                                          MultiVectors::Settings settings) {
  for (const SentenceModule& module : list) {
    if (module.type != kMultiVectorMask) continue;
    TRIVIUM_RETURN_IF_ERROR(ReadMultiVectorMask(module.folder, &settings));
  }
  const auto use_tokens = [&] {
    if (multi_vectors_ != nullptr) return;
    multi_vectors_ = std::make_shared<MultiVectors>(d_model, settings);
    dense_ = false;
  };
  bool pooled = false;
  if (by_tokens) use_tokens();
  for (const SentenceModule& module : list) {
    const auto& [type, path] = module;
    const bool first = &module == &list.front();
    if (first && (type == "Transformer" || type == "MLMTransformer")) continue;
    if (first && type == kStaticEmbedding) continue;  // and pools the mean
    if (type == "Dropout") continue;                  // of training only
    if (first && type == kSparseStaticEmbedding) {
      sparse_ = true;
      dense_ = false;
      continue;
    }
    if (has_sparse()) {
      return UnusableModules(file,
                             fmt::format("module {} follows one that makes "
                                         "sparse embeddings, which is not "
                                         "supported",
                                         type));
    }
    const bool after_table = ReadsTable(list);
    if (type == "Dense") {
      const bool tokens = multi_vectors_ != nullptr;
      TRIVIUM_ASSIGN_OR_RETURN(
          const DenseModule dense,
          DenseModule::Read(
              path, tokens ? multi_vectors_->size() : embedding_size(d_model)));
      if (dense.of_tokens && !pooled && !after_table) use_tokens();
      if (multi_vectors_ == nullptr && !dense.of_tokens) {
        AddDense(dense);
      } else if (multi_vectors_ != nullptr && (dense.of_tokens || by_tokens)) {
        TRIVIUM_RETURN_IF_ERROR(multi_vectors_->Add(dense));
      } else {
        return MixedModules(file, type);
      }
      TRIVIUM_RETURN_IF_ERROR(dense.weights->CheckUnchanged());
    } else if (type == "Normalize") {
      TRIVIUM_ASSIGN_OR_RETURN(const bool of_tokens, ReadsTokens(path));
      if (of_tokens && !pooled && !after_table) use_tokens();
      if (multi_vectors_ == nullptr && !of_tokens) {
        steps_.emplace_back(Normalize());
      } else if (multi_vectors_ != nullptr && (of_tokens || by_tokens)) {
        multi_vectors_->AddNormalization();
      } else {
        return MixedModules(file, type);
      }
    } else if (type == kMultiVectorMask && !pooled && !after_table) {
      use_tokens();
    } else if (multi_vectors_ != nullptr && ReadsWholeText(type)) {
      return MixedModules(file, type);
    } else if (type == "Pooling") {
      TRIVIUM_RETURN_IF_ERROR(ReadPooling(path, d_model));
      pooled = true;
    } else if (type == "LayerNorm") {
      TRIVIUM_RETURN_IF_ERROR(ReadLayerNorm(path, embedding_size(d_model)));
    } else if (type == "SpladePooling" && &module == list.data() + 1 &&
               !after_table) {
      TRIVIUM_RETURN_IF_ERROR(ReadSplade(path));
    } else if (type == "SparseAutoEncoder") {
      TRIVIUM_ASSIGN_OR_RETURN(
          auto_encoder_,
          SparseAutoEncoder::Read(path, embedding_size(d_model)));
      dense_ = false;
    } else if (type == "LogitScore") {
      TRIVIUM_RETURN_IF_ERROR(ReadLogitScore(path));
    } else {
      return UnusableModules(
          file, fmt::format(
                    "module {} at \"{}\" is not one of Transformer, "
                    "MLMTransformer, StaticEmbedding and SparseStaticEmbedding "
                    "(the first), Router, Pooling, Dense, LayerNorm, "
                    "Normalize, Dropout, MultiVectorMask, SpladePooling "
                    "(after a Transformer), SparseAutoEncoder and "
                    "LogitScore",
                    type, path));
    }
  }
  if (by_tokens) multi_vectors_->AddNormalization();
  return absl::OkStatus();
}

absl::StatusOr<SentenceEncoder> SentenceEncoder::LoadStanford(
    const std::string& folder, const Weights& weights, int d_model) {
  const std::string name = "linear.weight";
  const TensorView* const weight = weights.Find(name);
  if (weight == nullptr || weight->shape.size() != 2 ||
      weight->shape[1] != d_model || weight->shape[0] < 1 ||
      weight->shape[0] > d_model || !IsReal(*weight) ||
      FirstNotFinite(*weight).has_value()) {
    return absl::InvalidArgumentError(fmt::format(
        "config.json: the architecture HF_ColBERT needs {} of shape [1 .. {}, "
        "{}] with finite numbers; fetch a complete model",
        name, d_model, d_model));
  }
  SentenceEncoder encoder;
  MultiVectors::Settings settings;
  TRIVIUM_RETURN_IF_ERROR(ReadStanford(folder, &settings, &encoder.prompts_));
  encoder.dense_ = false;
  encoder.multi_vectors_ = std::make_shared<MultiVectors>(d_model, settings);
  TRIVIUM_RETURN_IF_ERROR(
      encoder.multi_vectors_->Add(LinearTensors{.weight = weight}));
  encoder.multi_vectors_->AddNormalization();
  return encoder;
}

absl::Status SentenceEncoder::AddM3Outputs(const std::string& folder,
                                           int d_model,
                                           const Tokenizer* tokenizer) {
  if (!dense_ || multi_vectors_ != nullptr) return absl::OkStatus();
  TRIVIUM_ASSIGN_OR_RETURN(M3Outputs outputs,
                           ReadM3Outputs(folder, d_model, tokenizer));
  multi_vectors_ = std::move(outputs.multi_vectors);
  token_weights_ = std::move(outputs.token_weights);
  // FlagEmbedding's own folders have no modules.json.
  if (has_sparse() && !IsRegularFile(folder + "/modules.json")) {
    poolings_ = {TokenPooling::kFirst};
  }
  return absl::OkStatus();
}

absl::Status SentenceEncoder::FindTokens(const std::string& folder,
                                         const Tokenizer* tokenizer,
                                         int vocabulary) {
  if (multi_vectors_ == nullptr || tokenizer == nullptr) {
    return absl::OkStatus();
  }
  return multi_vectors_->FindTokens(folder, *tokenizer, vocabulary);
}

std::optional<SentenceEncoder> SentenceEncoder::OfPooling(
    std::string_view pooling, std::span<const TensorView* const> dense) {
  for (const auto& [name, known] : kPoolings) {
    if (pooling != name) continue;
    SentenceEncoder encoder;
    encoder.poolings_ = {known};
    encoder.steps_.clear();
    for (const TensorView* weight : dense) {
      DenseModule module;
      module.weight = weight;
      module.activation = [](double value) { return value; };
      encoder.AddDense(module);
    }
    encoder.steps_.emplace_back(Normalize());
    return encoder;
  }
  return std::nullopt;
}

absl::Status SentenceEncoder::ReadPooling(const std::string& folder,
                                          int d_model) {
  const std::string file = folder + "/config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadJsonFile(file));
  const auto width = config.find("word_embedding_dimension");
  if (width != config.end() && *width != d_model) {
    return UnusableModules(
        file, fmt::format("word_embedding_dimension is {}, but the "
                          "model's vectors have {}",
                          width->dump(), d_model));
  }
  poolings_.clear();
  // One flag for each mode; later versions name the mode, or several.
  json modes = config.value("pooling_mode", json());
  if (modes.is_string()) modes = json::array({modes});
  for (const auto& [name, pooling] : kPoolings) {
    const std::string known = name;
    bool asked = modes.is_array() &&
                 std::find(modes.begin(), modes.end(), known) != modes.end();
    for (const std::string& key :
         {"pooling_mode_" + known, "pooling_mode_" + known + "_token",
          "pooling_mode_" + known + "_tokens"}) {
      asked |= config.value(key, json()) == true;
    }
    if (asked) poolings_.push_back(pooling);
  }
  if (poolings_.empty() ||
      (modes.is_array() && modes.size() > poolings_.size())) {
    return UnusableModules(file,
                           "it asks for pooling other than cls, max, mean, "
                           "mean_sqrt_len_tokens, weightedmean and lasttoken");
  }
  includes_prompt_ = config.value("include_prompt", json()) != false;
  return absl::OkStatus();
}

void SentenceEncoder::AddDense(const DenseModule& module) {
  Dense dense;
  dense.in = module.in();
  dense.out = module.out();
  dense.activation = module.activation;
  dense.adds_input = module.adds_input;
  for (const auto& [tensor, values] : {std::pair(module.weight, &dense.weight),
                                       {module.bias, &dense.bias},
                                       {module.residual, &dense.residual}}) {
    if (tensor == nullptr) continue;
    values->resize(tensor->elements());
    CopyToF32(*tensor, 0, *values);
  }
  steps_.emplace_back(std::move(dense));
}

absl::Status SentenceEncoder::ReadLayerNorm(const std::string& folder,
                                            int size) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<Weights> weights,
                           Weights::Open(folder));
  LayerNorm norm;
  for (const auto& [name, values] :
       {std::pair("norm.weight", &norm.weight), {"norm.bias", &norm.bias}}) {
    const TensorView* const tensor = weights->Find(name);
    if (tensor == nullptr || tensor->elements() != size || !IsReal(*tensor)) {
      return UnusableModules(
          folder, fmt::format("its weights need {} of shape [{}]", name, size));
    }
    if (FirstNotFinite(*tensor).has_value()) {
      return UnusableModules(folder,
                             "some of its weights are infinite or not numbers");
    }
    values->resize(size);
    CopyToF32(*tensor, 0, *values);
  }
  TRIVIUM_RETURN_IF_ERROR(weights->CheckUnchanged());
  steps_.emplace_back(std::move(norm));
  return absl::OkStatus();
}

absl::Status SentenceEncoder::ReadSplade(const std::string& folder) {
  const std::string file = folder + "/config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadJsonFile(file));
  // Sets `flag` to the key's value, which is `off` or `on`.
  const auto read = [&](const char* key, const char* off, const char* on,
                        bool* flag) -> absl::Status {
    const json value = config.value(key, json(off));
    *flag = value == on;
    if (*flag || value == off) return absl::OkStatus();
    return UnusableModules(file, fmt::format("{} is {}; it must be {} or {}",
                                             key, value.dump(), off, on));
  };
  VocabularyPooling pooling;
  TRIVIUM_RETURN_IF_ERROR(read("pooling_strategy", "max", "sum", &pooling.sum));
  TRIVIUM_RETURN_IF_ERROR(
      read("activation_function", "relu", "log1p_relu", &pooling.double_log));
  vocabulary_pooling_ = pooling;
  sparse_ = true;
  dense_ = false;
  return absl::OkStatus();
}

absl::Status SentenceEncoder::ReadLogitScore(const std::string& folder) {
  const std::string file = folder + "/config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadJsonFile(file));
  const auto id = [&](const char* key) -> std::optional<int32_t> {
    const auto found = config.find(key);
    if (found == config.end() || !found->is_number_unsigned() ||
        *found > std::numeric_limits<int32_t>::max()) {
      return std::nullopt;
    }
    return found->get<int32_t>();
  };
  const std::optional<int32_t> true_id = id("true_token_id");
  const std::optional<int32_t> false_id = id("false_token_id");
  if (!true_id ||
      (!false_id && !config.value("false_token_id", json()).is_null())) {
    return UnusableModules(file,
                           "true_token_id and false_token_id must be ids");
  }
  logit_score_ = {.true_id = *true_id, .false_id = false_id};
  return absl::OkStatus();
}

void SentenceEncoder::ReadPrompts(const json& config) {
  const json prompts = config.value("prompts", json::object());
  if (!prompts.is_object()) return;
  for (const auto& [name, prompt] : prompts.items()) {
    if (prompt.is_string()) prompts_[name] = prompt.get<std::string>();
  }
}

void SentenceEncoder::UseTask(const std::string& task,
                              const json& instructions) {
  if (instructions.is_object()) {
    for (const auto& [name, prompt] : instructions.items()) {
      if (prompt.is_string()) prompts_.emplace(name, prompt.get<std::string>());
    }
  }
  const auto found = prompts_.find(task);
  if (found != prompts_.end()) default_prompt_ = found->second;
}

absl::Status SentenceEncoder::ReadTruncation(const std::string& file,
                                             const json& config) {
  for (const auto& [key, size] : {std::pair("truncate_dim", &dimensions_),
                                  {"max_active_dims", &active_}}) {
    const json value = config.value(key, json());
    if (value.is_null()) continue;
    if (!value.is_number_unsigned() || value < 1 ||
        value > std::numeric_limits<int>::max()) {
      return UnusableModules(file,
                             fmt::format("{} is {}; it must be at least 1, or "
                                         "null",
                                         key, value.dump(-1, ' ', true)));
    }
    *size = value.get<int>();
  }
  return absl::OkStatus();
}

absl::Status SentenceEncoder::ReadSettings(const std::string& file,
                                           const json& config) {
  const json activation = config.value("activation_fn", json());
  if (logit_score_ && activation.is_string()) {
    const std::string function = LastPart(activation.get<std::string>());
    logit_score_->sigmoid = function == "Sigmoid";
    if (!logit_score_->sigmoid && function != "Identity") {
      return UnusableModules(file,
                             "activation_fn is neither Sigmoid nor Identity");
    }
  }
  TRIVIUM_RETURN_IF_ERROR(ReadTruncation(file, config));
  const json name = config.value("default_prompt_name", json());
  if (!name.is_string()) return absl::OkStatus();
  const auto found = prompts_.find(name.get<std::string>());
  if (found == prompts_.end()) {
    return UnusableModules(file,
                           "default_prompt_name names none of the prompts");
  }
  default_prompt_ = found->second;
  return absl::OkStatus();
}

}  // namespace trivium
