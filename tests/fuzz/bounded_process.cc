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

#include "model/model.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;

constexpr rlim_t kSeconds = kBoundsMemory ? 10 : 40;
constexpr rlim_t kMemory = 256 << 20;
constexpr unsigned kPatience = 300;  // s, for what waits and does not compute

constexpr int kOk = 0;
constexpr int kOutOfMemory = 3;

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

// Runs in the child; gives its exit status.
int ReadFolder(const std::string& folder) {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(kPatience);
  Limit(RLIMIT_CPU, kSeconds);
  if (kBoundsMemory) {
    Limit(RLIMIT_AS, AddressSpace() + kMemory + 2 * FileBytes(folder));
  }
  const LoadOptions options{.precision = Precision::kF32};
  const std::vector<std::string> problems = Model::Check(folder, options);
  for (const std::string& problem : problems) {
    if (IsOutOfMemory(problem)) return kOutOfMemory;
  }
  if (!problems.empty()) return kOk;
  // What is well is served as well.
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

std::string HowItEnded(int status) {
  if (WIFEXITED(status)) {
    return WEXITSTATUS(status) == kOutOfMemory
               ? "it asked for too much memory"
               : fmt::format("exit status {}", WEXITSTATUS(status));
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

}  // namespace

std::string ReadFolderInBounds(const std::string& folder) {
  const pid_t child = fork();
  if (child < 0) return "cannot fork";
  if (child == 0) _exit(ReadFolder(folder));
  int status = 0;
  if (waitpid(child, &status, 0) != child) return "cannot wait";
  return status == 0 ? "" : HowItEnded(status);
}

}  // namespace trivium
