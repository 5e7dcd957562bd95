// A process's limits come from these files:
//
//   cores    /proc/self/status (affinity), /sys/.../thread_siblings_list
//   quota    cgroup v2 cpu.max; v1 cpu.cfs_quota_us and cpu.cfs_period_us
//   memory   /proc/meminfo; cgroup v2 memory.max; v1 memory.limit_in_bytes
//
// A limit of any ancestor holds for all its descendants, so the minimum over
// all of them counts. A file that is missing or malformed sets no limit.
#include "base/cpu_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace trivium {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// Returns the first line of a file; empty if there is none.
std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// Returns the rest of the first line that begins with `key`, without leading
// blanks.
std::string Field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) == 0) {
      const size_t begin = line.find_first_not_of(" \t", key.size());
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  return "";
}

// Parses the kernel's lists of CPUs: "0-2,5" -> {0, 1, 2, 5}.
std::vector<int> ParseCpuList(const std::string& list) {
  constexpr int64_t kMostCpus = 1 << 16;
  std::vector<int> cpus;
  std::stringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::optional<int64_t> first = ParseNumber(part);
    if (!first) continue;
    const size_t dash = part.find('-');
    const int64_t last =
        dash == std::string::npos
            ? *first
            : ParseNumber(std::string_view(part).substr(dash + 1))
                  .value_or(*first);
    for (int64_t cpu = *first; cpu <= std::min(last, kMostCpus); ++cpu) {
      cpus.push_back(static_cast<int>(cpu));
    }
  }
  return cpus;
}

// Returns the cores of the affinity mask; 0 if /proc does not tell.
int AffinityCores(const std::string& root) {
  std::set<int> cores;  // each identified by its lowest hyper-thread
  for (int cpu :
       ParseCpuList(Field(root + "/proc/self/status", "Cpus_allowed_list:"))) {
    const std::vector<int> siblings = ParseCpuList(
        FirstLine(root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                  "/topology/thread_siblings_list"));
    cores.insert(siblings.empty()
                     ? cpu
                     : *std::min_element(siblings.begin(), siblings.end()));
  }
  return static_cast<int>(cores.size());
}

// Returns the folders of the process's cgroup and its ancestors; the limits of
// all of them hold. `controller` is empty for v2, which is mounted beside v1's
// controllers on systems that have both. In a container, /proc/self/cgroup may
// contain the host's path, of which only the end is mounted; then the mount
// point itself is the container's cgroup.
std::vector<std::string> CgroupFolders(const std::string& root,
                                       std::string_view controller) {
  std::string path;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // "hierarchy:controller,controller:path"
    const size_t first = line.find(':');
    const size_t second =
        first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool wanted = controller.empty()
                            ? controllers.empty()
                            : fmt::format(",{},", controllers)
                                      .find(fmt::format(",{},", controller)) !=
                                  std::string::npos;
    if (wanted && line[second + 1] == '/') path = line.substr(second + 1);
  }
  const std::string top = root + "/sys/fs/cgroup";
  std::vector<std::string> mounts = {fmt::format("{}/{}", top, controller)};
  if (controller.empty()) mounts = {top, top + "/unified"};
  std::vector<std::string> folders = mounts;
  for (; path.size() > 1; path.resize(path.find_last_of('/'))) {
    for (const std::string& mount : mounts) folders.push_back(mount + path);
  }
  return folders;
}

// Returns the CPUs that the cgroup may use on average; infinity without a
// quota.
double CpuQuota(const std::string& root) {
  double quota = std::numeric_limits<double>::infinity();
  const auto lower_to = [&quota](std::optional<int64_t> time,
                                 std::optional<int64_t> period) {
    if (!time || !period || *time <= 0 || *period <= 0) return;
    quota = std::min(quota, static_cast<double>(*time) / *period);
  };
  for (const std::string& folder : CgroupFolders(root, "")) {
    // "max 100000" or "150000 100000", in microseconds.
    const std::string line = FirstLine(folder + "/cpu.max");
    const size_t blank = line.find(' ');
    if (blank == std::string::npos) continue;
    lower_to(ParseNumber(line),
             ParseNumber(std::string_view(line).substr(blank + 1)));
  }
  for (const std::string& folder : CgroupFolders(root, "cpu")) {
    lower_to(ParseNumber(FirstLine(folder + "/cpu.cfs_quota_us")),
             ParseNumber(FirstLine(folder + "/cpu.cfs_period_us")));
  }
  return quota;
}

// Returns a field of /proc/meminfo in bytes.
int64_t MachineMemory(const std::string& root, std::string_view field) {
  const std::optional<int64_t> kibibytes =
      ParseNumber(Field(root + "/proc/meminfo", field));
  return kibibytes ? *kibibytes * 1024 : kUnlimited;
}

int64_t CgroupMemory(const std::string& root) {
  int64_t bytes = kUnlimited;
  const auto lower_to = [&bytes](const std::string& path) {
    const std::optional<int64_t> limit = ParseNumber(FirstLine(path));
    if (limit && *limit > 0) bytes = std::min(bytes, *limit);
  };
  for (const std::string& folder : CgroupFolders(root, "")) {
    lower_to(folder + "/memory.max");
  }
  for (const std::string& folder : CgroupFolders(root, "memory")) {
    lower_to(folder + "/memory.limit_in_bytes");
  }
  return bytes;
}

}  // namespace

int UsableCores(const std::string& root) {
  const double cores =
      std::min<double>(AffinityCores(root), std::ceil(CpuQuota(root)));
  return std::max(1, static_cast<int>(cores));
}

int64_t UsableMemory(const std::string& root) {
  return std::min(MachineMemory(root, "MemTotal:"), CgroupMemory(root));
}

int64_t AvailableMemory(const std::string& root) {
  return std::min(MachineMemory(root, "MemAvailable:"), UsableMemory(root));
}

int64_t PrivateMemory() {
  long total = 0, resident = 0, shared = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const int fields =
      std::fscanf(file, "%ld %ld %ld", &total, &resident, &shared);
  std::fclose(file);
  return fields == 3 ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace trivium
