#include "model/gguf/gguf_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "model/gguf/architecture.h"
#include "model/gguf/config_maker.h"
#include "model/gguf/gguf_tokenizer.h"
#include "model/gguf/gguf_weights.h"
#include "model/weights/gguf_file.h"
#include "model/weights/mapped_file.h"

namespace trivium {
namespace {

using nlohmann::json;

// True if the file is one of several that make up one model.
bool IsPart(const json& metadata) {
  const auto count = metadata.find("split.count");
  return count != metadata.end() && count->is_number() &&
         count->get<double>() > 1;
}

// Returns the token ids of generation_config.json. A chat's turn may end with a
// token of its own.
json GenerationConfig(const json& config, const json& metadata) {
  json generation = json::object();
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    if (const auto id = config.find(key); id != config.end()) {
      generation[key] = *id;
    }
  }
  const auto turn = metadata.find("tokenizer.ggml.eot_token_id");
  const auto end = generation.find("eos_token_id");
  if (turn != metadata.end()) {
    generation["eos_token_id"] =
        end == generation.end() || *end == *turn ? *turn : json{*end, *turn};
  }
  return generation;
}

// Returns a key of the architecture whose list has more values than any model
// has layers or labels; empty if there is none. Much is made of each value, so
// that a file of megabytes would fill the memory.
std::string TooLongList(const json& metadata, std::string_view architecture) {
  constexpr size_t kMost = 1 << 16;
  const std::string prefix = std::string(architecture) + ".";
  for (const auto& [key, value] : metadata.items()) {
    if (value.is_array() && value.size() > kMost && key.starts_with(prefix)) {
      return key;
    }
  }
  return "";
}

}  // namespace

bool IsGgufFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  if (path.ends_with(".gguf")) return true;
  char magic[4] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(magic, sizeof(magic)) &&
         std::string_view(magic, sizeof(magic)) == "GGUF";
}

GgufModel ReadGgufModel(const std::string& path, Problems* problems) {
  GgufModel model;
  const auto fail = [problems](const std::string& what) {
    problems->push_back(what);
  };
  absl::StatusOr<std::unique_ptr<MappedFile>> mapped = MappedFile::Open(path);
  if (!mapped.ok()) {
    fail(std::string(mapped.status().message()));
    return model;
  }
  absl::StatusOr<GgufFile> file = ReadGguf((*mapped)->bytes());
  if (const absl::Status status = (*mapped)->CheckUnchanged(); !status.ok()) {
    fail(std::string(status.message()));
    return model;
  }
  if (!file.ok()) {
    fail(fmt::format("{}: {}", path, std::string(file.status().message())));
    return model;
  }
  const json& metadata = file->metadata;
  if (IsPart(metadata)) {
    fail(
        "metadata: split.count says that the file is one of several; merge "
        "them with llama.cpp's llama-gguf-split --merge");
    return model;
  }
  const auto name = metadata.find("general.architecture");
  const GgufArchitecture* const architecture =
      name != metadata.end() && name->is_string()
          ? FindGgufArchitecture(name->get_ref<const std::string&>())
          : nullptr;
  if (architecture == nullptr) {
    fail(fmt::format(
        "metadata: general.architecture is {}; supported in GGUF files are {}",
        name == metadata.end() ? "missing" : name->dump().substr(0, 100),
        GgufArchitectureNames()));
    return model;
  }
  if (const std::string key = TooLongList(metadata, architecture->name);
      !key.empty()) {
    fail(fmt::format(
        "metadata: {} has {} values, more than a model has layers; fetch the "
        "file again",
        key, metadata[key].size()));
    return model;
  }
  absl::StatusOr<json> tokenizer =
      GgufTokenizerJson(metadata, architecture->name);
  if (tokenizer.ok()) {
    model.tokenizer = *std::move(tokenizer);
  } else {
    fail(std::string(tokenizer.status().message()));
  }
  model.tokenizer_config = GgufTokenizerConfig(metadata);
  ConfigMaker maker(*file, std::string(architecture->name), problems);
  architecture->describe(&maker);
  model.config = maker.Finish();
  model.generation_config = GenerationConfig(model.config, metadata);
  model.weights = MakeGgufWeights(*std::move(mapped), file->tensors,
                                  *architecture, model.config, problems);
  return model;
}

}  // namespace trivium
