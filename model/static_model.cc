#include "model/static_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "model/kernels/runtime.h"
#include "model/table_engine.h"
#include "model/tokenizer/sentence_config.h"
#include "model/tokenizer/tokenizer_factory.h"
#include "model/weights/digest.h"
#include "model/weights/weights.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

// The longest text of a table that names no limit, in tokens. It bounds the
// memory of one request.
constexpr int kMostTokens = 1 << 16;

absl::Status BrokenTable(const std::string& folder, const std::string& what) {
  return absl::InvalidArgumentError(
      fmt::format("{}: {}; fetch the model again", folder, what));
}

absl::StatusOr<std::vector<float>> Copy(const std::string& folder,
                                        std::string_view name,
                                        const TensorView& tensor) {
  if (!IsReal(tensor) || FirstNotFinite(tensor).has_value()) {
    return BrokenTable(
        folder,
        fmt::format("some of the values of {} are not finite numbers", name));
  }
  std::vector<float> values(tensor.elements());
  CopyToF32(tensor, 0, values);
  return values;
}

// Reads whole numbers in [0, end).
absl::StatusOr<std::vector<int64_t>> CopyIndices(const std::string& folder,
                                                 std::string_view name,
                                                 const TensorView& tensor,
                                                 int64_t end) {
  std::vector<int64_t> values(tensor.elements());
  for (size_t i = 0; i < values.size(); ++i) {
    if (tensor.dtype == DType::kI64) {
      std::memcpy(&values[i], tensor.data.data() + 8 * i, 8);
    } else if (tensor.dtype == DType::kI32) {
      int32_t value;
      std::memcpy(&value, tensor.data.data() + 4 * i, 4);
      values[i] = value;
    } else {
      return BrokenTable(folder, fmt::format("{} has {}, but needs I32 or I64",
                                             name, DTypeName(tensor.dtype)));
    }
    if (values[i] < 0 || values[i] >= end) {
      return BrokenTable(
          folder, fmt::format("{}[{}] is {}; the rows are 0 .. {}", name, i,
                              values[i], end - 1));
    }
  }
  return values;
}

// Applies model2vec's mapping and weights, if there are any.
absl::Status FoldModel2Vec(const std::string& folder, const Weights& weights,
                           EmbeddingTable* table) {
  const auto width = static_cast<size_t>(table->width);
  if (const TensorView* mapping = weights.Find("mapping")) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::vector<int64_t> row_of,
        CopyIndices(folder, "mapping", *mapping, table->rows));
    std::vector<float> values(row_of.size() * width);
    for (size_t id = 0; id < row_of.size(); ++id) {
      std::copy_n(&table->values[row_of[id] * width], width,
                  &values[id * width]);
    }
    table->values = std::move(values);
    table->rows = static_cast<int>(row_of.size());
  }
  if (const TensorView* factors = weights.Find("weights")) {
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<float> factor_of,
                             Copy(folder, "weights", *factors));
    if (factor_of.size() != static_cast<size_t>(table->rows)) {
      return BrokenTable(folder,
                         fmt::format("weights has {} values for {} tokens",
                                     factor_of.size(), table->rows));
    }
    for (size_t i = 0; i < table->values.size(); ++i) {
      table->values[i] *= factor_of[i / width];
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<EmbeddingTable> ReadTable(const std::string& folder,
                                         const Weights& weights, bool sparse) {
  EmbeddingTable table;
  table.sparse = sparse;
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  std::string_view name = sparse ? "weight" : "embedding.weight";
  const TensorView* values = weights.Find(name);
  if (values == nullptr && !sparse) values = weights.Find(name = "embeddings");
  const size_t dimensions = sparse ? 1 : 2;
  if (values == nullptr || values->shape.size() != dimensions ||
      values->elements() < 1 || values->elements() > kMost) {
    return BrokenTable(folder, sparse ? "its weights need weight of shape "
                                        "[vocabulary]"
                                      : "its weights need embedding.weight of "
                                        "shape [vocabulary, width]");
  }
  table.rows = static_cast<int>(values->shape[0]);
  table.width = sparse ? 1 : static_cast<int>(values->shape[1]);
  TRIVIUM_ASSIGN_OR_RETURN(table.values, Copy(folder, name, *values));
  if (name == "embeddings") {
    TRIVIUM_RETURN_IF_ERROR(FoldModel2Vec(folder, weights, &table));
  }
  return table;
}

// A SparseStaticEmbedding may name a file of weights by words instead.
absl::Status CheckConfig(const std::string& folder) {
  const absl::StatusOr<nlohmann::json> config =
      ReadJsonFile(folder + "/config.json");
  if (absl::IsNotFound(config.status())) return absl::OkStatus();
  TRIVIUM_RETURN_IF_ERROR(config.status());
  const auto path = config->find("path");
  if (path == config->end() || path->is_null()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{}/config.json: path names a file of weights by words, which is not "
      "supported; load the model with sentence-transformers and save it, which "
      "writes model.safetensors",
      folder));
}

