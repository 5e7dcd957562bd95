#include "server/observability/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace trivium {
namespace {

prometheus::MetricFamily Family(const char* name, const char* help,
                                prometheus::MetricType type, double value) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric metric;
  if (type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
  return family;
}

// Fields of /proc/self/stat after the program's name, which may hold spaces;
// the first of them is field 3 of proc(5).
std::vector<std::string> ReadStat() {
  std::ifstream file("/proc/self/stat");
  std::string line((std::istreambuf_iterator<char>(file)),
                   std::istreambuf_iterator<char>());
  const size_t end = line.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream fields(line.substr(end + 1));
  return {std::istream_iterator<std::string>(fields),
          std::istream_iterator<std::string>()};
}

double BootTime() {
  std::ifstream file("/proc/stat");
  std::string key;
  double value = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (words >> key >> value && key == "btime") return value;
  }
  return 0;
}

int OpenFiles() {
  std::error_code error;
  std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return 0;
  return static_cast<int>(std::distance(begin(files), end(files)));
}

}  // namespace

std::vector<prometheus::MetricFamily> ProcessFigures::Collect() const {
  using prometheus::MetricType;
  std::vector<prometheus::MetricFamily> families;
  const std::vector<std::string> stat = ReadStat();
  const auto field = [&stat](size_t number) {
    return number - 3 < stat.size() ? std::stod(stat[number - 3]) : 0.0;
  };
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  families.push_back(Family("process_cpu_seconds_total",
                            "User and system time spent.", MetricType::Counter,
                            (field(14) + field(15)) / ticks));
  families.push_back(Family("process_start_time_seconds",
                            "When the process started, Unix time.",
                            MetricType::Gauge, BootTime() + field(22) / ticks));
  families.push_back(
      Family("process_threads", "Threads.", MetricType::Gauge, field(20)));
  families.push_back(Family("process_virtual_memory_bytes", "Virtual memory.",
                            MetricType::Gauge, field(23)));
  families.push_back(Family(
      "process_resident_memory_bytes", "Resident memory.", MetricType::Gauge,
      field(24) * static_cast<double>(sysconf(_SC_PAGESIZE))));
  families.push_back(Family("process_open_fds", "Open files.",
                            MetricType::Gauge, OpenFiles()));
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  families.push_back(Family("process_max_fds", "Most files to open.",
                            MetricType::Gauge,
                            static_cast<double>(files.rlim_cur)));
  return families;
}

}  // namespace trivium
