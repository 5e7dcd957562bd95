#include "tests/integration/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "fmt/format.h"
#include "gtest/gtest.h"

namespace trivium {
namespace {

int ExitCodeFrom(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string NewFolder() {
  std::string name = testing::TempDir() + "/integration.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "mkdtemp failed";
  return name;
}

// Starts a program. -1 leaves a standard file unchanged.
pid_t Spawn(const std::vector<std::string>& arguments, int in, int out,
            int err) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  // Ends with the test that started it, however that ends.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (in >= 0) dup2(in, 0);
  if (out >= 0) dup2(out, 1);
  if (err >= 0) dup2(err, 2);
  execvp(argv[0], argv.data());
  _exit(127);
}

std::string ReadAll(FILE* file) {
  std::string text;
  char chunk[4096];
  std::rewind(file);
  while (const size_t got = std::fread(chunk, 1, sizeof(chunk), file)) {
    text.append(chunk, got);
  }
  std::fclose(file);
  return text;
}

}  // namespace

ProcessResult RunProgram(const std::vector<std::string>& arguments,
                         const std::string& input) {
  FILE* const in = std::tmpfile();
  FILE* const out = std::tmpfile();
  FILE* const err = std::tmpfile();
  std::fwrite(input.data(), 1, input.size(), in);
  std::rewind(in);
  const pid_t pid = Spawn(arguments, fileno(in), fileno(out), fileno(err));
  int status = 0;
  waitpid(pid, &status, 0);
  std::fclose(in);
  return {ExitCodeFrom(status), ReadAll(out), ReadAll(err)};
}

ServerProcess::ServerProcess(std::vector<std::string> flags, int err) {
  const std::string folder = NewFolder();
  const std::string ports = folder + "/ports";
  const int watch = inotify_init1(IN_CLOEXEC);
  inotify_add_watch(watch, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
  std::vector<std::string> arguments = {TRIVIUM_SERVER_PROGRAM,
                                        "--listen",
                                        "127.0.0.1:0",
                                        "--metrics-listen",
                                        "127.0.0.1:0",
                                        "--port-file",
                                        ports,
                                        "--model",
                                        "en-de=" TRIVIUM_EMBEDDED};
  if (std::find(flags.begin(), flags.end(), "--http-listen") == flags.end()) {
    arguments.insert(arguments.end(), {"--http-listen", "off"});
  }
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  pid_ = Spawn(arguments, -1, -1, err);
  // The file appears when the server is ready.
  const absl::Time give_up = absl::Now() + absl::Minutes(1);
  while (running() && absl::Now() < give_up &&
         (grpc_port_ == 0 || metrics_port_ == 0)) {
    std::ifstream file(ports);  // "grpc PORT" and "metrics PORT"
    port_file_.clear();
    for (std::string line; std::getline(file, line);) {
      port_file_ += line + "\n";
      std::sscanf(line.c_str(), "grpc %d", &grpc_port_);
      std::sscanf(line.c_str(), "metrics %d", &metrics_port_);
      std::sscanf(line.c_str(), "http %d", &http_port_);
    }
    if (grpc_port_ != 0 && metrics_port_ != 0) break;
    pollfd event = {watch, POLLIN, 0};
    if (poll(&event, 1, 200) > 0) {
      char events[4096];
      [[maybe_unused]] const ssize_t got = read(watch, events, sizeof(events));
    }
  }
  close(watch);
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(grpc_port_ != 0 && metrics_port_ != 0)
      << "trivium-server was not ready within a minute, or ended with "
      << exit_code_;
}

ServerProcess::~ServerProcess() {
  if (!running()) return;
  Signal(SIGKILL);
  Wait();
}

std::string ServerProcess::address() const {
  return fmt::format("127.0.0.1:{}", grpc_port_);
}

std::unique_ptr<Client> ServerProcess::NewClient(absl::Duration timeout) const {
  Client::Options options;
  options.address = address();
  options.timeout = timeout;
  return *Client::Create(options);
}

void ServerProcess::Signal(int signal) const {
  if (pid_ != 0) kill(pid_, signal);
}

int ServerProcess::Wait() {
  if (pid_ != 0) {
    int status = 0;
    waitpid(pid_, &status, 0);
    exit_code_ = ExitCodeFrom(status);
    pid_ = 0;
  }
  return exit_code_;
}

bool ServerProcess::running() {
  int status = 0;
  if (pid_ != 0 && waitpid(pid_, &status, WNOHANG) == pid_) {
    exit_code_ = ExitCodeFrom(status);
    pid_ = 0;
  }
  return pid_ != 0;
}

}  // namespace trivium
