#include "model/state_use.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "model/gguf/gguf_model.h"

namespace trivium {
namespace {

// The widest vector that a matrix of a GGUF file may make.
constexpr int64_t kMostDense = 1 << 20;

bool HasModules(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path + "/modules.json", error);
}

// True for a Qwen3-Reranker from before sentence-transformers 5.4: an ordinary
// Qwen 3, except that its README names its purpose.
bool IsQwen3Reranker(const std::string& path, const ModelFolder& folder) {
  if (folder.family != "qwen3" || folder.tokenizer == nullptr) return false;
  constexpr size_t kLongest = size_t{1} << 20;
  const auto readme = ReadFile(path + "/README.md", kLongest);
  if (!readme.ok() || !readme->starts_with("---\n")) return false;
  const std::string_view head =
      std::string_view(*readme).substr(0, readme->find("\n---", 4));
  return head.find("\npipeline_tag: text-ranking") != head.npos;
}

// Returns a tensor of f32 that the description owns.
const TensorView* Keep(std::vector<float> values, int64_t columns,
                       TransformerDescription* description) {
  struct Owned {
    std::vector<float> values;
    TensorView view;
  };
  auto owned = std::make_shared<Owned>();
  owned->values = std::move(values);
  const auto rows = static_cast<int64_t>(owned->values.size()) / columns;
  owned->view = {
      DType::kF32, {rows, columns}, std::as_bytes(std::span(owned->values))};
  description->memory.push_back(owned);
  return &owned->view;
}

// Adds the head that computes the score. `output` is the decoder's output
// projection.
void AddHead(const LogitScore& score, const LinearTensors& output,
             Problems* problems, ModelFolder* folder) {
  TransformerDescription& description = folder->description;
  const StackDescription& stack = *description.encoder;
  const auto logit = [&](int32_t id) {
    std::vector<float> row(stack.d_model + 1);
    const auto weights = std::span(row).first(stack.d_model);
    CopyToF32(*output.weight, int64_t{id} * stack.d_model, weights);
    if (output.bias != nullptr) {
      CopyToF32(*output.bias, id, std::span(row).last(1));
    }
    return row;
  };
  for (const int32_t id : {score.true_id, score.false_id.value_or(0)}) {
    if (id < stack.vocabulary) continue;
    problems->push_back(fmt::format(
        "modules.json: LogitScore asks for the logit of token {}, but the "
        "model has {} tokens; fetch a complete model",
        id, stack.vocabulary));
    return;
  }
  if (folder->weights->imagined()) return;
  std::vector<float> row = logit(score.true_id);
  if (score.false_id) {
    const std::vector<float> other = logit(*score.false_id);
    for (size_t i = 0; i < row.size(); ++i) row[i] -= other[i];
  }
  const std::vector<float> bias = {row.back()};
  row.pop_back();
  HeadDescription& head = description.head.emplace();
  head.input = HeadDescription::Input::kLastToken;
  head.output.weight = Keep(std::move(row), stack.d_model, &description);
  if (output.bias != nullptr) head.output.bias = Keep(bias, 1, &description);
  folder->head = HeadInfo{.kind = HeadKind::kClassify,
                          .scores = score.sigmoid ? HeadInfo::Scores::kSigmoid
                                                  : HeadInfo::Scores::kNone,
                          .labels = {folder->tokenizer->IdToPiece(
                              score.true_id, TextSide::kSource)}};
}

// True for Stanford's ColBERT, whose folders name a class of their own.
bool IsStanford(const nlohmann::json& config) {
  const auto names = config.find("architectures");
  return names != config.end() && names->is_array() && names->size() == 1 &&
         names->front() == "HF_ColBERT";
}

absl::StatusOr<SentenceEncoder> ReadSentences(const std::string& path,
                                              const ModuleList* modules,
                                              const ModelFolder& folder) {
  const StackDescription& encoder = *folder.description.encoder;
  const bool stanford = modules == nullptr && !HasModules(path) &&
                        IsStanford(folder.config) &&
                        !folder.weights->imagined();
  absl::StatusOr<SentenceEncoder> sentences =
      stanford ? SentenceEncoder::LoadStanford(path, *folder.weights,
                                               encoder.d_model)
               : SentenceEncoder::Load(path, encoder.d_model, modules);
  if (!sentences.ok()) return sentences;
  if (!IsGgufFile(path)) {
    TRIVIUM_RETURN_IF_ERROR(
        sentences->AddM3Outputs(path, encoder.d_model, folder.tokenizer.get()));
  }
  TRIVIUM_RETURN_IF_ERROR(
      sentences->FindTokens(path, folder.tokenizer.get(), encoder.vocabulary));
  if (const auto task = folder.config.find("lora_task");
      task != folder.config.end() && task->is_string()) {
    sentences->UseTask(
        task->get<std::string>(),
        folder.config.value("task_instructions", nlohmann::json()));
  }
  return sentences;
}

// Every added token must see at least one of a query's own, in each layer.
void CheckExpansion(const SentenceEncoder& sentences,
                    const StackDescription& encoder, Problems* problems) {
  if (!sentences.has_multi_vector()) return;
  const auto& expansion = sentences.multi_vectors()->settings().expansion;
  if (!expansion || expansion->attended) return;
  for (const LayerDescription& layer : encoder.layer) {
    const bool disentangled = layer.position_key || layer.position_query;
    const int look_back = layer.self_attention.geometry.look_back;
    if (!disentangled && look_back >= expansion->length - 1) continue;
    problems->push_back(
        disentangled
            ? "query_expansion: has attend false, which is not supported with "
              "DeBERTa's attention; save the model with attend true"
            : fmt::format("query_expansion: with attend false, every added "
                          "token must see a token of the query, but a layer "
                          "looks only {} tokens back and the length is {}; "
                          "give a length of at most {}, or attend true",
                          look_back, expansion->length, look_back + 1));
    return;
  }
}

}  // namespace

