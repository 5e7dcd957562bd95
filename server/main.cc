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
#include <string_view>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/print.h"
#include "base/socket.h"
#include "base/status.h"
#include "server/host_port.h"
#include "server/limits/access.h"
#include "server/model_manager.h"
#include "server/model_pull.h"
#include "server/observability/version.h"
#include "server/options.h"
#include "server/plan/commands.h"
#include "server/startup.h"
#include "server/stop_watchdog.h"
#include "server/transports/grpc/library_logs.h"
#include "server/unknown_variables.h"

namespace trivium {
namespace {

// Time beyond --drain-timeout to cancel and close what is left.
constexpr absl::Duration kStopGrace = absl::Seconds(2);

int HashToken() {
  std::string token;
  std::getline(std::cin, token);
  const absl::StatusOr<std::string> entry = TokenEntry(token);
  if (!entry.ok()) {
    PrintTo(stderr, "--hash-token: {}\n",
            std::string(entry.status().message()));
    return kExitUsage;
  }
  PrintTo(stdout, "{}\n", *entry);
  return EXIT_SUCCESS;
}

// Writes a temporary file and renames it, so that no program reads half of it.
absl::Status WritePorts(const std::string& path, const Server& server,
                        const std::string& address) {
  std::error_code error;
  // Renaming would replace a device or a pipe.
  const auto type = std::filesystem::status(path, error).type();
  if (type != std::filesystem::file_type::not_found &&
      type != std::filesystem::file_type::regular) {
    return absl::InvalidArgumentError(fmt::format(
        "--port-file {} is not a regular file; give the path of a new file",
        path));
  }
  const std::string part = path + ".part";
  std::ofstream file(part);
  file << fmt::format("grpc {}\nmetrics {}\naddress {}\n", server.port(),
                      server.metrics_port(), address);
  if (server.http_port() != 0) {
    file << fmt::format("http {}\n", server.http_port());
  }
  file.close();
  error.clear();
  if (file) std::filesystem::rename(part, path, error);
  if (!file || error) {
    return absl::UnavailableError(
        fmt::format("cannot write --port-file {}", path));
  }
  return absl::OkStatus();
}

// True if a port is open: one of a Unix socket is 0.
bool IsOpen(const std::string& listen, int port) {
  return port != 0 || IsUnixAddress(listen);
}

// Returns where a browser or curl finds a page.
std::string PageOf(const std::string& listen, int port, bool tls,
                   const char* path) {
  const std::string address = AddressToCall(listen, port);
  if (IsUnixAddress(listen)) return fmt::format("{} {}", address, path);
  return fmt::format("{}://{}{}", tls ? "https" : "http", address, path);
}

// Tells who sits at the terminal what is served, where, and what to do next.
void Welcome(const Options& options, const Server& server) {
  const bool tls = !options.tls.certificate.empty();
  const bool embedded = options.models.empty() && options.model_root.empty();
  const std::string grpc = AddressToCall(options.listen, server.port());
  std::string models;
  for (const ModelSpec& spec : options.models) {
    models += (models.empty() ? "" : ", ") + spec.name;
  }
  PrintTo(stderr, "\n  models   {}\n",
          embedded         ? "a small demo, between English and German"
          : models.empty() ? "those in " + options.model_root
                           : models);
  if (IsOpen(options.http_listen, server.http_port())) {
    const auto page = [&](const char* path) {
      return PageOf(options.http_listen, server.http_port(), tls, path);
    };
    if (!options.no_page) PrintTo(stderr, "  page     {}\n", page("/"));
    PrintTo(stderr, "  HTTP     {}\n", page("/v1/models"));
  }
  PrintTo(stderr, "  gRPC     {}{}\n", grpc, tls ? " (TLS)" : "");
  if (IsOpen(options.metrics_listen, server.metrics_port())) {
    PrintTo(stderr, "  metrics  {}\n",
            PageOf(options.metrics_listen, server.metrics_port(),
                   options.metrics_tls, "/metrics"));
  }
  // The embedded model translates; others are asked what they do.
  PrintTo(stderr, "Next:      trivium {}{}\n",
          embedded ? "translate \"Good morning!\"" : "models",
          grpc == Options().listen ? "" : " --address " + grpc);
  if (embedded) {
    PrintTo(stderr,
            "Your own:  trivium-server FOLDER, or trivium-server "
            "hf:OWNER/NAME\n");
  }
  PrintTo(stderr, "\n");
}

// Connections are files. The default limit is low only for old programs that
// use select().
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

// Ends the process while models are fetched. As the first process of a
// container it would ignore these signals without a handler.
void OnSignalInPull(int number) {
  constexpr std::string_view kMessage =
      "\ninterrupted; running it again goes on where it stopped\n";
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(128 + number);
}

absl::Status PullWithSignals(Options* options) {
  const auto on_interrupt = signal(SIGINT, OnSignalInPull);
  const auto on_terminate = signal(SIGTERM, OnSignalInPull);
  // systemd ends a service that takes long to start, unless it hears of it.
  const absl::Status status =
      PullModels([] { sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000"); }, options);
  signal(SIGINT, on_interrupt);
  signal(SIGTERM, on_terminate);
  return status;
}

absl::Status Serve(const Options& options, const sigset_t& signals) {
  const absl::Time begin = SteadyNow();
  TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                           StartServer(options));
  Log(spdlog::level::info, "serving",
      {{"listen", options.listen},
       {"port", server->port()},
       {"http_listen", IsOpen(options.http_listen, server->http_port())
                           ? options.http_listen
                           : ""},
       {"http_port", server->http_port()},
       {"metrics_listen", options.metrics_listen},
       {"metrics_port", server->metrics_port()},
       {"version", kVersion},
       {"seconds", absl::ToDoubleSeconds(SteadyNow() - begin)}});
  if (!options.port_file.empty()) {
    TRIVIUM_RETURN_IF_ERROR(
        WritePorts(options.port_file, *server,
                   AddressToCall(options.listen, server->port())));
  }
  if (options.log_format == LogFormat::kText && isatty(STDERR_FILENO)) {
    Welcome(options, *server);
  }
  // Tells systemd that the service is up, if it started this as Type=notify.
  sd_notify(0, "READY=1");

  const int number = WaitForStop(signals);
  // Comes before anything that may take long, such as writing a log line.
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
  Options options = ParseOptions(argc, argv, &exit_code);
  if (exit_code) return *exit_code;
  if (options.hash_token) return HashToken();
  absl::Status status = InitLog(options.log_level, options.log_format);
  if (!status.ok()) {
    PrintTo(stderr, "--log-level: {}\n", std::string(status.message()));
    return kExitUsage;
  }
  std::vector<std::string> variables = OptionVariables();
  variables.push_back("TRIVIUM_EMBEDDED_MODEL");
  for (const std::string& unknown : UnknownVariables(variables, environ)) {
    Log(spdlog::level::warn, unknown);
  }
  const bool serves = options.check_folder.empty() && !options.plan;
  if (status = serves ? CheckPorts(options) : absl::OkStatus(); !status.ok()) {
    Log(spdlog::level::critical, "cannot serve",
        {{"error", std::string(status.message())}});
    return EXIT_FAILURE;
  }
  if (status = PullWithSignals(&options); !status.ok()) {
    Log(spdlog::level::critical, "cannot fetch a model",
        {{"error", std::string(status.message())}});
    return EXIT_FAILURE;
  }
  if (!options.check_folder.empty()) return CheckFolder(options);
  if (options.plan) return PrintPlan(options);
  CaptureLibraryLogs();
  RaiseFileLimit();
  // Comes before any thread starts: all inherit the mask, so only sigwait gets
  // these signals.
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  status = Serve(options, signals);
  if (!status.ok()) {
    Log(spdlog::level::critical, "cannot serve",
        {{"error", std::string(status.message())}});
    return EXIT_FAILURE;
  }
  if (ModelsBeingRead() > 0) {
    ExitAtOnce(EXIT_SUCCESS, "stopped while a model was being read");
  }
  SetStopStage("ending the process");
  Log(spdlog::level::info, "stopped");
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  // The reader of the log or the output may end first.
  signal(SIGPIPE, SIG_IGN);
  // Without the signal, a file that may not grow (ulimit -f) causes a failed
  // write, which is logged.
  signal(SIGXFSZ, SIG_IGN);
  const int code = trivium::Main(argc, argv);
  trivium::FlushLog(absl::Seconds(1));
  return code;
}
