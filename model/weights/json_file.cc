#include "model/weights/json_file.h"

#include <fmt/format.h>

#include "base/status.h"
#include "model/weights/mapped_file.h"

namespace trivium {

namespace {

// Discarded where the file is no JSON.
absl::StatusOr<nlohmann::json> Read(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const char* text = reinterpret_cast<const char*>(file->bytes().data());
  return nlohmann::json::parse(text, text + file->bytes().size(),
                               /*cb=*/nullptr, /*allow_exceptions=*/false);
}

}  // namespace

absl::StatusOr<nlohmann::json> ReadJsonFile(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(nlohmann::json json, Read(path));
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is not a JSON object; fetch the file again", path));
  }
  return json;
}

absl::StatusOr<nlohmann::json> ReadJsonList(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(nlohmann::json json, Read(path));
  if (!json.is_array()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is not a JSON list; fetch the file again", path));
  }
  return json;
}

}  // namespace trivium
