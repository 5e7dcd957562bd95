#include "model/path_hint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"

namespace trivium {

std::string PathHint(std::string_view path) {
  constexpr std::string_view kHub = "https://huggingface.co/";
  std::error_code error;
  const std::filesystem::path file(path);
  if (std::filesystem::is_regular_file(file, error)) {
    const std::string ending = file.extension().string();
    if (ending != ".safetensors" && ending != ".json") return "";
    const std::string parent = file.parent_path().string();
    return fmt::format("; this file is a part of a model: give its folder, {}",
                       parent.empty() ? "." : parent);
  }
  if (path.starts_with(kHub)) path.remove_prefix(kHub.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  const auto fits = [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' ||
           c == '/';
  };
  if (path.empty() || path.front() == '/' || path.front() == '.' ||
      std::count(path.begin(), path.end(), '/') > 1 ||
      !std::all_of(path.begin(), path.end(), fits)) {
    return "";
  }
  return fmt::format(", or hf:{} for a model of the Hugging Face Hub", path);
}

}  // namespace trivium
