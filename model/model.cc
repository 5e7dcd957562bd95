// Load, in this order: read and check the whole folder; pack the weights; check
// that no file changed since it was opened; describe the model; take the folder
// apart.
//
// Always:
// - Nothing is computed from a folder that has a problem, so all its problems
//   are known at once. Check stops before the packing.
// - CheckUnchanged comes after the last read of the weights. So a file that was
//   changed meanwhile is an error, not a wrong model.
// - The mapped files are closed when Load returns: the Transformer has copies.
//   Only packed weights of an earlier load (weights_cache.h), and tables that
//   are read in place, stay mapped.
// - In LoadedModel, languages_ comes after the members that it reads.
// - An exception of a parser, or a lack of memory, becomes an error.
#include "model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/isa.h"
#include "base/status.h"
#include "model/chat_template.h"
#include "model/folder.h"
#include "model/gguf/gguf_model.h"
#include "model/kernels/runtime.h"
#include "model/languages.h"
#include "model/marian/marian_model.h"
#include "model/pair_template.h"
#include "model/precision.h"
#include "model/routed_model.h"
#include "model/static_model.h"
#include "model/tokenizer/sentence_config.h"
#include "model/transformer/head_tap.h"
#include "model/transformer/memory_plan.h"
#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
#include "model/weights/truncation_guard.h"
#include "model/weights_cache.h"

namespace trivium {
namespace {

// Turns a folder's problems into one start-up error; --check lists them all.
absl::Status ToStatus(const std::string& folder, const Problems& problems) {
  constexpr size_t kShown = 10;
  std::string message = fmt::format("cannot load {}:", folder);
  for (size_t i = 0; i < std::min(problems.size(), kShown); ++i) {
    message += "\n  " + problems[i];
  }
  if (problems.size() > kShown) {
    message += fmt::format("\n  and {} more problems; see --check {}",
                           problems.size() - kShown, folder);
  }
  return absl::InvalidArgumentError(message);
}

class LoadedModel : public Model {
 public:
  LoadedModel(ModelInfo info, ModelFolder* folder,
              std::shared_ptr<const Transformer> transformer)
      : info_(std::move(info)),
        tokenizer_(std::move(folder->tokenizer)),
        sentence_encoder_(std::move(folder->sentence_encoder)),
        pair_template_(std::move(folder->pair_template)),
        chat_templates_(std::move(folder->chat_templates)),
        translator_prompt_(folder->translator_prompt),
        generation_(std::move(folder->generation)),
        languages_({.tokenizer = tokenizer_.get(),
                    .family = info_.family,
                    .config = &folder->config,
                    .tokenizer_config = &folder->tokenizer_config,
                    .generation = &generation_,
                    .prompt = translator_prompt_}),
        transformer_(std::move(transformer)) {
    info_.source_languages = languages_.sources();
    info_.target_languages = languages_.targets();
    if (const Language* target = languages_.default_target()) {
      info_.default_target_language = *target;
    }
  }

  const ModelInfo& info() const override { return info_; }
  const Tokenizer* tokenizer() const override { return tokenizer_.get(); }
  const SentenceEncoder& sentence_encoder() const override {
    return sentence_encoder_;
  }
  const PairTemplate* pair_template() const override {
    return pair_template_ ? &*pair_template_ : nullptr;
  }
  const TranslatorPrompt* translator_prompt() const override {
    return translator_prompt_;
  }
  const ChatTemplates& chat_templates() const override {
    return chat_templates_;
  }
  const DecodingOptions& decoding_defaults() const override {
    return generation_.options;
  }
  const std::vector<int32_t>& decoder_prefix() const override {
    return generation_.decoder_prefix;
  }
  std::span<const Task> tasks() const override { return generation_.tasks; }
  absl::StatusOr<Direction> ResolveDirection(
      std::optional<std::string_view> source_language,
      std::optional<std::string_view> target_language) const override {
    return languages_.Resolve(source_language, target_language);
  }
  absl::Status CheckTracedHead(bool decoder,
                               const HeadChoice& choice) const override {
    return trivium::CheckTracedHead(*transformer_, decoder, choice);
  }
  absl::StatusOr<std::unique_ptr<Engine>> NewEngine(
      const EngineOptions& options) const override {
    return TransformerEngine::Create(transformer_, options.kv_cache_bytes,
                                     options.threads,
                                     options.prefix_cache_bytes);
  }

