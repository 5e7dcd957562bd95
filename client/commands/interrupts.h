#ifndef TRIVIUM_CLIENT_COMMANDS_INTERRUPTS_H_
#define TRIVIUM_CLIENT_COMMANDS_INTERRUPTS_H_

#include <csignal>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace trivium {

// Handles Ctrl-C, or other signals, while it lives. Such a signal then does not
// end the program: it stops the running call or, if none runs, calls `idle` on
// a thread of its own. Only one Interrupts may exist at a time.
//
//   client.Generate(request, on_event, interrupts->Begin());
//   if (interrupts->End() != 0) ... the call was stopped
class Interrupts {
 public:
  // Signals that the program ignores stay ignored.
  static absl::StatusOr<std::unique_ptr<Interrupts>> Create(
      std::function<void()> idle, std::vector<int> signals = {SIGINT});
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  std::stop_token Begin();
  // Ends the call that Begin began. Returns the signal that stopped it, or 0.
  int End();

 private:
  Interrupts(std::function<void()> idle, std::vector<int> signals, int wake);
  void Watch();

  const std::function<void()> idle_;
  const int wake_;  // an eventfd that counts signals
  // The signals, with what they did before.
  std::vector<std::pair<int, struct sigaction>> before_;
  Mutex mutex_;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::stop_source stop_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last, since it uses the other members
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_INTERRUPTS_H_
