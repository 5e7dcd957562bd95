#include "tests/fuzz/bounded_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "model/folder_report.h"
#include "model/model.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;

constexpr rlim_t kSeconds = kBoundsMemory ? 10 : 40;
constexpr rlim_t kMemory = 256 << 20;
constexpr unsigned kPatience = 300;  // s, for what waits and does not compute

constexpr int kOk = 0;
constexpr int kOutOfMemory = 3;
constexpr int kNegative = 4;

rlim_t FileBytes(const std::string& folder) {
  if (fs::is_regular_file(folder)) return fs::file_size(folder);
  rlim_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code error;
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  }
  return bytes;
}

void Limit(__rlimit_resource resource, rlim_t soft) {
  rlimit limit;
  getrlimit(resource, &limit);
  limit.rlim_cur = std::min(soft, limit.rlim_max);
  setrlimit(resource, &limit);
}

// The process's addresses so far, in bytes.
rlim_t AddressSpace() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// std::bad_alloc, mmap's words, or ours.
bool IsOutOfMemory(std::string_view problem) {
  for (const std::string_view words :
       {"bad_alloc", "Cannot allocate memory", "out of memory"}) {
    if (problem.find(words) != problem.npos) return true;
  }
  return false;
}

bool AnyIsOutOfMemory(const std::vector<std::string>& problems) {
  return std::any_of(problems.begin(), problems.end(), IsOutOfMemory);
}

void LimitChild(const std::string& folder) {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(kPatience);
  Limit(RLIMIT_CPU, kSeconds);
  if (kBoundsMemory) {
    Limit(RLIMIT_AS, AddressSpace() + kMemory + 2 * FileBytes(folder));
  }
}

// Runs in the child; gives its exit status.
int ReadFolder(const std::string& folder) {
  LimitChild(folder);
  const LoadOptions options{.precision = Precision::kF32};
  const std::vector<std::string> problems = Model::Check(folder, options);
  if (AnyIsOutOfMemory(problems)) return kOutOfMemory;
  if (!problems.empty()) return kOk;
  // A model without problems must also be served.
  if (kBoundsMemory) {
    Limit(RLIMIT_AS, AddressSpace() + 2 * kMemory + 8 * FileBytes(folder));
  }
  Limit(RLIMIT_CPU, 6 * kSeconds);
  const auto model = Model::Load(folder, options);
  if (IsOutOfMemory(std::string(model.status().message()))) return kOutOfMemory;
  if (!model.ok() || (*model)->tokenizer() == nullptr) return kOk;
  const Tokenizer& tokenizer = *(*model)->tokenizer();
  const auto tokens = tokenizer.Tokenize(
      "Hi  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab <mask> "
      "\xC3\xA4\xE2\x96\x81_!",
      {});
  if (!tokens.ok()) return kOk;
  std::vector<int32_t> ids;
  for (const Token& token : *tokens) ids.push_back(token.id);
  tokenizer.Decode(ids);
  return kOk;
}

// Runs in the child; gives its exit status.
int ReportFolders(const std::string& folder, size_t cases,
                  absl::FunctionRef<void(size_t)> write) {
  LimitChild(folder);
  for (size_t i = 0; i < cases; ++i) {
    write(i);
    const FolderReport report = ReportFolder(folder, {});
    if (AnyIsOutOfMemory(report.problems)) return kOutOfMemory;
    if (!report.problems.empty()) continue;
    for (const int64_t size :
         {report.parameters, report.weight_bytes, report.kv_bytes_per_token,
          report.state_bytes, report.longest_kv_bytes}) {
      if (size < 0) return kNegative;
    }
    DescribeMemory(report);
  }
  return kOk;
}

std::string HowItEnded(int status) {
  if (WIFEXITED(status)) {
    switch (WEXITSTATUS(status)) {
      case kOutOfMemory:
        return "it asked for too much memory";
      case kNegative:
        return "a size overflowed";
      default:
        return fmt::format("exit status {}", WEXITSTATUS(status));
    }
  }
  switch (WTERMSIG(status)) {
    case SIGXCPU:
      return "it took too long";
    case SIGALRM:
      return "it waited for ever";
    default:
      return strsignal(WTERMSIG(status));
  }
}

// Runs `child` in a process of its own.
std::string RunInBounds(absl::FunctionRef<int()> child) {
  const pid_t pid = fork();
  if (pid < 0) return "cannot fork";
  if (pid == 0) _exit(child());
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return "cannot wait";
  return status == 0 ? "" : HowItEnded(status);
}

}  // namespace

std::string ReadFolderInBounds(const std::string& folder) {
  return RunInBounds([&] { return ReadFolder(folder); });
}

std::string ReportInBounds(const std::string& folder, size_t cases,
                           absl::FunctionRef<void(size_t)> write) {
  return RunInBounds([&] { return ReportFolders(folder, cases, write); });
}

}  // namespace trivium
