// A folder is read in this order: files; family (which describes the tensors);
// the use of an encoder's states; generation settings; chat templates;
// bounds of the vocabulary; shortlist. A step after an unreadable config.json
// or an unknown family would only repeat the problem, so reading ends there;
// every other problem is collected, so that --check can list all of them at
// once.
//
// With a cache of packed weights, values of weights are checked only if there
// are none of an earlier load.
//
// The revision is a digest of the shortlist, the weights' headers and
// config.json. At the end the mapped files are checked once more: a file that
// changed while it was read is a problem.
#include "model/folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "model/families/marian_npz.h"
#include "model/gguf/gguf_model.h"
#include "model/head_info.h"
#include "model/kernels/runtime.h"
#include "model/marian/marian_model.h"
#include "model/path_hint.h"
#include "model/precision.h"
#include "model/shortlist_file.h"
#include "model/state_use.h"
#include "model/text_tower.h"
#include "model/tokenizer/bounded_tokenizer.h"
#include "model/tokenizer/sentence_config.h"
#include "model/tokenizer/tokenizer_factory.h"
#include "model/transformer/grouped_linear.h"
#include "model/translator_prompts.h"
#include "model/weights/digest.h"
#include "model/weights/imagined_weights.h"
#include "model/weights/quantized/quantized_weights.h"
#include "model/weights_cache.h"

