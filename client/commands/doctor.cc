// trivium doctor: what this machine gives a server, and what would make it
// faster. It looks at the machine that it runs on and calls no server.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_limits.h"
#include "base/status.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

constexpr int64_t kLittleMemory = int64_t{1} << 30;
// A connection takes three files, and with TLS five.
constexpr rlim_t kFewFiles = 8192;

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the value behind "name : " in /proc/cpuinfo; empty if there is none.
std::string CpuInfo(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const size_t colon = line.find(": ");
    if (colon != line.npos) return line.substr(colon + 2);
  }
  return "";
}

std::set<std::string> WordsOf(const std::string& text) {
  std::istringstream words(text);
  std::set<std::string> all;
  for (std::string word; words >> word;) all.insert(word);
  return all;
}

// True if a program could listen on the port of the loopback.
bool IsFree(uint16_t port) {
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) return true;
  const int one = 1;
  setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const bool free = bind(file, reinterpret_cast<const sockaddr*>(&address),
                         sizeof(address)) == 0;
  close(file);
  return free;
}

double Gigabytes(int64_t bytes) { return static_cast<double>(bytes) / 1e9; }

class DoctorCommand : public Command {
 public:
  bool has_priority() const override { return false; }

  absl::Status Run(Client&, const Io& io) override {
    LookAtCpu();
    LookAtMemory();
    LookAtSystem();
    Output output(io, /*keep_newlines=*/false, nullptr);
    for (const auto& [name, value] : facts_) {
      TRIVIUM_RETURN_IF_ERROR(
          output.Line(fmt::format("{:<14}{}", name, value)));
    }
    for (const std::string& one : advice_) {
      TRIVIUM_RETURN_IF_ERROR(output.Line("- " + one));
    }
    return absl::OkStatus();
  }

 private:
  void LookAtCpu() {
    const std::string model = CpuInfo("model name");
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int usable = UsableCores();
    facts_.emplace_back(
        "CPU", fmt::format("{}; {} of {} processors' cores are usable",
                           model.empty() ? "unknown" : model, usable, online));
    const std::set<std::string> flags = WordsOf(CpuInfo("flags"));
#ifdef __x86_64__
    constexpr std::array<std::pair<const char*, const char*>, 6> kSets = {
        {{"avx2", "AVX2"},
         {"avx512f", "AVX-512"},
         {"avx512_vnni", "VNNI"},
         {"avx512_bf16", "BF16"},
         {"amx_int8", "AMX int8"},
         {"amx_bf16", "AMX bf16"}}};
    std::string has, lacks;
    for (const auto& [flag, name] : kSets) {
      std::string& list = flags.contains(flag) ? has : lacks;
      list += (list.empty() ? "" : ", ") + std::string(name);
    }
    facts_.emplace_back(
        "instructions",
        fmt::format("{}{}", has.empty() ? "none of those used" : has,
                    lacks.empty() ? "" : "; not " + lacks));
    if (!flags.contains("avx2")) {
      advice_.push_back("The server needs a CPU with AVX2.");
    } else if (!flags.contains("avx512_vnni")) {
      advice_.push_back(
          "CPUs with VNNI or AMX are faster in int8, in which --precision auto "
          "serves.");
    }
#endif
    const std::string governor =
        FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    if (governor == "powersave") {
      advice_.push_back(
          "The CPU saves power: `cpupower frequency-set -g performance` lets "
          "it run at its full frequency.");
    }
  }

  void LookAtMemory() {
    const int64_t available = AvailableMemory();
    facts_.emplace_back(
        "memory", fmt::format("{:.1f} GB usable, {:.1f} GB of it free",
                              Gigabytes(UsableMemory()), Gigabytes(available)));
    if (available < kLittleMemory) {
      advice_.push_back(
          "There is little memory: `trivium-server --check FOLDER` tells what "
          "a model takes.");
    }
    const std::string pages =
        FirstLine("/sys/kernel/mm/transparent_hugepage/enabled");
    const size_t begin = pages.find('['), end = pages.find(']');
    const std::string mode = begin < end && end != pages.npos
                                 ? pages.substr(begin + 1, end - begin - 1)
                                 : "unknown";
    facts_.emplace_back("huge pages", mode);
    if (mode == "never") {
      advice_.push_back(
          "Huge pages are off: `echo madvise > "
          "/sys/kernel/mm/transparent_hugepage/enabled` lets weights use "
          "them.");
    }
  }

  void LookAtSystem() {
    rlimit files = {};
    getrlimit(RLIMIT_NOFILE, &files);
    facts_.emplace_back("open files", fmt::format("{}", files.rlim_max));
    if (files.rlim_max < kFewFiles) {
      advice_.push_back(fmt::format(
          "At most {} files may be open, three for each connection: raise "
          "`ulimit -n`.",
          files.rlim_max));
    }
    std::string ports;
    for (const auto& [name, port] :
         {std::pair("gRPC", 50051), {"HTTP", 8080}, {"metrics", 9464}}) {
      const bool free = IsFree(static_cast<uint16_t>(port));
      ports += fmt::format("{}{} {} {}", ports.empty() ? "" : ", ", name, port,
                           free ? "free" : "taken");
    }
    facts_.emplace_back("ports", ports);
  }

  std::vector<std::pair<std::string, std::string>> facts_;
  std::vector<std::string> advice_;
};

}  // namespace

Subcommand AddDoctor(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "doctor", "What this machine gives a server, and what would help");
  return {sub, std::make_unique<DoctorCommand>()};
}

}  // namespace trivium
