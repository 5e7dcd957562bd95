// trivium-server: serves transformer models over gRPC until SIGTERM.
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/time/clock.h"
#include "base/status.h"
#include "server/observability/version.h"
#include "server/options.h"
#include "server/rpc/library_logs.h"
#include "server/startup.h"

namespace trivium {
namespace {

// Beyond --drain-timeout, for what has to be cancelled and closed.
constexpr absl::Duration kStopGrace = absl::Seconds(2);

int Check(const Options& options) {
  LoadOptions load;
  load.precision = options.precision;
  load.vocabulary_shortlist = options.vocabulary_shortlist;
  const auto problems = Model::Check(options.check_folder, load);
  for (const std::string& problem : problems) {
    fmt::print("{}\n", problem);
  }
  if (problems.empty()) fmt::print("{}: ok\n", options.check_folder);
  return problems.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

// Written beside its place and moved there, so that nobody reads half of it.
absl::Status WritePorts(const std::string& path, const Server& server) {
  const std::string part = path + ".part";
  std::ofstream file(part);
  file << fmt::format("grpc {}\nmetrics {}\n", server.port(),
                      server.metrics_port());
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
       {"metrics_listen", options.metrics_listen},
       {"metrics_port", server->metrics_port()},
       {"version", kVersion},
       {"seconds", absl::ToDoubleSeconds(absl::Now() - begin)}});
  if (!options.port_file.empty()) {
    TRIVIUM_RETURN_IF_ERROR(WritePorts(options.port_file, *server));
  }

  const int number = WaitForStop(signals);
  Log(spdlog::level::info, "stopping",
      {{"signal", strsignal(number)},
       {"drain_delay", absl::ToDoubleSeconds(options.drain_delay)},
       {"drain_timeout", absl::ToDoubleSeconds(options.drain_timeout)}});
  std::thread([signals] {
    const int again = WaitForStop(signals);
    Log(spdlog::level::warn, "stopped at once by a second signal");
    _exit(128 + again);
  }).detach();
  // Whatever holds it up: who stopped it waits no longer than was said.
  std::thread([time =
                   options.drain_delay + options.drain_timeout + kStopGrace] {
    absl::SleepFor(time);
    Log(spdlog::level::critical, "not stopped in time; ends at once");
    _exit(EXIT_FAILURE);
  }).detach();
  if (!server->Drain()) {
    Log(spdlog::level::warn, "calls were cancelled after --drain-timeout");
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  std::optional<int> exit_code;
  const Options options = ParseOptions(argc, argv, &exit_code);
  if (exit_code) return *exit_code;
  absl::Status status = InitLog(options.log_level, options.log_format);
  if (!status.ok()) {
    fmt::print(stderr, "--log-level: {}\n", std::string(status.message()));
    return EXIT_FAILURE;
  }
  if (!options.check_folder.empty()) return Check(options);
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

int main(int argc, char** argv) { return trivium::Main(argc, argv); }
