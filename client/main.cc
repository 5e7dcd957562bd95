#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "client/commands/command.h"

namespace {

// Ends the process at once. Nothing is lost: every line is flushed as it is
// written. The server sees the connection close and drops the work.
void OnSignal(int signal) {
  constexpr char kMessage[] = "\ntrivium: interrupted\n";
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, kMessage, std::strlen(kMessage));
  _exit(signal == SIGINT ? trivium::kExitInterrupted
                         : trivium::kExitTerminated);
}

}  // namespace

int main(int argc, char** argv) {
  // Without the signal, a reader that went away causes a failed write, which is
  // reported.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, OnSignal);
  std::signal(SIGTERM, OnSignal);
  return trivium::RunTrivium(std::vector<std::string>(argv + 1, argv + argc),
                             trivium::Io());
}
