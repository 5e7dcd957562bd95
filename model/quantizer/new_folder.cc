#include "model/quantizer/new_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/open_file.h"
#include "base/status.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;

absl::Status Unwritable(const std::string& path, const std::string& reason) {
  return absl::UnavailableError(
      fmt::format("cannot write {}: {}", path, reason));
}

absl::Status Exists(const std::string& path) {
  return absl::AlreadyExistsError(fmt::format(
      "{} exists; name a new folder, or remove this one first", path));
}

// Has the system write a file or a folder to the disk.
bool Sync(const std::string& path) {
  const UniqueFd opened(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return opened && fsync(opened.get()) == 0;
}

UniqueFd OpenFolder(const std::string& path) {
  return UniqueFd(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Returns the beginning of the names of folders that become `name`.
std::string PartialPrefix(const std::string& name) {
  return fmt::format(".{}.partial-", name);
}

// Removes what killed processes of this user left of `parent`/`name`. A process
// that lives has locked its folder. Where the system has no locks, all stay.
void RemoveLeftovers(const fs::path& parent, const std::string& name) {
  const std::string prefix = PartialPrefix(name);
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string other = entry->path().filename();
    if (other.starts_with(prefix) && other.size() > prefix.size() &&
        other.find_first_not_of("0123456789", prefix.size()) == other.npos) {
      found.push_back(entry->path());
    }
  }
  for (const std::string& path : found) {
    const UniqueFd folder = OpenFolder(path);
    struct stat status;
    if (folder && fstat(folder.get(), &status) == 0 &&
        status.st_uid == geteuid() &&
        flock(folder.get(), LOCK_EX | LOCK_NB) == 0 &&
        IsAt(folder.get(), path)) {
      fs::remove_all(path, error);
    }
  }
}

// True for a file with a model's weights, in whatever program's format.
bool HoldsWeights(const std::string& name) {
  constexpr std::string_view kEndings[] = {".safetensors",
                                           ".safetensors.index.json",
                                           ".bin.index.json",
                                           ".h5",
                                           ".msgpack",
                                           ".onnx",
                                           ".gguf",
                                           ".ot",
                                           ".pth",
                                           ".tflite"};
  return (name.starts_with("pytorch_model") && name.ends_with(".bin")) ||
         std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](auto ending) { return name.ends_with(ending); });
}

// True for a folder with the model in another program's format.
bool IsOtherFormat(const std::string& name) {
  return name == "onnx" || name == "openvino" || name == "coreml" ||
         name == "original";
}

absl::Status CopyFolder(const fs::path& from, const fs::path& model,
                        const fs::path& to, int depth) {
  constexpr int kDeepest = 8;
  std::error_code error;
  const bool of_model = fs::equivalent(from, model, error);
  fs::directory_iterator entries(from, error);
  if (error) return Unwritable(to, error.message());
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename();
    if (name.starts_with('.')) continue;
    if (entry.is_directory(error)) {
      if (IsOtherFormat(name) || entry.is_symlink(error) || depth == kDeepest) {
        continue;
      }
      fs::create_directory(to / name, error);
      if (error) return Unwritable(to / name, error.message());
      TRIVIUM_RETURN_IF_ERROR(
          CopyFolder(entry.path(), model, to / name, depth + 1));
      continue;
    }
    if (!entry.is_regular_file(error)) continue;
    if (of_model && (name == "config.json" || HoldsWeights(name))) continue;
    fs::copy_file(entry.path(), to / name, error);
    if (error) {
      return absl::UnavailableError(
          fmt::format("cannot copy {} to {}: {}", entry.path().string(),
                      (to / name).string(), error.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<NewFolder>> NewFolder::Create(
    const std::string& given) {
  fs::path path = fs::path(given).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // after a last slash
  const std::string name = path.filename();
  if (name.empty() || name == "." || name == "..") {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is not the name of a new folder", given));
  }
  std::error_code error;
  const auto type = fs::symlink_status(path, error).type();
  if (type != fs::file_type::not_found && type != fs::file_type::none) {
    return Exists(path);
  }
  const fs::path parent = path.has_parent_path() ? path.parent_path() : ".";
  if (!fs::is_directory(parent, error)) {
    return absl::NotFoundError(
        fmt::format("there is no folder {} for {}; make it first",
                    parent.string(), path.string()));
  }
  RemoveLeftovers(parent, name);
  const std::string partial =
      parent / fmt::format("{}{}", PartialPrefix(name), getpid());
  while (true) {
    if (mkdir(partial.c_str(), 0777) != 0) {
      return Unwritable(partial, std::strerror(errno));
    }
    UniqueFd lock = OpenFolder(partial);
    if (!lock && errno != ENOENT) {
      const int failed = errno;
      rmdir(partial.c_str());
      return Unwritable(partial, std::strerror(failed));
    }
    if (lock) flock(lock.get(), LOCK_EX);
    // Another process may have removed the folder before it was locked.
    if (lock && IsAt(lock.get(), partial)) {
      return std::unique_ptr<NewFolder>(
          new NewFolder(path, partial, std::move(lock)));
    }
  }
}

NewFolder::~NewFolder() {
  if (published_) return;
  std::error_code error;
  fs::remove_all(partial_, error);
}

absl::Status NewFolder::WriteFile(const std::string& name,
                                  const std::string& text) {
  const std::string path = partial_ + "/" + name;
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return Unwritable(path, std::strerror(errno));
  return absl::OkStatus();
}

absl::Status NewFolder::Publish() {
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(partial_, error)) {
    if (!Sync(entry.path())) return Unwritable(partial_, std::strerror(errno));
  }
  if (error) return Unwritable(partial_, error.message());
  int failed = renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, path_.c_str(),
                         RENAME_NOREPLACE);
  // Some file systems do not know the flag. Then a folder with files stays,
  // and an empty one is replaced.
  if (failed != 0 && errno == EINVAL) {
    failed = std::rename(partial_.c_str(), path_.c_str());
  }
  if (failed != 0) {
    if (errno == EEXIST || errno == ENOTEMPTY) return Exists(path_);
    return Unwritable(path_, std::strerror(errno));
  }
  published_ = true;
  Sync(fs::path(path_).parent_path());
  return absl::OkStatus();
}

absl::Status CopyOtherFiles(const std::string& from, const std::string& model,
                            const std::string& to) {
  return CopyFolder(from, model, to, 0);
}

}  // namespace trivium
