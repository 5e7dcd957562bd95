#include "model/tokenizer/sentence_config.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <system_error>

#include "base/json.h"
#include "base/status.h"
#include "fmt/format.h"
#include "model/tokenizer/folder_config.h"
#include "model/tokenizer/json_fields.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

constexpr int64_t kMost = std::numeric_limits<int>::max();

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Reads the first file that exists.
absl::Status ReadSentenceFile(const std::string& folder,
                              SentenceConfig* config) {
  for (const char* family : {"bert", "roberta", "distilbert", "camembert",
                             "albert", "xlm-roberta", "xlnet"}) {
    const std::string path =
        fmt::format("{}/sentence_{}_config.json", folder, family);
    if (!Exists(path)) continue;
    TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json json, LoadObject(path));
    const auto length = json.find("max_seq_length");
    if (length != json.end() && !length->is_null()) {
      config->max_tokens =
          static_cast<int>(IntegerField(json, "max_seq_length", 0, kMost));
      if (config->max_tokens == 0) {
        return absl::InvalidArgumentError(fmt::format(
            "{}: max_seq_length is {}; give a number of tokens, or null", path,
            length->dump(-1, ' ', false,
                         nlohmann::json::error_handler_t::replace)));
      }
    }
    config->lower_case = BoolField(json, "do_lower_case", false);
    break;
  }
  return absl::OkStatus();
}

}  // namespace

std::string TransformerFolder(const std::string& folder) {
  if (Exists(folder + "/config.json")) return folder;
  const absl::StatusOr<nlohmann::json> modules =
      ReadJsonList(folder + "/modules.json");
  if (!modules.ok() || modules->empty()) return folder;
  const nlohmann::json& first = modules->front();
  if (!first.is_object()) return folder;
  const std::string path = StringField(first, "path", "");
  const std::string type = StringField(first, "type", "");
  if (!(type.ends_with(".Transformer") || type.ends_with(".MLMTransformer")) ||
      path.empty() || path.find("..") != path.npos || path.front() == '/') {
    return folder;
  }
  return folder + "/" + path;
}

absl::StatusOr<SentenceConfig> SentenceConfig::Load(const std::string& root) {
  if (!Exists(root + "/modules.json")) return SentenceConfig();
  return OfModule(TransformerFolder(root));
}

absl::StatusOr<SentenceConfig> SentenceConfig::OfModule(
    const std::string& folder) {
  SentenceConfig config;
  TRIVIUM_RETURN_IF_ERROR(ReadSentenceFile(folder, &config));
  if (config.max_tokens == 0) {
    // "No limit" is written as a number too large for any integer.
    TRIVIUM_ASSIGN_OR_RETURN(const nlohmann::json tokenizer,
                             LoadObject(folder + "/tokenizer_config.json"));
    config.max_tokens =
        static_cast<int>(IntegerField(tokenizer, "model_max_length", 0, kMost));
  }
  return config;
}

}  // namespace trivium
