// The order: first a configuration or weights (Start). A configuration then
// names the vocabularies, and the weights unless they are known. Without one,
// vocabularies have known names. The shortlist and the .spm files are optional
// and come last.
//
// Always:
// - Weights that are given as a path stay, whatever the configuration names.
// - Several files for one purpose count as none (TheOnly): vocabularies are
//   then missing, and a shortlist is left out. So do several configurations
//   beside given weights. Those of a folder, or several weights, are an error
//   that lists them.
// - A folder with compressed weights alone is a Marian model, so that the error
//   can say to unpack them.
// - A configuration may name files that are missing; opening them is the error.
#include "model/marian/marian_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/marian/marian_model.h"
#include "model/marian/yaml.h"
#include "model/weights/tensor_file.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kNpzEnding = ".npz";
constexpr std::string_view kBinEnding = ".bin";
constexpr std::string_view kYamlEnding = ".yml";

bool IsFile(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool IsWeights(std::string_view path) {
  return path.ends_with(kNpzEnding) || path.ends_with(kBinEnding);
}

// Returns the names of a folder's files with this beginning and ending, sorted.
std::vector<std::string> FilesWith(const std::string& folder,
                                   std::string_view beginning,
                                   std::string_view ending) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with(beginning) && name.ends_with(ending)) {
      names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the path of the only such file; empty if there is none or several.
std::string TheOnly(const std::string& folder, std::string_view beginning,
                    std::string_view ending) {
  const std::vector<std::string> names = FilesWith(folder, beginning, ending);
  return names.size() == 1 ? fmt::format("{}/{}", folder, names[0]) : "";
}

// Returns the models among the files that training leaves in a folder. If there
// are none, returns the binary ones, which may still be compressed as
// downloaded.
std::vector<std::string> WeightsOf(const std::string& folder) {
  std::vector<std::string> names = FilesWith(folder, "", kNpzEnding);
  std::erase_if(names, [](const std::string& name) {
    return name.ends_with(".optimizer.npz") || name.ends_with(".orig.npz");
  });
  for (const char* ending : {".bin", ".bin.gz", ".bin.zst"}) {
    if (names.empty()) names = FilesWith(folder, "model", ending);
  }
  return names;
}

// Returns the decoder's configurations of a folder; one of them must be chosen.
std::vector<std::string> ConfigurationsOf(const std::string& folder) {
  for (const char* name : {"decoder.yml", "config.yml"}) {
    if (IsFile(fmt::format("{}/{}", folder, name))) return {name};
  }
  std::vector<std::string> names = FilesWith(folder, "", ".decoder.yml");
  if (names.empty()) names = FilesWith(folder, "config.", kYamlEnding);
  return names;
}

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

absl::Status Ambiguous(const std::string& folder,
                       const std::vector<std::string>& names) {
  return absl::InvalidArgumentError(
      fmt::format("{}: has several models; give the path of one of its files "
                  "instead: {}",
                  folder, fmt::join(names, ", ")));
}

// Returns the path of the file that an entry of a configuration's list names:
// it is in the configuration's folder.
absl::StatusOr<std::string> Beside(const std::string& configuration,
                                   const json& entry) {
  std::string name;
  if (entry.is_string()) {
    name = fs::path(entry.get_ref<const std::string&>()).filename().string();
  }
  if (name.empty() || name == "." || name == "..") {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} is not the name of a file; give one", configuration,
                    entry.dump().substr(0, 100)));
  }
  return fmt::format("{}/{}", FolderOf(configuration), name);
}

// Returns the `count` files that the configuration lists under `key`.
absl::StatusOr<std::vector<std::string>> Files(const MarianFiles& files,
                                               const char* key, size_t count,
                                               const char* expected) {
  const auto list = files.decoder.find(key);
  if (list == files.decoder.end() || !list->is_array() ||
      list->size() != count) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: {} is {}; {}", files.decoder_path, key,
        list == files.decoder.end() ? "missing" : list->dump().substr(0, 200),
        expected));
  }
  std::vector<std::string> paths;
  for (const json& entry : *list) {
    TRIVIUM_ASSIGN_OR_RETURN(std::string path,
                             Beside(files.decoder_path, entry));
    paths.push_back(std::move(path));
  }
  return paths;
}

absl::Status ReadConfiguration(MarianFiles* files) {
  TRIVIUM_ASSIGN_OR_RETURN(files->decoder, ReadYamlFile(files->decoder_path));
  if (files->weights.empty()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::vector<std::string> models,
        Files(*files, "models", 1,
              "name one file, ensembles of several are not served"));
    files->weights = models[0];
  }
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::vector<std::string> vocabularies,
      Files(*files, "vocabs", 2,
            "name two files, the source's vocabulary and the target's, which "
            "may be the same"));
  files->source_vocabulary = vocabularies[0];
  files->target_vocabulary = vocabularies[1];
  return absl::OkStatus();
}

