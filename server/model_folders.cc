// Folders may appear, change and vanish while they are read. So files and
// folders that the file system refuses are left out, and nothing throws.
#include "server/model_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/strings/match.h"
#include "base/status.h"
#include "model/model.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;

bool IsHidden(const fs::path& path) {
  return absl::StartsWith(path.filename().string(), ".");
}

bool LooksLikeModel(const fs::path& path) {
  return !IsHidden(path) && Model::IsAt(path.string());
}

absl::StatusOr<fs::path> RealRoot(const std::string& root) {
  std::error_code error;
  fs::path real = fs::canonical(root, error);
  if (!error) return real;
  return absl::FailedPreconditionError(
      fmt::format("--model-root {}: {}", root, error.message()));
}

bool IsBelow(const fs::path& root, const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  return !error && absl::StartsWith(real.string(), (root / "").string());
}

void AddFile(const fs::path& file, std::vector<std::string>* all) {
  std::error_code error;
  const uintmax_t bytes = fs::file_size(file, error);
  if (error) return;
  const auto time = fs::last_write_time(file, error);
  if (error) return;
  all->push_back(fmt::format("{} {} {}", file.string(), bytes,
                             time.time_since_epoch().count()));
}

}  // namespace

absl::StatusOr<ModelSpec> FindModelFolder(const std::string& root,
                                          const std::string& folder) {
  if (root.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "folder: '{}' is a path, but the server has no --model-root; name a "
        "model of the hub: hf:OWNER/NAME",
        folder));
  }
  TRIVIUM_ASSIGN_OR_RETURN(const fs::path real_root, RealRoot(root));
  const fs::path path = AbsoluteFolder(real_root / folder);
  const fs::path relative = path.lexically_relative(real_root);
  if (relative.empty() || relative == "." || *relative.begin() == ".." ||
      !IsBelow(real_root, path)) {
    return absl::InvalidArgumentError(fmt::format(
        "folder: '{}' is not below the server's --model-root", folder));
  }
  std::error_code error;
  if (!fs::exists(path, error)) {
    return absl::InvalidArgumentError(fmt::format(
        "folder: '{}' does not exist below the server's --model-root", folder));
  }
  return ModelSpec{.name = path.filename().string(), .folder = path.string()};
}

absl::StatusOr<std::vector<ModelSpec>> ListModelFolders(
    const std::string& root) {
  TRIVIUM_ASSIGN_OR_RETURN(const fs::path real_root, RealRoot(root));
  std::vector<ModelSpec> specs;
  std::error_code error;
  for (fs::directory_iterator entry(real_root, error), end;
       !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (LooksLikeModel(path) && IsBelow(real_root, path)) {
      specs.push_back(
          {.name = path.filename().string(), .folder = path.string()});
    }
  }
  if (error) {
    return absl::FailedPreconditionError(
        fmt::format("--model-root {}: {}", root, error.message()));
  }
  std::sort(specs.begin(), specs.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return specs;
}

std::string AbsoluteFolder(const std::string& folder) {
  std::error_code error;
  fs::path path = fs::absolute(folder, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "opus/"
  const fs::path parent = fs::weakly_canonical(path.parent_path(), error);
  return (error ? path : parent / path.filename()).string();
}

int64_t WeightFileBytes(const std::string& folder) {
  std::error_code error;
  if (fs::is_regular_file(folder, error)) {
    return static_cast<int64_t>(fs::file_size(folder, error));
  }
  std::map<std::string, int64_t> by_ending;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    const auto size = entry->file_size(ignored);
    if (ignored) continue;
    by_ending[entry->path().extension().string()] += static_cast<int64_t>(size);
  }
  int64_t most = 0;
  for (const auto& [ending, bytes] : by_ending) most = std::max(most, bytes);
  return most;
}

std::string FingerprintOfFolder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  if (fs::is_regular_file(folder, error)) AddFile(folder, &files);
  for (fs::recursive_directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (IsHidden(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(ignored)) {
      AddFile(entry->path(), &files);
    }
  }
  std::sort(files.begin(), files.end());
  return fmt::format("{}", fmt::join(files, "\n"));
}

}  // namespace trivium
