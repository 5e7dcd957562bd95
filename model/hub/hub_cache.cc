#include "model/hub/hub_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/open_file.h"
#include "base/status.h"
#include "model/folder_report.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kLockPoll = absl::Milliseconds(100);

// "OWNER/NAME" -> "models--OWNER--NAME".
std::string FolderName(const std::string& repository) {
  return "models--" + absl::StrReplaceAll(repository, {{"/", "--"}});
}

absl::Status MakeFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return CacheError("make", folder.string(), error.value());
}

}  // namespace

absl::Status CacheError(const std::string& doing, const std::string& path,
                        int error) {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return absl::ResourceExhaustedError(fmt::format(
        "cannot {} {}: {}; free some space, or put the cache elsewhere with "
        "HF_HUB_CACHE, and run it again: it goes on where it stopped",
        doing, path, std::strerror(error)));
  }
  return absl::FailedPreconditionError(
      fmt::format("cannot {} {}: {}; the cache's folder is named by "
                  "HF_HUB_CACHE or HF_HOME",
                  doing, path, std::strerror(error)));
}

HubCache::HubCache(const std::string& cache, const std::string& repository)
    : folder_(cache + "/" + FolderName(repository)),
      locks_(cache + "/.locks/" + FolderName(repository)) {}

std::string HubCache::Snapshot(const std::string& commit) const {
  return folder_ + "/snapshots/" + commit;
}

std::string HubCache::Blob(const HubFile& file) const {
  return folder_ + "/blobs/" + file.blob;
}

bool HubCache::Has(const HubFile& file) const {
  struct stat status;
  return stat(Blob(file).c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_size == file.size;
}

absl::StatusOr<std::string> HubCache::CommitOf(
    const std::string& revision) const {
  std::string commit = revision;
  if (!IsHash(revision, kCommitDigits)) {
    const absl::StatusOr<std::string> ref =
        ReadFile(folder_ + "/refs/" + revision, 1024);
    commit = ref.ok() ? *ref : "";
    while (commit.ends_with('\n')) commit.pop_back();
  }
  std::error_code error;
  if (IsHash(commit, kCommitDigits) &&
      fs::is_directory(Snapshot(commit), error)) {
    return commit;
  }
  return absl::NotFoundError(
      fmt::format("the cache {} has no revision '{}'", folder_, revision));
}

std::vector<HubFile> HubCache::Files(const std::string& commit) const {
  std::vector<HubFile> files;
  const fs::path snapshot = Snapshot(commit);
  std::error_code error;
  for (fs::recursive_directory_iterator entry(snapshot, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    const uintmax_t size = entry->file_size(ignored);
    if (ignored) continue;
    files.push_back({entry->path().lexically_relative(snapshot).string(),
                     static_cast<int64_t>(size), "", false});
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

absl::Status HubCache::Prepare() const {
  TRIVIUM_RETURN_IF_ERROR(MakeFolder(folder_ + "/blobs"));
  return MakeFolder(locks_);
}

absl::StatusOr<UniqueFd> HubCache::Lock(
    const HubFile& file, const std::function<void()>& on_wait) const {
  const std::string path = fmt::format("{}/{}.lock", locks_, file.blob);
  bool told = false;
  while (true) {
    UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!lock) return CacheError("open", path, errno);
    while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) {
        return CacheError("lock", path, errno);
      }
      if (!told) on_wait();
      told = true;
      absl::SleepFor(kLockPoll);
    }
    if (IsAt(lock.get(), path)) return lock;
  }
}

absl::Status HubCache::Link(const std::string& commit,
                            const HubFile& file) const {
  const fs::path link = fs::path(Snapshot(commit)) / file.path;
  std::string target = "../../blobs/" + file.blob;
  for (const char c : file.path) {
    if (c == '/') target.insert(0, "../");
  }
  TRIVIUM_RETURN_IF_ERROR(MakeFolder(link.parent_path()));
  std::error_code error;
  // A cache on a file system without links has the files themselves.
  if (fs::is_regular_file(fs::symlink_status(link, error)) ||
      (fs::read_symlink(link, error) == target && !error)) {
    return absl::OkStatus();
  }
  const std::string part = fmt::format("{}.{}", link.string(), getpid());
  fs::remove(part, error);
  fs::create_symlink(target, part, error);
  if (!error) fs::rename(part, link, error);
  if (!error) return absl::OkStatus();
  return CacheError("make the link", link.string(), error.value());
}

absl::Status HubCache::WriteRef(const std::string& revision,
                                const std::string& commit) const {
  const absl::StatusOr<std::string> known = CommitOf(revision);
  if (revision == commit || (known.ok() && *known == commit)) {
    return absl::OkStatus();
  }
  const fs::path path = fs::path(folder_ + "/refs") / revision;
  TRIVIUM_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  const std::string part = fmt::format("{}.{}", path.string(), getpid());
  const UniqueFd file(
      open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) return CacheError("write", part, errno);
  const ssize_t written = write(file.get(), commit.data(), commit.size());
  const int write_error = errno;
  if (written != static_cast<ssize_t>(commit.size())) {
    unlink(part.c_str());
    return CacheError("write", part, written < 0 ? write_error : ENOSPC);
  }
  std::error_code error;
  fs::rename(part, path, error);
  if (!error) return absl::OkStatus();
  return CacheError("write", path.string(), error.value());
}

absl::Status HubCache::CheckRoom(int64_t bytes) const {
  struct statvfs disk;
  if (statvfs(folder_.c_str(), &disk) != 0) return absl::OkStatus();
  const double room =
      static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (static_cast<double>(bytes) <= room) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "{} are to be fetched, but the disk of {} has room for {}; free some "
      "space, or put the cache elsewhere with HF_HUB_CACHE",
      RoundedBytes(bytes), folder_, RoundedBytes(static_cast<int64_t>(room))));
}

}  // namespace trivium