// Finds the vocabularies without a configuration.
absl::Status GuessVocabularies(MarianFiles* files) {
  const std::string folder = FolderOf(files->weights);
  std::string& source = files->source_vocabulary;
  std::string& target = files->target_vocabulary;
  for (const char* name : {"vocab.spm", "vocab.yml"}) {
    source = fmt::format("{}/{}", folder, name);
    target = source;
    if (IsFile(source)) return absl::OkStatus();
  }
  source = target = TheOnly(folder, "vocab.", ".spm");
  if (!source.empty()) return absl::OkStatus();
  source = TheOnly(folder, "srcvocab", ".spm");
  target = TheOnly(folder, "trgvocab", ".spm");
  if (!source.empty() && !target.empty()) return absl::OkStatus();
  return absl::NotFoundError(fmt::format(
      "{}: has neither vocab.spm nor vocab.yml, nor one vocab.*.spm, nor one "
      "srcvocab*.spm and one trgvocab*.spm; name the vocabularies in a "
      "{}.decoder.yml, \"vocabs: [SOURCE, TARGET]\"",
      folder, fs::path(files->weights).filename().string()));
}

// Finds a binary shortlist; text shortlists are not read.
std::string FindShortlist(const MarianFiles& files) {
  const auto list = files.decoder.find("shortlist");
  if (list != files.decoder.end() && list->is_array() && !list->empty()) {
    const absl::StatusOr<std::string> path =
        Beside(files.decoder_path, list->front());
    if (path.ok() && path->ends_with(kBinEnding) && IsFile(*path)) return *path;
  }
  return TheOnly(FolderOf(files.weights), "lex", kBinEnding);
}

absl::Status CheckWeightsName(const std::string& path) {
  if (IsWeights(path)) return absl::OkStatus();
  if (path.ends_with(".gz") || path.ends_with(".zst")) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: is compressed; unpack all files of the folder with gunzip or zstd "
        "-d",
        path));
  }
  return absl::UnimplementedError(
      fmt::format("{}: is neither a .npz nor a .bin, and of Marian's own "
                  "formats only these are read; take the model as .npz",
                  path));
}

// Finds weights and configuration from the path of a folder or a file.
absl::Status Start(const std::string& path, MarianFiles* files) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  if (!folder && path.ends_with(kYamlEnding)) {
    files->decoder_path = path;
    return absl::OkStatus();
  }
  if (!folder && IsWeights(path)) {
    files->weights = path;
    if (const std::string own = path + ".decoder.yml"; IsFile(own)) {
      files->decoder_path = own;
    } else if (const auto found = ConfigurationsOf(FolderOf(path));
               found.size() == 1) {
      files->decoder_path = fmt::format("{}/{}", FolderOf(path), found[0]);
    }
    return absl::OkStatus();
  }
  const std::vector<std::string> configurations = ConfigurationsOf(path);
  if (configurations.size() > 1) return Ambiguous(path, configurations);
  if (configurations.size() == 1) {
    files->decoder_path = fmt::format("{}/{}", path, configurations[0]);
    return absl::OkStatus();
  }
  const std::vector<std::string> weights = WeightsOf(path);
  if (weights.size() != 1) return Ambiguous(path, weights);
  files->weights = fmt::format("{}/{}", path, weights[0]);
  return absl::OkStatus();
}

}  // namespace

bool IsMarianModel(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return IsWeights(path) || path.ends_with(kYamlEnding);
  }
  return !fs::exists(path + "/config.json", error) &&
         (!ConfigurationsOf(path).empty() || !WeightsOf(path).empty());
}

absl::StatusOr<MarianFiles> FindMarianFiles(const std::string& path) {
  MarianFiles files;
  TRIVIUM_RETURN_IF_ERROR(Start(path, &files));
  if (!files.decoder_path.empty()) {
    TRIVIUM_RETURN_IF_ERROR(ReadConfiguration(&files));
  }
  TRIVIUM_RETURN_IF_ERROR(CheckWeightsName(files.weights));
  if (files.decoder_path.empty()) {
    TRIVIUM_RETURN_IF_ERROR(GuessVocabularies(&files));
  }
  files.shortlist = FindShortlist(files);
  const std::string folder = FolderOf(files.weights);
  for (const auto& [name, pieces] :
       {std::pair("source.spm", &files.source_pieces),
        {"target.spm", &files.target_pieces}}) {
    const std::string spm = fmt::format("{}/{}", folder, name);
    if (IsFile(spm)) *pieces = spm;
  }
  return files;
}

}  // namespace trivium