class StaticModel : public Model {
 public:
  StaticModel(ModelInfo info, std::unique_ptr<Tokenizer> tokenizer,
              SentenceEncoder sentence_encoder,
              std::shared_ptr<const EmbeddingTable> table)
      : info_(std::move(info)),
        tokenizer_(std::move(tokenizer)),
        sentence_encoder_(std::move(sentence_encoder)),
        table_(std::move(table)) {}

  const ModelInfo& info() const override { return info_; }
  const Tokenizer* tokenizer() const override { return tokenizer_.get(); }
  const SentenceEncoder& sentence_encoder() const override {
    return sentence_encoder_;
  }
  const DecodingOptions& decoding_defaults() const override {
    return decoding_defaults_;
  }
  const std::vector<int32_t>& decoder_prefix() const override {
    return decoder_prefix_;
  }
  absl::StatusOr<Direction> ResolveDirection(
      std::optional<std::string_view>,
      std::optional<std::string_view>) const override {
    return absl::InvalidArgumentError(
        "the model has no languages; leave them out");
  }
  absl::StatusOr<std::unique_ptr<Engine>> NewEngine(
      const EngineOptions&) const override {
    return std::make_unique<TableEngine>(table_);
  }

 private:
  const ModelInfo info_;
  const std::unique_ptr<Tokenizer> tokenizer_;
  const SentenceEncoder sentence_encoder_;
  const std::shared_ptr<const EmbeddingTable> table_;
  const DecodingOptions decoding_defaults_;
  const std::vector<int32_t> decoder_prefix_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> LoadStaticModel(const std::string& root,
                                                       const ModuleList& list) {
  const auto& [type, folder] = list.front();
  const bool sparse = type == kSparseStaticEmbedding;
  if (sparse) TRIVIUM_RETURN_IF_ERROR(CheckConfig(folder));
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<Weights> weights,
                           Weights::Open(folder));
  TRIVIUM_ASSIGN_OR_RETURN(EmbeddingTable table,
                           ReadTable(folder, *weights, sparse));
  TRIVIUM_ASSIGN_OR_RETURN(SentenceEncoder sentences,
                           SentenceEncoder::Load(root, table.width, &list));
  table.max_tokens =
      sentences.max_tokens() > 0 ? sentences.max_tokens() : kMostTokens;
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                           LoadTokenizer(folder, {.special_tokens = false}));
  if (tokenizer == nullptr) {
    return BrokenTable(folder, "there is no tokenizer.json");
  }
  if (const int pieces = tokenizer->vocabulary_size(TextSide::kSource);
      pieces > table.rows) {
    return BrokenTable(folder,
                       fmt::format("the table has {} rows, but the "
                                   "tokenizer's vocabulary has {} pieces",
                                   table.rows, pieces));
  }
  ModelInfo info;
  info.folder = root;
  info.family = sparse ? "sparse_static_embedding" : "static_embedding";
  info.design = Design::kEncoder;
  info.isa = ActiveIsa();
  info.batch_invariant = true;
  info.parameters = static_cast<int64_t>(table.values.size());
  info.weight_bytes =
      info.parameters * static_cast<int64_t>(sizeof(table.values[0]));
  info.d_model = table.width;
  info.encoder_layers = 1;
  info.max_source_tokens = table.max_tokens;
  info.vocabulary = table.rows;
  Digest digest;
  digest.Add(weights->Fingerprint());
  for (const SentenceModule& module : list) digest.Add(module.type);
  info.revision = digest.Hex();
  TRIVIUM_RETURN_IF_ERROR(weights->CheckUnchanged());
  return std::make_unique<StaticModel>(
      std::move(info), std::move(tokenizer), std::move(sentences),
      std::make_shared<const EmbeddingTable>(std::move(table)));
}

}  // namespace trivium