 private:
  ModelInfo info_;
  const std::unique_ptr<Tokenizer> tokenizer_;
  const SentenceEncoder sentence_encoder_;
  const std::optional<PairTemplate> pair_template_;
  const ChatTemplates chat_templates_;
  const TranslatorPrompt* const translator_prompt_;
  const GenerationConfig generation_;
  const LanguageTable languages_;
  const std::shared_ptr<const Transformer> transformer_;
};

// Returns ModelInfo::decoder_windows.
std::vector<int> WindowsOf(const StackDescription& decoder) {
  std::vector<int> windows;
  for (const LayerDescription& layer : decoder.layer) {
    const int look_back = layer.self_attention.geometry.look_back;
    windows.push_back(look_back == kAllKeys ? 0 : look_back + 1);
  }
  if (std::count(windows.begin(), windows.end(), 0) == decoder.layers) {
    windows.clear();
  }
  return windows;
}

ModelInfo Describe(const std::string& path, const ModelFolder& folder,
                   const Transformer& transformer) {
  const std::optional<StackDescription>& encoder = folder.description.encoder;
  const std::optional<StackDescription>& decoder = folder.description.decoder;
  ModelInfo info;
  info.folder = path;
  info.family = folder.family;
  info.precision = folder.precision;
  info.quantization = folder.weights->Quantization();
  info.isa = ActiveIsa();
  info.batch_invariant = transformer.batch_invariant();
  info.parameters = transformer.parameters();
  info.weight_bytes = transformer.weight_bytes();
  info.revision = folder.revision;
  info.weights_cache = folder.cache_use;
  if (decoder) {
    info.design = Design::kDecoder;
    info.kv_precision = KvPrecisionOf(folder.formats);
    info.longest_kv_bytes =
        PlanMemory(folder.description, folder.formats).longest_kv_bytes;
    info.d_model = decoder->d_model;
    info.decoder_layers = decoder->layers;
    info.decoder_heads = decoder->heads;
    info.decoder_kv_heads = decoder->layer[0].self_attention.geometry.kv_heads;
    info.decoder_windows = WindowsOf(*decoder);
    info.recurrent_decoder = decoder->layer[0].recurrence.has_value();
    info.decoder_has_states = std::any_of(
        decoder->layer.begin(), decoder->layer.end(),
        [](const LayerDescription& layer) { return layer.mixer.has_value(); });
    info.vocabulary = decoder->vocabulary;
    info.max_target_tokens = decoder->max_positions;
    info.vocabulary_shortlist = folder.description.shortlist != nullptr;
    info.names_sampling = folder.generation.names_sampling;
    info.names_max_new_tokens = folder.generation.names_max_new_tokens;
  }
  if (encoder) {
    info.design = decoder ? Design::kEncoderDecoder : Design::kEncoder;
    info.d_model = encoder->d_model;
    info.encoder_layers = encoder->layers;
    info.encoder_heads = encoder->heads;
    if (!decoder) info.vocabulary = encoder->vocabulary;
    info.type_vocabulary = encoder->type_vocabulary;
    if (folder.description.pooler) {
      info.pooled_size =
          static_cast<int>(folder.description.pooler->dense.weight->shape[0]);
    }
    info.head = folder.head;
    info.mask_id = folder.mask_id;
    info.max_source_tokens = encoder->max_positions;
    if (const int tokens = folder.sentence_encoder.max_tokens(); tokens > 0) {
      info.max_source_tokens = std::min(info.max_source_tokens, tokens);
    }
  }
  return info;
}

// Returns the transformer together with the weights that it reads in place, if
// it does so; takes them from the folder then.
std::shared_ptr<const Transformer> WithItsWeights(
    std::shared_ptr<const Transformer> transformer, ModelFolder* folder) {
  const auto& decoder = folder->description.decoder;
  if (!decoder || !decoder->token_inputs ||
      decoder->token_inputs->in_place == nullptr) {
    return transformer;
  }
  struct Kept {
    std::unique_ptr<Weights> weights;
    std::shared_ptr<const Transformer> transformer;
  };
  const auto kept = std::make_shared<Kept>(
      Kept{std::move(folder->weights), std::move(transformer)});
  return {kept, kept->transformer.get()};
}

// Loads the part of a folder that `list` names (SeparateModules), or the whole
// folder if it is null.
absl::StatusOr<std::unique_ptr<Model>> LoadList(const std::string& folder,
                                                const ModuleList* list,
                                                const LoadOptions& options) {
  if (list != nullptr && ReadsTable(*list)) {
    absl::StatusOr<std::unique_ptr<Model>> model =
        LoadStaticModel(folder, *list);
    if (model.ok()) return model;
    return ToStatus(folder, {std::string(model.status().message())});
  }
  Problems problems;
  ModelFolder read =
      ReadModelFolder(folder, options, &problems, /*imagine=*/false, list);
  if (!problems.empty()) return ToStatus(folder, problems);
  auto made = Transformer::Create(read.description, read.formats, read.packed);
  if (absl::IsInvalidArgument(made.status()) && read.packed != nullptr) {
    // The file is whole, and yet of another model. It is written again from
    // weights that are checked first.
    WeightsCacheUse use = std::move(read.cache_use);
    use.kind = WeightsCacheUse::kPacked;
    use.broken =
        fmt::format("{}: {}", use.path, std::string(made.status().message()));
    LoadOptions uncached = options;
    uncached.weights_cache.clear();
    read =
        ReadModelFolder(folder, uncached, &problems, /*imagine=*/false, list);
    if (!problems.empty()) return ToStatus(folder, problems);
    read.cache_use = std::move(use);
    made = Transformer::Create(read.description, read.formats);
  }
  TRIVIUM_ASSIGN_OR_RETURN(std::shared_ptr<const Transformer> transformer,
                           std::move(made));
  TRIVIUM_RETURN_IF_ERROR(read.weights->CheckUnchanged());
  if (read.cache_use.kind == WeightsCacheUse::kPacked) {
    TRIVIUM_ASSIGN_OR_RETURN(const WeightsCache cache,
                             WeightsCache::Of(read, options));
    cache.Write(*transformer, &read.cache_use);
  }
  ModelInfo info = Describe(folder, read, *transformer);
  transformer = WithItsWeights(std::move(transformer), &read);
  return std::make_unique<LoadedModel>(std::move(info), &read,
                                       std::move(transformer));
}

// INVALID_ARGUMENT if the parts' embeddings could not be compared.
absl::Status CheckComparable(
    const std::string& folder,
    const std::vector<std::unique_ptr<Model>>& models) {
  const auto sizes = [](const Model& model) {
    const SentenceEncoder& sentences = model.sentence_encoder();
    const MultiVectors* const multi = sentences.multi_vectors();
    return std::pair(sentences.embedding_size(model.info().d_model),
                     multi != nullptr ? multi->size() : 0);
  };
  const auto first = sizes(*models.front());
  for (const auto& model : models) {
    const auto other = sizes(*model);
    if (other == first) continue;
    return absl::InvalidArgumentError(fmt::format(
        "{}: one list of its modules makes embeddings of {} numbers and "
        "multi-vectors of {}, another {} and {}; they could not be compared",
        folder, first.first, first.second, other.first, other.second));
  }
  return absl::OkStatus();
}

// Adds the problems of such a part.
void CheckList(const std::string& folder, const ModuleList* list,
               const LoadOptions& options, Problems* problems) {
  if (list == nullptr || !ReadsTable(*list)) {
    ReadModelFolder(folder, options, problems, /*imagine=*/false, list);
  } else if (const auto model = LoadStaticModel(folder, *list); !model.ok()) {
    problems->push_back(std::string(model.status().message()));
  }
}

}  // namespace

const SentenceEncoder& Model::sentence_encoder() const {
  static const auto* const kPlain = new SentenceEncoder;
  return *kPlain;
}

absl::Status Model::CheckTracedHead(bool, const HeadChoice&) const {
  return absl::InvalidArgumentError(
      "is of a model without attention; leave it out");
}

const ChatTemplates& Model::chat_templates() const {
  static const auto* const kNone = new ChatTemplates;
  return *kNone;
}

absl::StatusOr<std::unique_ptr<Model>> Model::Load(
    const std::string& folder, const LoadOptions& options) try {
  TRIVIUM_RETURN_IF_ERROR(DetectIsa().status());
  const std::optional<SentenceModules> modules = SeparateModules(folder);
  std::vector<std::unique_ptr<Model>> models;
  for (const FolderPart& part : PartsOf(folder, modules, options)) {
    TRIVIUM_ASSIGN_OR_RETURN(models.emplace_back(),
                             LoadList(folder, part.list, part.options));
  }
  if (models.size() == 1) return std::move(models.front());
  TRIVIUM_RETURN_IF_ERROR(CheckComparable(folder, models));
  return NewRoutedModel(std::move(models), modules ? modules->query : 0,
                        modules ? modules->document : 1);
} catch (const std::exception& error) {
  return ToStatus(folder, {UnreadableFolder(error)});
}

bool Model::IsAt(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error)
             ? std::filesystem::is_regular_file(
                   TransformerFolder(path) + "/config.json", error) ||
                   SeparateModules(path).has_value() || IsMarianModel(path)
             : IsGgufFile(path);
}

void LeaveSignalsAlone() { TruncationGuard::LeaveSignalsAlone(); }

std::vector<std::string> Model::Check(const std::string& folder,
                                      const LoadOptions& options) try {
  Problems problems;
  const std::optional<SentenceModules> modules = SeparateModules(folder);
  for (const FolderPart& part : PartsOf(folder, modules, options)) {
    CheckList(folder, part.list, part.options, &problems);
  }
  return problems;
} catch (const std::exception& error) {
  return {UnreadableFolder(error)};
}

}  // namespace trivium