void UseStates(const std::string& path, const ModuleList* modules,
               Problems* problems, ModelFolder* folder) {
  TransformerDescription& description = folder->description;
  if (description.encoder.has_value() == description.decoder.has_value()) {
    return;
  }
  const auto fail = [&](std::string what) {
    problems->push_back(std::move(what));
  };
  const bool decodes = description.decoder.has_value();
  const bool has_modules = HasModules(path);
  const bool is_reranker =
      decodes && !has_modules && IsQwen3Reranker(path, *folder);
  const nlohmann::json pooling =
      folder->config.value(kGgufPooling, nlohmann::json());
  // After a problem, the projection may be missing because of it.
  const bool writes =
      description.output_projection.weight != nullptr || !problems->empty();
  if (decodes && writes && !has_modules && !is_reranker &&
      !pooling.is_string()) {
    return;
  }
  if (description.output_narrowing) {
    return fail(
        "modules.json: belongs to a decoder whose states are narrowed before "
        "the output (OPT), which cannot make vectors; remove it to generate "
        "text");
  }
  const auto has_mixer = [](const LayerDescription& layer) {
    return layer.mixer.has_value();
  };
  if (decodes && std::any_of(description.decoder->layer.begin(),
                             description.decoder->layer.end(), has_mixer)) {
    return fail(
        "config.json: the layers of this family keep a state per sequence, and "
        "this server only generates text with it; fetch a model that does "
        "(a class ending in ForCausalLM), without modules.json");
  }
  if (decodes) description.encoder = std::move(description.decoder);
  description.decoder.reset();
  const LinearTensors output = std::exchange(description.output_projection, {});
  if (pooling.is_string()) {
    std::vector<const TensorView*> dense;
    int width = description.encoder->d_model;
    // EmbeddingGemma's.
    for (const char* name : {"dense_2.weight", "dense_3.weight"}) {
      const TensorView* const weight = folder->weights->Find(name);
      if (weight == nullptr) continue;
      if (!IsReal(*weight) || weight->shape.size() != 2 ||
          weight->shape[1] != width || weight->shape[0] < 1 ||
          weight->shape[0] > kMostDense) {
        return fail(fmt::format(
            "weights: tensor {} [{}] does not make vectors of {} values; fetch "
            "the model again",
            name, fmt::join(weight->shape, ", "), width));
      }
      width = static_cast<int>(weight->shape[0]);
      dense.push_back(weight);
    }
    folder->sentence_encoder =
        SentenceEncoder::OfPooling(pooling.get<std::string>(), dense)
            .value_or(SentenceEncoder());
    return;
  }
  absl::StatusOr<SentenceEncoder> sentences =
      ReadSentences(path, modules, *folder);
  if (!sentences.ok()) return fail(std::string(sentences.status().message()));
  folder->sentence_encoder = *std::move(sentences);
  if (folder->family == "dpr" && !has_modules) {
    folder->sentence_encoder =
        SentenceEncoder::OfPooling("cls").value_or(SentenceEncoder());
  }
  CheckExpansion(folder->sentence_encoder, *description.encoder, problems);

  if (const auto& pooling = folder->sentence_encoder.vocabulary_pooling()) {
    if (!description.head || description.head->kind != HeadKind::kFillMask) {
      return fail(
          "modules.json: SpladePooling needs a model that fills in masked "
          "words "
          "(a class ending in ForMaskedLM), but this folder has no such head; "
          "fetch a complete model");
    }
    description.head->sparse = pooling;
  }
  std::optional<LogitScore> score = folder->sentence_encoder.logit_score();
  if (is_reranker) {
    const Tokenizer& tokenizer = *folder->tokenizer;
    score =
        LogitScore{.true_id = tokenizer.PieceToId("yes", TextSide::kSource),
                   .false_id = tokenizer.PieceToId("no", TextSide::kSource)};
    if (score->true_id < 0 || *score->false_id < 0) {
      return fail(
          "README.md: says that the model ranks texts (text-ranking), but its "
          "tokenizer has no \"yes\" and \"no\"; remove the README to "
          "generate text");
    }
  }
  if (!score) return;
  if (output.weight == nullptr || folder->tokenizer == nullptr) {
    return fail(
        "modules.json: LogitScore needs a decoder with its output projection "
        "and tokenizer, but this folder lacks one; fetch a complete model");
  }
  absl::StatusOr<PairTemplate> pairs =
      is_reranker ? PairTemplate::OfQwen3Reranker() : PairTemplate::Load(path);
  if (!pairs.ok()) return fail(std::string(pairs.status().message()));
  folder->pair_template = *std::move(pairs);
  AddHead(*score, output, problems, folder);
}

}  // namespace trivium
