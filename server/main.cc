// trivium-server: serves transformer models over gRPC and HTTP until SIGTERM.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/status.h"
#include "model/folder_report.h"
#include "server/host_port.h"
#include "server/limits/access.h"
#include "server/observability/version.h"
#include "server/options.h"
#include "server/plan.h"
#include "server/startup.h"
#include "server/stop_watchdog.h"
#include "server/transports/grpc/library_logs.h"
#include "server/unknown_variables.h"

namespace trivium {
namespace {

// Beyond --drain-timeout, for what has to be cancelled and closed.
constexpr absl::Duration kStopGrace = absl::Seconds(2);

// What the cache of keys and values would come to here.
std::string DescribeCache(const FolderReport& report, const Workers& workers) {
  std::string text =
      fmt::format("each of {} workers here would have {} for keys and values",
                  workers.count, RoundedBytes(workers.kv_cache_bytes));
  if (workers.kv_cache_bytes < report.longest_kv_bytes) {
    text +=
        ", less than the longest sequence takes: requests that could need more "
        "are refused; raise --kv-cache-bytes to serve them";
  }
  return text;
}

int Check(const Options& options) {
  LoadOptions load;
  load.precision = options.precision;
  load.kv_precision = options.kv_precision;
  load.vocabulary_shortlist = options.vocabulary_shortlist;
  const FolderReport report = ReportFolder(options.check_folder, load);
  for (const std::string& problem : report.problems) {
    fmt::print("{}\n", problem);
  }
  if (!report.problems.empty()) return EXIT_FAILURE;
  for (const std::string& warning : report.warnings) {
    fmt::print("warning: {}\n", warning);
  }
  fmt::print("{}: {}\n", options.check_folder, DescribeMemory(report));
  if (report.longest_kv_bytes > 0) {
    ModelSizes sizes;
    sizes.Add(report.weight_bytes, report.longest_kv_bytes);
    const absl::StatusOr<Workers> workers = WorkersFor(options, sizes);
    if (!workers.ok()) {
      fmt::print("{}\n", std::string(workers.status().message()));
      return EXIT_FAILURE;
    }
    fmt::print("{}: {}\n", options.check_folder,
               DescribeCache(report, *workers));
  }
  fmt::print("{}: {}\n", options.check_folder,
             report.has_weights
                 ? "ok"
                 : "config.json is ok; the weights are not there, so they "
                   "were not checked, and it cannot be served yet");
  return EXIT_SUCCESS;
}

int TellPlan(const Options& options) {
  PlanOptions how;
  const bool live = isatty(STDERR_FILENO) == 1;
  if (live) {
    how.tell = [](const std::string& what) {
      fmt::print(stderr, "\r\033[K{}", what);
    };
  }
  const absl::StatusOr<Plan> plan = MakePlan(options, how);
  if (live) fmt::print(stderr, "\r\033[K");
  if (!plan.ok()) {
    fmt::print(stderr, "--plan: {}\n", std::string(plan.status().message()));
    return EXIT_FAILURE;
  }
  fmt::print("{}", options.json ? PlanToJson(*plan).dump(1) + "\n"
                                : DescribePlan(*plan));
  return EXIT_SUCCESS;
}

int HashToken() {
  std::string token;
  std::getline(std::cin, token);
  const absl::StatusOr<std::string> entry = TokenEntry(token);
  if (!entry.ok()) {
    fmt::print(stderr, "--hash-token: {}\n",
               std::string(entry.status().message()));
    return kExitUsage;
  }
  fmt::print("{}\n", *entry);
  return EXIT_SUCCESS;
}

// Written beside its place and moved there, so that nobody reads half of it.
absl::Status WritePorts(const std::string& path, const Server& server,
                        const std::string& address) {
  const std::string part = path + ".part";
  std::ofstream file(part);
  file << fmt::format("grpc {}\nmetrics {}\naddress {}\n", server.port(),
                      server.metrics_port(), address);
  if (server.http_port() != 0) {
    file << fmt::format("http {}\n", server.http_port());
  }
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(part, path, error);
  if (!file || error) {
    return absl::UnavailableError(
        fmt::format("cannot write --port-file {}", path));
  }
  return absl::OkStatus();
}

// Connections are files; the limit that processes begin with is for programs
// that cannot count beyond it.
void RaiseFileLimit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

int WaitForStop(const sigset_t& signals) {
  int number = 0;
  while (sigwait(&signals, &number) != 0) {
  }
  return number;
}

absl::Status Serve(const Options& options, const sigset_t& signals) {
  const absl::Time begin = absl::Now();
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                           StartServer(options));
  Log(spdlog::level::info, "serving",
      {{"listen", options.listen},
       {"port", server->port()},
       {"http_listen", options.http_listen},
       {"http_port", server->http_port()},
       {"metrics_listen", options.metrics_listen},
       {"metrics_port", server->metrics_port()},
       {"version", kVersion},
       {"seconds", absl::ToDoubleSeconds(absl::Now() - begin)}});
  if (!options.port_file.empty()) {
    TRIVIUM_RETURN_IF_ERROR(
        WritePorts(options.port_file, *server,
                   AddressToCall(options.listen, server->port())));
  }
  // systemd, where it has started this as a service that tells when it is up.
  sd_notify(0, "READY=1");

  const int number = WaitForStop(signals);
  // Before anything that could take long: to write a log line is such a thing.
  ExitUnlessStopped(options.drain_delay + options.drain_timeout + kStopGrace);
  sd_notify(0, "STOPPING=1");
  std::thread([signals] {
    const int again = WaitForStop(signals);
    ExitAtOnce(128 + again, "stopped at once by a second signal");
  }).detach();
  Log(spdlog::level::info, "stopping",
      {{"signal", strsignal(number)},
       {"drain_delay", absl::ToDoubleSeconds(options.drain_delay)},
       {"drain_timeout", absl::ToDoubleSeconds(options.drain_timeout)}});
  if (!server->Drain()) {
    Log(spdlog::level::warn, "calls were cancelled after --drain-timeout");
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  std::optional<int> exit_code;
  const Options options = ParseOptions(argc, argv, &exit_code);
  if (exit_code) return *exit_code;
  if (options.hash_token) return HashToken();
  absl::Status status = InitLog(options.log_level, options.log_format);
  if (!status.ok()) {
    fmt::print(stderr, "--log-level: {}\n", std::string(status.message()));
    return kExitUsage;
  }
  std::vector<std::string> variables = OptionVariables();
  variables.push_back("TRIVIUM_EMBEDDED_MODEL");
  for (const std::string& unknown : UnknownVariables(variables, environ)) {
    Log(spdlog::level::warn, unknown);
  }
  if (!options.check_folder.empty()) return Check(options);
  if (options.plan) return TellPlan(options);
  CaptureLibraryLogs();
  RaiseFileLimit();
  // Before any thread is made: they all inherit it, and only sigwait answers.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  status = Serve(options, signals);
  if (!status.ok()) {
    Log(spdlog::level::critical, "cannot serve",
        {{"error", std::string(status.message())}});
    return EXIT_FAILURE;
  }
  Log(spdlog::level::info, "stopped");
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  // Who read the log, or the output, may go.
  signal(SIGPIPE, SIG_IGN);
  const int code = trivium::Main(argc, argv);
  trivium::FlushLog(absl::Seconds(1));
  return code;
}
