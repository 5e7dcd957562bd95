#ifndef TRIVIUM_CLIENT_COMMANDS_INTERRUPTS_H_
#define TRIVIUM_CLIENT_COMMANDS_INTERRUPTS_H_

#include <csignal>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace trivium {

// Handles Ctrl-C while it lives. Ctrl-C then does not end the program: it stops
// the running call or, if none runs, calls `idle` on a thread of its own. Only
// one Interrupts may exist at a time.
//
//   client.Generate(request, on_event, interrupts->Begin());
//   if (interrupts->End()) ... the call was stopped
class Interrupts {
 public:
  static absl::StatusOr<std::unique_ptr<Interrupts>> Create(
      std::function<void()> idle);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  std::stop_token Begin();
  // Ends the call that Begin began. True if Ctrl-C stopped it.
  bool End();

 private:
  Interrupts(std::function<void()> idle, int wake);
  void Watch();

  const std::function<void()> idle_;
  const int wake_;  // an eventfd that counts Ctrl-C
  struct sigaction before_ = {};
  Mutex mutex_;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::stop_source stop_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last, since it uses the other members
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_INTERRUPTS_H_
