#include "model/weights/json_file.h"

#include <fmt/format.h>

#include "base/status.h"
#include "model/weights/mapped_file.h"

namespace trivium {

absl::StatusOr<nlohmann::json> ReadJsonFile(const std::string& path) {
  TRIVIUM_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const char* text = reinterpret_cast<const char*>(file->bytes().data());
  nlohmann::json json =
      nlohmann::json::parse(text, text + file->bytes().size(),
                            /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is not a JSON object; fetch the file again", path));
  }
  return json;
}

}  // namespace trivium
