#include "model/hub/file_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/json.h"
#include "base/status.h"

namespace trivium {
namespace {

constexpr char kDefaultQuant[] = "Q4_K_M";

// Small files that the loader or a tokenizer reads. README.md says what a
// reranker is for, artifact.metadata how Stanford's ColBERT reads texts.
constexpr std::array<std::string_view, 31> kSmallFiles = {
    "README.md",
    "adapter_config.json",
    "added_tokens.json",
    "artifact.metadata",
    "chat_template.jinja",
    "chat_template.json",
    "colbert_linear.pt",
    "config.json",
    "config_sentence_transformers.json",
    "generation_config.json",
    "merges.txt",
    "modules.json",
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_albert_config.json",
    "sentence_camembert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
    "sentencepiece.bpe.model",
    "shortlist.safetensors",
    "source.spm",
    "sparse_linear.pt",
    "special_tokens_map.json",
    "spiece.model",
    "spm.model",
    "target.spm",
    "target_vocab.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
};
constexpr std::array<std::string_view, 2> kVocabularies = {"vocab.json",
                                                           "vocab.txt"};
// In the loader's order (model/weights/weights.cc).
constexpr std::array<std::string_view, 4> kWeights = {
    "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
    "pytorch_model.bin.index.json"};

bool IsSmall(std::string_view name) {
  return std::find(kSmallFiles.begin(), kSmallFiles.end(), name) !=
             kSmallFiles.end() ||
         std::find(kVocabularies.begin(), kVocabularies.end(), name) !=
             kVocabularies.end();
}

// True for "1_Pooling", a folder of a sentence-transformers module.
bool IsModule(std::string_view folder) {
  const size_t end = folder.find_first_not_of("0123456789");
  return end != 0 && end != folder.npos && folder[end] == '_';
}

// Returns the weights file of a folder (which ends with "/", or is empty) that
// the loader would read; null if there is none.
const HubFile* FindWeights(const std::vector<HubFile>& files,
                           const std::string& folder) {
  for (const std::string_view name : kWeights) {
    const HubFile* const file = FindFile(files, folder + std::string(name));
    if (file != nullptr) return file;
  }
  return nullptr;
}

// Returns "" or "0_Transformer/", where config.json and the weights are.
std::string TransformerPrefix(const std::vector<HubFile>& files) {
  if (FindFile(files, "config.json") != nullptr) return "";
  for (const HubFile& file : files) {
    if (file.path.starts_with("0_") && file.path.ends_with("/config.json") &&
        std::count(file.path.begin(), file.path.end(), '/') == 1) {
      return file.path.substr(0, file.path.find('/') + 1);
    }
  }
  return "";
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  absl::AsciiStrToUpper(&upper);
  return upper;
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// True if `quant`, in capitals, is a whole word of the file's name: between
// dots, dashes and the name's ends.
bool HasWord(const HubFile& file, const std::string& quant) {
  std::string name = Upper(BaseName(file.path));
  std::replace(name.begin(), name.end(), '-', '.');
  std::string word = quant;
  std::replace(word.begin(), word.end(), '-', '.');
  return ("." + name + ".").find("." + word + ".") != std::string::npos;
}

bool HasText(const HubFile& file, const std::string& quant) {
  return Upper(file.path).find(quant) != std::string::npos;
}

// True for a part of a file that was split: "...-00001-of-00003.gguf".
bool IsPart(std::string_view path) {
  const size_t of = path.rfind("-of-");
  return of != path.npos && of >= 6 && path.size() == of + 14;
}

// The GGUF files that have a whole model.
std::vector<HubFile> GgufFiles(const std::vector<HubFile>& files) {
  std::vector<HubFile> found;
  for (const HubFile& file : files) {
    const std::string name = Upper(BaseName(file.path));
    if (name.ends_with(".GGUF") && !name.starts_with("MMPROJ") &&
        name.find("IMATRIX") == name.npos) {
      found.push_back(file);
    }
  }
  return found;
}

std::string ListOf(const std::vector<HubFile>& files) {
  std::string list;
  for (const HubFile& file : files) {
    list += (list.empty() ? "" : ", ") + file.path;
  }
  return list;
}

absl::StatusOr<HubFile> ChooseGguf(const HubName& name,
                                   const std::vector<HubFile>& all) {
  const auto error = [&](const std::string& what,
                         const std::vector<HubFile>& files) {
    return absl::NotFoundError(fmt::format(
        "hf:{}: {}; name one as hf:{}:QUANT, with a text that only its name "
        "has. The GGUF files are: {}",
        name.repository, what, name.repository, ListOf(files)));
  };
  const std::string quant =
      Upper(name.quant.empty() ? kDefaultQuant : name.quant);
  if (all.empty()) {
    return absl::NotFoundError(
        fmt::format("hf:{}: the repository has no GGUF file; leave out ':{}'",
                    name.repository, name.quant));
  }
  std::vector<HubFile> fit;
  if (all.size() == 1 && name.quant.empty()) fit = all;
  for (const auto matches : {HasWord, HasText}) {
    if (!fit.empty()) break;
    for (const HubFile& file : all) {
      if (matches(file, quant)) fit.push_back(file);
    }
  }
  if (fit.empty()) {
    return error(
        name.quant.empty()
            ? fmt::format("no GGUF file is named, and none is {}",
                          kDefaultQuant)
            : fmt::format("no GGUF file has '{}' in its name", name.quant),
        all);
  }
  if (IsPart(fit[0].path)) {
    return absl::NotFoundError(fmt::format(
        "hf:{}: {} is a part of a model that was split; merge the parts with "
        "llama.cpp's llama-gguf-split --merge, or take a smaller QUANT of: {}",
        name.repository, fit[0].path, ListOf(all)));
  }
  if (fit.size() > 1) {
    return error(fmt::format("several GGUF files fit '{}'", quant), fit);
  }
  return fit[0];
}

}  // namespace

absl::StatusOr<FileChoice> ChooseFiles(const HubName& name,
                                       const std::vector<HubFile>& files) {
  FileChoice choice;
  const std::string prefix = TransformerPrefix(files);
  const HubFile* const weights = FindWeights(files, prefix);
  const std::vector<HubFile> ggufs = GgufFiles(files);
  const bool folder =
      weights != nullptr && FindFile(files, prefix + "config.json") != nullptr;
  if (!name.quant.empty() || (!folder && !ggufs.empty())) {
    TRIVIUM_ASSIGN_OR_RETURN(choice.weights.emplace_back(),
                             ChooseGguf(name, ggufs));
    choice.gguf = choice.weights[0].path;
    return choice;
  }
  const bool adapter = FindFile(files, "adapter_config.json") != nullptr &&
                       FindFile(files, "config.json") == nullptr;
  if (!folder && !adapter) {
    return absl::NotFoundError(fmt::format(
        "hf:{}: the repository has no model that this server loads: neither "
        "config.json with model.safetensors or pytorch_model.bin, nor a GGUF "
        "file; is it the right one?",
        name.repository));
  }
  for (const HubFile& file : files) {
    const std::vector<std::string> parts = absl::StrSplit(file.path, '/');
    const bool module = parts.size() == 2 && IsModule(parts[0]);
    const std::string own = module ? parts[0] + "/" : "";
    const bool module_weights =
        module && own != prefix &&
        FindWeights(files, own) == FindFile(files, file.path);
    const bool chat = parts.size() == 2 &&
                      parts[0] == "additional_chat_templates" &&
                      file.path.ends_with(".jinja");
    if (chat || module_weights ||
        ((parts.size() == 1 || module) && IsSmall(parts.back()))) {
      choice.first.push_back(file);
    }
  }
  if (!folder) return choice;
  if (weights->path.ends_with(".json")) {
    choice.index = *weights;
  } else {
    choice.weights.push_back(*weights);
  }
  return choice;
}

absl::StatusOr<std::vector<HubFile>> ReadShards(
    const HubName& name, const HubFile& index, std::string_view text,
    const std::vector<HubFile>& files) {
  const auto error = [&](const std::string& what) {
    return absl::InvalidArgumentError(fmt::format(
        "hf:{}: {} {}; the repository is broken, try another revision",
        name.repository, index.path, what));
  };
  const absl::StatusOr<nlohmann::json> json = ParseJson(text, kConfigJson);
  if (!json.ok()) return error(std::string(json.status().message()));
  const auto map = json->is_object() ? json->find("weight_map") : json->end();
  if (map == json->end() || !map->is_object())
    return error("has no weight_map");
  const std::string folder = index.path.substr(0, index.path.rfind('/') + 1);
  std::set<std::string> names;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) return error("names no file of a tensor");
    names.insert(shard.get<std::string>());
  }
  std::vector<HubFile> shards;
  for (const std::string& shard : names) {
    const HubFile* const file = FindFile(files, folder + shard);
    if (file == nullptr) {
      return error(
          fmt::format("names the file {}, which the repository does not have",
                      nlohmann::json(shard).dump().substr(0, 200)));
    }
    shards.push_back(*file);
  }
  return shards;
}

}  // namespace trivium
