#include "model/path_hint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"

namespace trivium {

std::string PathHint(std::string_view path) {
  std::error_code error;
  const std::filesystem::path file(path);
  if (std::filesystem::is_regular_file(file, error)) {
    const std::string ending = file.extension().string();
    if (ending != ".safetensors" && ending != ".json") return "";
    const std::string parent = file.parent_path().string();
    return fmt::format("; this file is a part of a model: give its folder, {}",
                       parent.empty() ? "." : parent);
  }
  const std::string name = HubNameHint(path);
  if (name.empty()) return "";
  return fmt::format(", or {} for a model of the Hugging Face Hub", name);
}

std::string FolderHint(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path path = fs::path(folder + "/").parent_path();
  if (fs::exists(path / "model_index.json", error)) {
    return "; the folder is a pipeline of diffusers, which makes pictures; "
           "this server runs models of texts";
  }
  if (fs::exists(path / "params.json", error)) {
    return "; the folder has a model as its makers wrote it; fetch it in the "
           "form for Transformers";
  }
  // huggingface_hub's cache of "a/b" is models--a--b.
  constexpr std::string_view kCache = "models--";
  const std::string name = path.filename().string();
  if (name.starts_with(kCache) && fs::is_directory(path / "snapshots", error)) {
    return fmt::format(
        "; the folder is the cache of a model of the Hugging Face Hub: give "
        "hf:{}",
        absl::StrReplaceAll(name.substr(kCache.size()), {{"--", "/"}}));
  }
  std::string inner, file;  // the first by name
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const std::string one = entry->path().string();
    // sentence-transformers numbers its modules; the first is the model.
    const std::string own = entry->path().filename().string();
    if (absl::ascii_isdigit(static_cast<unsigned char>(own[0])) &&
        !own.starts_with("0_")) {
      continue;
    }
    if (fs::is_regular_file(one + "/config.json", ignored) &&
        (inner.empty() || one < inner)) {
      inner = one;
    }
    if ((own.ends_with(".gguf") || own.ends_with(".onnx")) &&
        fs::is_regular_file(one, ignored) && (file.empty() || one < file)) {
      file = one;
    }
  }
  if (file.ends_with(".gguf")) return fmt::format("; give the file {}", file);
  if (!inner.empty()) return fmt::format("; give the folder {}", inner);
  if (file.empty()) return "";
  return fmt::format("; {} is in a format that is not read here", file);
}

std::string HubNameHint(std::string_view text) {
  for (const std::string_view prefix :
       {"hf://", "hf:", "HF:", "https://", "http://", "huggingface.co/",
        "hf.co/"}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  // A page of the repository is at OWNER/NAME/tree/REVISION.
  for (const std::string_view page : {"/tree/", "/blob/", "/resolve/"}) {
    text = text.substr(0, text.find(page));
  }
  while (text.ends_with('/')) text.remove_suffix(1);
  const auto fits = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  if (text.empty() || text.front() == '/' || text.front() == '.' ||
      std::count(text.begin(), text.end(), '/') > 1 ||
      !std::all_of(text.begin(), text.end(), fits)) {
    return "";
  }
  return fmt::format("hf:{}", text);
}

}  // namespace trivium
