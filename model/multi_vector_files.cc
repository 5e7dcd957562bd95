// Formulas and defaults are those of sentence-transformers 6.2
// (multi_vector_encoder/model.py reads all of these folders but bge-m3's) and
// FlagEmbedding 1.4 (inference/embedder/encoder_only/m3.py).
#include "model/multi_vector_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "model/sentence_modules.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr int kMostLength = 1 << 20;  // tokens; the model's limit is lower
constexpr int kUsualQueryLength = 32;
constexpr std::string_view kStanfordFile = "artifact.metadata";

std::string ValueText(const json& value) {
  return value.dump(-1, ' ', true).substr(0, 64);
}

bool HasValue(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

// Returns the error of a file with settings.
absl::Status Unusable(const std::string& file, const std::string& what) {
  if (!file.ends_with(kStanfordFile)) return UnusableModules(file, what);
  return absl::InvalidArgumentError(
      fmt::format("{}: {}; mend the file, or fetch it again", file, what));
}

// Reads a number of tokens, if it is set.
absl::Status ReadLength(const std::string& file, const json& config,
                        const char* key, int* length) {
  if (!HasValue(config, key)) return absl::OkStatus();
  const json& value = config.at(key);
  if (!value.is_number_unsigned() || value < 1 || value > kMostLength) {
    return Unusable(file, fmt::format("{} is {}; it must be 1 .. {}", key,
                                      ValueText(value), kMostLength));
  }
  *length = value.get<int>();
  return absl::OkStatus();
}

// Reads a list of strings.
absl::Status ReadWords(const std::string& file, const json& config,
                       const char* key, std::vector<std::string>* words) {
  words->clear();
  if (!HasValue(config, key)) return absl::OkStatus();
  const json& list = config.at(key);
  if (list.is_string()) {
    words->push_back(list.get<std::string>());
    return absl::OkStatus();
  }
  const bool good = list.is_array() &&
                    std::all_of(list.begin(), list.end(),
                                [](const json& e) { return e.is_string(); });
  if (!good) {
    return Unusable(file, fmt::format("{} is {}; it must be a list of strings",
                                      key, ValueText(list)));
  }
  for (const json& word : list) words->push_back(word.get<std::string>());
  return absl::OkStatus();
}

absl::Status ReadExpansion(const std::string& file, const json& given,
                           std::optional<MultiVectors::Expansion>* out) {
  if (given.is_null()) return absl::OkStatus();
  MultiVectors::Expansion expansion;
  const json strategy =
      given.is_object() ? given.value("strategy", json()) : json();
  if (strategy != "fixed" && strategy != "min") {
    return Unusable(file, fmt::format("query_expansion's strategy is {}; it "
                                      "must be \"fixed\" or \"min\"",
                                      ValueText(strategy)));
  }
  expansion.cuts = strategy == "fixed";
  expansion.attended = given.value("attend", json()) == true;
  if (HasValue(given, "token") && given.at("token").is_string()) {
    expansion.token = given.at("token").get<std::string>();
  }
  TRIVIUM_RETURN_IF_ERROR(ReadLength(file, given, "length", &expansion.length));
  if (expansion.length == 0) {
    return Unusable(file, "query_expansion has no length");
  }
  *out = std::move(expansion);
  return absl::OkStatus();
}

// Python's string.punctuation, which PyLate and Stanford's ColBERT leave out.
std::vector<std::string> Punctuation() {
  std::vector<std::string> words;
  for (const char c : std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")) {
    words.emplace_back(1, c);
  }
  return words;
}

// Adds the prompt of a marker, and what of it may be one token: all of it, or
// its first word.
void AddMarker(const std::string& name, const std::string& marker,
               MultiVectors::Settings* settings,
               std::map<std::string, std::string>* prompts) {
  std::string& prompt = (*prompts)[name];
  if (prompt.starts_with(marker)) prompt.erase(0, marker.size());
  prompt.insert(0, marker);
  const size_t begin = marker.find_first_not_of(' ');
  if (begin == marker.npos) return;
  settings->markers.push_back(marker);
  const size_t end = marker.find(' ', begin);
  settings->markers.push_back(marker.substr(begin, end - begin));
}

bool HasFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

// The layer in a file that torch.save wrote of a Linear's state_dict.
struct TorchLinear {
  std::unique_ptr<Weights> weights;
  LinearTensors tensors;
};
// `out` is the number of outputs, or 0 for any.
absl::StatusOr<TorchLinear> ReadTorchLinear(const std::string& file, int in,
                                            int out) {
  TorchLinear linear;
  TRIVIUM_ASSIGN_OR_RETURN(linear.weights, Weights::OpenTorch(file));
  const TensorView* const weight = linear.weights->Find("weight");
  const TensorView* const bias = linear.weights->Find("bias");
  const bool fits = weight != nullptr && weight->shape.size() == 2 &&
                    weight->shape[1] == in && weight->shape[0] >= 1 &&
                    weight->shape[0] <= kMostLength && IsReal(*weight) &&
                    (out == 0 || weight->shape[0] == out) &&
                    (bias == nullptr ||
                     (bias->shape.size() == 1 &&
                      bias->shape[0] == weight->shape[0] && IsReal(*bias)));
  if (!fits) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: it needs weight of shape [{}, {}] and a bias to match; fetch the "
        "model again",
        file, out == 0 ? "any" : std::to_string(out), in));
  }
  for (const TensorView* tensor : {weight, bias}) {
    if (tensor != nullptr && FirstNotFinite(*tensor).has_value()) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: some of its weights are infinite or not numbers; fetch the "
          "model again",
          file));
    }
  }
  linear.tensors = {weight, bias};
  return linear;
}

}  // namespace