namespace trivium {
namespace {

using nlohmann::json;

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Reads a JSON file of the folder. Returns null if it is absent or, after
// adding a problem, if it cannot be read.
json ReadJson(const std::string& path, const std::string& name, bool required,
              Problems* problems) {
  absl::StatusOr<json> value = ReadJsonFile(path + "/" + name);
  if (value.ok()) return *std::move(value);
  if (required || !absl::IsNotFound(value.status())) {
    problems->push_back(std::string(value.status().message()));
  }
  return nullptr;
}

// Reports a folder that has an adapter without the model that it changes.
bool IsAdapter(const std::string& path, Problems* problems) {
  std::error_code error;
  const std::string name = "adapter_config.json";
  if (std::filesystem::exists(path + "/config.json", error) ||
      !std::filesystem::exists(path + "/" + name, error)) {
    return false;
  }
  Problems ignored;
  const json adapter = ReadJson(path, name, false, &ignored);
  const json base = adapter.is_object()
                        ? adapter.value("base_model_name_or_path", json())
                        : json();
  problems->push_back(fmt::format(
      "{}: the folder is an adapter (LoRA) of {}, not a model; merge the two "
      "with PEFT's merge_and_unload, save the result, and serve that",
      name,
      base.is_string() ? "'" + base.get<std::string>() + "'" : "a model"));
  return true;
}

// Reads config, weights and tokenizer of a folder. Returns its
// generation_config.json.
json ReadFiles(const std::string& root, bool imagine, const ModuleList* modules,
               Problems* problems, ModelFolder* folder) {
  if (IsAdapter(root, problems)) return nullptr;
  const std::string path =
      modules != nullptr ? modules->front().folder : TransformerFolder(root);
  std::error_code error;
  // Also if nobody can tell: reading it says why.
  const bool configured =
      std::filesystem::exists(path + "/config.json", error) || error;
  const std::string hint = configured ? "" : FolderHint(path);
  if (!hint.empty()) {
    problems->push_back(fmt::format("{}: has no config.json{}", path, hint));
    return nullptr;
  }
  absl::StatusOr<std::unique_ptr<Weights>> weights = Weights::Open(path);
  if (weights.ok()) {
    folder->weights = *std::move(weights);
  } else if (imagine && absl::IsNotFound(weights.status())) {
    folder->weights = ImagineWeights();
  } else {
    problems->push_back(std::string(weights.status().message()));
  }
  const absl::StatusOr<SentenceConfig> sentences =
      modules != nullptr ? SentenceConfig::OfModule(path)
                         : SentenceConfig::Load(root);
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer =
      sentences.ok() ? LoadTokenizer(path, *sentences) : sentences.status();
  if (tokenizer.ok()) {
    folder->tokenizer = *std::move(tokenizer);
  } else {
    problems->push_back(std::string(tokenizer.status().message()));
  }
  folder->tokenizer_config =
      ReadJson(path, "tokenizer_config.json", false, problems);
  json generation = ReadJson(path, "generation_config.json", false, problems);
  folder->config = ReadJson(path, "config.json", true, problems);
  folder->weights = ApplyQuantizationConfig(
      folder->config, std::move(folder->weights), problems);
  UseTextTower(&folder->config, &folder->weights, problems);
  return generation;
}

// Does the same for a GGUF file.
json ReadGguf(const std::string& path, Problems* problems,
              ModelFolder* folder) {
  GgufModel model = ReadGgufModel(path, problems);
  folder->config = std::move(model.config);
  folder->tokenizer_config = std::move(model.tokenizer_config);
  folder->weights = std::move(model.weights);
  if (model.tokenizer.is_null()) return std::move(model.generation_config);
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer =
      MakeTokenizer(std::move(model.tokenizer), folder->tokenizer_config);
  if (tokenizer.ok()) {
    folder->tokenizer = *std::move(tokenizer);
  } else {
    problems->push_back(
        fmt::format("metadata: the tokenizer: {}; fetch the file again",
                    std::string(tokenizer.status().message())));
  }
  return std::move(model.generation_config);
}

// Does the same for Marian's own files.
json ReadMarian(const std::string& path, Problems* problems,
                ModelFolder* folder) {
  MarianModel model = ReadMarianModel(path, problems);
  folder->config = std::move(model.config);
  folder->weights = std::move(model.weights);
  folder->tokenizer = std::move(model.tokenizer);
  folder->tokenizer_config = std::move(model.tokenizer_config);
  folder->lexical_shortlist = std::move(model.shortlist);
  folder->shared_vocabulary = model.shared_vocabulary;
  return std::move(model.generation_config);
}

bool HasTask(const json& config, const std::string& task) {
  if (!config.is_object()) return false;
  const json tasks = config.value("lora_adaptations", json());
  return tasks.is_array() &&
         std::find(tasks.begin(), tasks.end(), task) != tasks.end();
}

// Puts the task whose adapter is wanted into config.json, for the family.
void ChooseTask(const std::string& task, Problems* problems, json* config) {
  if (task.empty()) return;
  if (HasTask(*config, task)) {
    (*config)["lora_task"] = task;
    return;
  }
  constexpr char kKey[] = "lora_adaptations";
  ConfigReader reader({{"config.json", config}}, problems);
  const ConfigReader::Layer tasks = reader.Find(kKey);
  reader.Report(
      kKey, tasks,
      (tasks.json == nullptr ? "serve the folder without the task '"
                             : "give one of these tasks instead of '") +
          task + "'");
}

// Returns the loader that config.json's model_type names; null after adding a
// problem.
FamilyLoader FindLoader(const json& config, std::string* family,
                        Problems* problems) {
  ConfigReader reader({{"config.json", &config}}, problems);
  const ConfigReader::Layer type = reader.Find("model_type");
  if (type.json != nullptr && type.json->is_string()) {
    *family = type.json->get<std::string>();
    const FamilyLoader loader = FindFamily(*family);
    if (loader != nullptr) return loader;
  }
  std::vector<std::string_view> names = FamilyNames();
  for (const std::string_view name : TextTowerTypes()) names.push_back(name);
  std::sort(names.begin(), names.end());
  std::string known;
  for (const std::string_view name : names) {
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  reader.Report("model_type", type, "this server supports " + known);
  return nullptr;
}

// Keeps pieces that have no embedding out of texts. Reports a tokenizer that
// has so many of them that it must be another model's.
void BoundTokenizer(const TransformerDescription& description,
                    Problems* problems, std::unique_ptr<Tokenizer>* tokenizer) {
  constexpr int kAll = std::numeric_limits<int>::max();
  const int target =
      description.decoder ? description.decoder->vocabulary : kAll;
  // A decoder without an encoder reads the texts.
  const int source =
      description.encoder ? description.encoder->vocabulary : target;
  bool more = false;
  for (const auto& [side, name, size] :
       {std::tuple(TextSide::kSource, "source", source),
        std::tuple(TextSide::kTarget, "target", target)}) {
    const int pieces = (*tokenizer)->vocabulary_size(side);
    more |= pieces > size;
    if (pieces - size > pieces / 4) {
      problems->push_back(fmt::format(
          "config.json: the model has {} {} embeddings, but the tokenizer's "
          "vocabulary has {} pieces; take both from the same model",
          size, name, pieces));
      return;
    }
  }
  if (more) {
    *tokenizer = std::make_unique<BoundedTokenizer>(std::move(*tokenizer),
                                                    source, target);
  }
}

void ReadGeneration(const json& generation_json, const json& family_defaults,
                    Problems* problems, ModelFolder* folder) {
  std::vector<ConfigReader::Layer> layers;
  if (generation_json.is_object()) {
    layers.push_back({"generation_config.json", &generation_json});
  }
  layers.push_back({"config.json", &folder->config});
  // A generation_config.json is complete in itself, as in Transformers: the
  // family's defaults are for folders older than that file.
  if (!generation_json.is_object()) {
    layers.push_back({"config.json", &family_defaults});
  }
  const StackDescription& decoder = *folder->description.decoder;
  const GenerationLimits limits = {decoder.vocabulary, decoder.max_positions,
                                   folder->description.encoder.has_value()};
  ConfigReader reader(layers, problems);
  folder->generation = ReadGenerationConfig(&reader, limits);
  if (limits.has_encoder) {
    folder->generation.tasks =
        ReadTasks(folder->config, std::move(layers), limits, problems);
  }
}

// Recurrent states live in the blocks of keys and values, which are then kept
// as bf16 at least.
void KeepStates(ModelFolder* folder) {
  const std::vector<LayerDescription>& layers =
      folder->description.decoder->layer;
  if (folder->formats.decoder_kv == KvType::kInt8 &&
      std::any_of(layers.begin(), layers.end(),
                  [](const auto& layer) { return layer.recurrence; })) {
    folder->formats.decoder_kv = KvType::kBf16;
  }
}

// By default, weights that their file has in four bits stay so.
void KeepFourBits(const LoadOptions& options, ModelFolder* folder) {
  if (options.precision != Precision::kAuto ||
      !HasFourBitWeights(folder->description)) {
    return;
  }
  folder->precision = Precision::kInt4;
  folder->formats = FormatsOf(Precision::kInt4, options.kv_precision);
}

// Reads what an encoder is for, or a decoder that is used as one (state_use.h):
// its head, its mask token, its embeddings.
void ReadEncoderUse(const std::string& path, const ModuleList* modules,
                    Problems* problems, ModelFolder* folder) {
  UseStates(path, modules, problems, folder);
  const TransformerDescription& description = folder->description;
  if (!description.encoder || description.decoder) return;
  if (!folder->head && description.head &&
      description.head->output.weight != nullptr) {
    ConfigReader config({{"config.json", &folder->config}}, problems);
    folder->head = ReadHeadInfo(
        description.head->kind,
        static_cast<int>(description.head->output.weight->shape[0]), &config);
  }
  if (folder->tokenizer != nullptr) {
    folder->mask_id = FindMask(*folder->tokenizer, folder->tokenizer_config);
  }
}

// Reports a broken template when the model is loaded, but still serves prompts.
void ReadChatTemplates(const std::string& path, ModelFolder* folder) {
  if (!folder->description.decoder || folder->description.encoder ||
      folder->tokenizer == nullptr) {
    return;
  }
  absl::StatusOr<ChatTemplates> templates =
      IsGgufFile(path)
          ? ChatTemplates::FromConfig(folder->tokenizer_config, path)
          : ChatTemplates::Load(path);
  folder->chat_templates =
      templates.ok()
          ? *std::move(templates)
          : ChatTemplates::Refused(std::string(templates.status().message()));
}

// Finds the prompt with which a decoder translates.
void ReadTranslatorPrompt(const std::string& path, const LoadOptions& options,
                          Problems* problems, ModelFolder* folder) {
  if (!folder->description.decoder || folder->description.encoder) return;
  const TranslatorPrompt* const wanted =
      FindTranslatorPrompt(options.translate_with);
  const ChatTemplates& templates = folder->chat_templates;
  if (wanted == nullptr) {
    if (options.translate_with != "auto") return;
    folder->translator_prompt =
        RecognizeTranslator(templates, NamesOfModel(path, folder->config));
    return;
  }
  if (const absl::Status status = CheckTranslator(*wanted, templates);
      !status.ok()) {
    problems->push_back(
        fmt::format("{}: {}", path, std::string(status.message())));
  }
  folder->translator_prompt = wanted;
}

// A single weight that is infinite or NaN would spoil every answer.
void CheckFinite(const TransformerDescription& description,
                 const Weights& weights, Problems* problems) {
  std::map<const TensorView*, std::string_view> names;
  for (const std::string_view name : weights.Names()) {
    names.emplace(weights.Find(name), name);
  }
  std::set<const TensorView*> seen;
  std::string first;
  int others = -1;
  ForEachTensor(description, [&](const TensorView& tensor) {
    if (!seen.insert(&tensor).second) return;
    const std::optional<int64_t> at = FirstNotFinite(tensor);
    if (!at.has_value()) return;
    ++others;
    if (!first.empty()) return;
    const auto name = names.find(&tensor);
    first = fmt::format(
        "element {} of {}", *at,
        name == names.end() ? "a part of a joined tensor" : name->second);
  });
  if (first.empty()) return;
  problems->push_back(fmt::format(
      "weights: {} is infinite or not a number{}; fetch the model again, or "
      "one that was saved before its training failed",
      first,
      others > 0 ? fmt::format(", and so are some of {} other tensors", others)
                 : ""));
}

// Looks for the packed weights of an earlier load.
void OpenCache(const LoadOptions& options, ModelFolder* folder) {
  if (options.weights_cache.empty() || folder->weights->Origin().empty()) {
    return;
  }
  const auto cache = WeightsCache::Of(*folder, options);
  if (cache.ok()) folder->packed = cache->Open(&folder->cache_use);
}

}  // namespace

std::string UnreadableFolder(const std::exception& error) {
  return fmt::format(
      "the folder cannot be read ({}); fetch it again, or give the process "
      "more memory",
      error.what());
}

std::vector<FolderPart> PartsOf(const std::string& path,
                                const std::optional<SentenceModules>& modules,
                                const LoadOptions& options) {
  std::vector<FolderPart> parts;
  if (modules) {
    for (const ModuleList& list : modules->lists) {
      parts.push_back({&list, options});
    }
    return parts;
  }
  if (!options.task.empty() && IsFolder(path)) {
    Problems ignored;
    const json config =
        ReadJson(TransformerFolder(path), "config.json", false, &ignored);
    for (const char* side : {".query", ".passage"}) {
      LoadOptions one = options;
      one.task += side;
      if (!HasTask(config, one.task)) return {{nullptr, options}};
      parts.push_back({nullptr, std::move(one)});
    }
    return parts;
  }
  return {{nullptr, options}};
}

std::optional<SentenceModules> SeparateModules(const std::string& path) {
  absl::StatusOr<SentenceModules> modules = ReadSentenceModules(path);
  if (!modules.ok() ||
      (!modules->routed && !ReadsTable(modules->lists.front()))) {
    return std::nullopt;
  }
  return *std::move(modules);
}

ModelFolder ReadModelFolder(const std::string& path, const LoadOptions& options,
                            Problems* problems, bool imagine,
                            const ModuleList* modules) {
  ModelFolder folder;
  const bool gguf = IsGgufFile(path), marian = IsMarianModel(path);
  if (!IsFolder(path) && !gguf && !marian) {
    problems->push_back(fmt::format(
        "{}: is not a folder; give the path of a Hugging Face or Marian model "
        "folder, or of a .gguf, .npz or .bin file{}",
        path, PathHint(path)));
    return folder;
  }
  const absl::StatusOr<Precision> precision =
      ResolvePrecision(options.precision, ActiveIsa());
  if (precision.ok()) {
    folder.precision = *precision;
    folder.formats = FormatsOf(*precision, options.kv_precision);
  } else {
    problems->push_back(std::string(precision.status().message()));
  }
  json generation;
  if (gguf) {
    generation = ReadGguf(path, problems, &folder);
  } else if (marian) {
    generation = ReadMarian(path, problems, &folder);
  } else {
    generation = ReadFiles(path, imagine, modules, problems, &folder);
  }
  if (!folder.config.is_object()) return folder;
  ChooseTask(options.task, problems, &folder.config);

  folder.family = "marian";
  const FamilyLoader load =
      marian ? LoadMarianNpz
             : FindLoader(folder.config, &folder.family, problems);
  if (load == nullptr) return folder;
  FamilyModel model = load(folder.config, folder.weights.get(), problems);
  folder.description = std::move(model.description);
  if (folder.weights == nullptr) return folder;
  const bool whole = problems->empty() && !folder.weights->imagined();
  KeepFourBits(options, &folder);
  ReadEncoderUse(path, modules, problems, &folder);
  if (folder.description.decoder) {
    KeepStates(&folder);
    ReadGeneration(generation, model.generation_defaults, problems, &folder);
  }
  ReadChatTemplates(path, &folder);
  ReadTranslatorPrompt(path, options, problems, &folder);
  // Marian's own files were checked before the decoder got its extra embedding.
  if (folder.tokenizer != nullptr && !marian) {
    BoundTokenizer(folder.description, problems, &folder.tokenizer);
  }
  Digest digest;
  if (options.vocabulary_shortlist) {
    ReadShortlist(path, problems, &folder, &digest);
  }
  digest.Add(folder.weights->Fingerprint());
  digest.Add(folder.config.dump(-1, ' ', /*ensure_ascii=*/true));
  folder.revision = digest.Hex();
  if (problems->empty()) OpenCache(options, &folder);
  // Packed weights were checked before they were packed.
  if (whole && folder.packed == nullptr) {
    folder.weights->ReadAhead();
    CheckFinite(folder.description, *folder.weights, problems);
  }
  if (absl::Status status = folder.weights->CheckUnchanged(); !status.ok()) {
    problems->push_back(std::string(status.message()));
  }
  return folder;
}

}  // namespace trivium
