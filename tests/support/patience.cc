// Every test program contains this. With MAX_TEST_SECONDS in the environment,
// as ./test sets it, the program ends when one of its tests takes longer, and
// says which. Without it a test may take any time, as under a debugger or with
// thousands of schedules.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gtest/gtest.h"

namespace trivium {
namespace {

char message[1024];  // made before the signal, which may come at any point

void GiveUp(int) {
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, message, std::strlen(message));
  std::abort();
}

class Patience : public testing::EmptyTestEventListener {
 public:
  explicit Patience(unsigned seconds) : seconds_(seconds) {}

  void OnTestStart(const testing::TestInfo& test) override {
    std::snprintf(message, sizeof(message),
                  "%s.%s has not ended within %u seconds\n",
                  test.test_suite_name(), test.name(), seconds_);
    alarm(seconds_);
  }
  void OnTestEnd(const testing::TestInfo&) override { alarm(0); }

 private:
  const unsigned seconds_;
};

[[maybe_unused]] const bool installed = [] {
  const char* seconds = std::getenv("MAX_TEST_SECONDS");
  if (seconds == nullptr) return false;
  std::signal(SIGALRM, GiveUp);
  // gTest deletes it.
  testing::UnitTest::GetInstance()->listeners().Append(
      new Patience(std::strtoul(seconds, nullptr, 10)));
  return true;
}();

}  // namespace
}  // namespace trivium