absl::Status ReadMultiVectorLengths(const std::string& folder,
                                    MultiVectors::Settings* settings) {
  const std::string file = folder + "/sentence_bert_config.json";
  const absl::StatusOr<json> config = ReadJsonFile(file);
  if (absl::IsNotFound(config.status())) return absl::OkStatus();
  TRIVIUM_RETURN_IF_ERROR(config.status());
  TRIVIUM_RETURN_IF_ERROR(
      ReadLength(file, *config, "query_length", &settings->query_length));
  TRIVIUM_RETURN_IF_ERROR(
      ReadLength(file, *config, "document_length", &settings->document_length));
  return ReadExpansion(file, config->value("query_expansion", json()),
                       &settings->expansion);
}

absl::Status ReadMultiVectorMask(const std::string& folder,
                                 MultiVectors::Settings* settings) {
  const std::string file = folder + "/config.json";
  TRIVIUM_ASSIGN_OR_RETURN(const json config, ReadJsonFile(file));
  settings->keeps_expansion = true;
  TRIVIUM_RETURN_IF_ERROR(
      ReadWords(file, config, "skiplist_words", &settings->skipped));
  std::vector<std::string> tasks;
  TRIVIUM_RETURN_IF_ERROR(ReadWords(file, config, "skiplist_tasks", &tasks));
  if (!HasValue(config, "skiplist_tasks")) tasks = {"document"};
  const auto has = [&](const char* task) {
    return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
  };
  settings->skips_in_queries = has("query");
  settings->skips_in_documents = has("document");
  settings->kept_ids.clear();
  if (!HasValue(config, "keep_only_token_ids")) return absl::OkStatus();
  const json& ids = config.at("keep_only_token_ids");
  for (const json& id : ids.is_array() ? ids : json::array({ids})) {
    if (!id.is_number_unsigned() || id > INT32_MAX) {
      return Unusable(file, "keep_only_token_ids must be a list of ids");
    }
    settings->kept_ids.push_back(id.get<int32_t>());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ReadPyLate(const std::string& file, const json& config,
                                MultiVectors::Settings* settings,
                                std::map<std::string, std::string>* prompts) {
  constexpr const char* kMarks[] = {"query_prefix",
                                    "document_prefix",
                                    "skiplist_words",
                                    "do_query_expansion",
                                    "query_length",
                                    "document_length",
                                    "query_expansion",
                                    "attend_to_mask_tokens",
                                    "attend_to_expansion_tokens"};
  const bool marked =
      std::any_of(std::begin(kMarks), std::end(kMarks),
                  [&](const char* key) { return config.contains(key); });
  const json type = config.value("model_type", json());
  // Other classes of sentence-transformers may have keys of these names.
  if (type != "ColBERT" && (!marked || !type.is_null())) return false;
  for (const auto& [key, name] : {std::pair("query_prefix", "query"),
                                  std::pair("document_prefix", "document")}) {
    const json prefix = config.value(key, json());
    if (prefix.is_string()) {
      AddMarker(name, prefix.get<std::string>(), settings, prompts);
    }
  }
  TRIVIUM_RETURN_IF_ERROR(
      ReadLength(file, config, "document_length", &settings->document_length));
  int length = 0;
  TRIVIUM_RETURN_IF_ERROR(ReadLength(file, config, "query_length", &length));
  if (config.contains("query_expansion")) {
    settings->query_length = length;
    TRIVIUM_RETURN_IF_ERROR(ReadExpansion(file, config.at("query_expansion"),
                                          &settings->expansion));
  } else if (config.value("do_query_expansion", json()) == false) {
    settings->query_length = length;
  } else if (marked) {
    const char* const attend = config.contains("attend_to_expansion_tokens")
                                   ? "attend_to_expansion_tokens"
                                   : "attend_to_mask_tokens";
    settings->expansion = MultiVectors::Expansion{
        .length = length > 0 ? length : kUsualQueryLength,
        .attended = config.value(attend, json()) == true};
  }
  settings->keeps_expansion = true;
  settings->skipped = Punctuation();
  if (HasValue(config, "skiplist_words")) {
    TRIVIUM_RETURN_IF_ERROR(
        ReadWords(file, config, "skiplist_words", &settings->skipped));
  }
  return true;
}

absl::Status ReadStanford(const std::string& folder,
                          MultiVectors::Settings* settings,
                          std::map<std::string, std::string>* prompts) {
  const std::string file = folder + "/" + std::string(kStanfordFile);
  absl::StatusOr<json> read = ReadJsonFile(file);
  if (absl::IsNotFound(read.status())) read = json::object();
  TRIVIUM_RETURN_IF_ERROR(read.status());
  const json& config = *read;
  for (const auto& [key, name, usual] :
       {std::tuple("query_token_id", "query", "[unused0]"),
        std::tuple("doc_token_id", "document", "[unused1]")}) {
    const json marker = config.value(key, json());
    AddMarker(name,
              (marker.is_string() ? marker.get<std::string>() : usual) + " ",
              settings, prompts);
  }
  TRIVIUM_RETURN_IF_ERROR(
      ReadLength(file, config, "doc_maxlen", &settings->document_length));
  int length = kUsualQueryLength;
  TRIVIUM_RETURN_IF_ERROR(ReadLength(file, config, "query_maxlen", &length));
  settings->expansion = MultiVectors::Expansion{
      .length = length,
      .attended = config.value("attend_to_mask_tokens", json()) == true};
  settings->keeps_expansion = true;
  if (config.value("mask_punctuation", json(true)) == true) {
    settings->skipped = Punctuation();
  }
  return absl::OkStatus();
}

absl::StatusOr<M3Outputs> ReadM3Outputs(const std::string& folder, int d_model,
                                        const Tokenizer* tokenizer) {
  M3Outputs outputs;
  if (const std::string file = folder + "/colbert_linear.pt"; HasFile(file)) {
    TRIVIUM_ASSIGN_OR_RETURN(const TorchLinear linear,
                             ReadTorchLinear(file, d_model, 0));
    // The first token stands for the whole text, not for itself.
    outputs.multi_vectors = std::make_shared<MultiVectors>(
        d_model, MultiVectors::Settings{.first = 1, .takes_mean = true});
    TRIVIUM_RETURN_IF_ERROR(outputs.multi_vectors->Add(linear.tensors));
    outputs.multi_vectors->AddNormalization();
    TRIVIUM_RETURN_IF_ERROR(linear.weights->CheckUnchanged());
  }
  if (const std::string file = folder + "/sparse_linear.pt"; HasFile(file)) {
    TRIVIUM_ASSIGN_OR_RETURN(const TorchLinear linear,
                             ReadTorchLinear(file, d_model, 1));
    TokenWeights& token = outputs.token_weights.emplace();
    token.weight.resize(d_model);
    CopyToF32(*linear.tensors.weight, 0, token.weight);
    if (linear.tensors.bias != nullptr) {
      CopyToF32(*linear.tensors.bias, 0, std::span(&token.bias, 1));
    }
    TRIVIUM_RETURN_IF_ERROR(linear.weights->CheckUnchanged());
    if (tokenizer != nullptr) {
      const SpecialTokenIds ids = tokenizer->special_token_ids();
      for (const int32_t id :
           {ids.classification, ids.end >= 0 ? ids.end : ids.separator,
            ids.padding, ids.unknown}) {
        if (id >= 0) token.left_out.push_back(id);
      }
    }
  }
  return outputs;
}

}  // namespace trivium
