#include <atomic>
#include <csignal>
#include <string>
#include <vector>

#include "client/load/command.h"

namespace {

std::atomic<bool> stop{false};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM}) {
    // A second signal ends the program at once.
    struct sigaction action {};
    action.sa_handler = [](int) { stop = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
  return trivium::RunTriviumLoad(
      std::vector<std::string>(argv + 1, argv + argc), trivium::Io(), stop);
}
