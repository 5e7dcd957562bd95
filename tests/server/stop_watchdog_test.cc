#include "server/stop_watchdog.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "absl/time/clock.h"
#include "server/observability/log.h"

namespace trivium {
namespace {

class StopWatchdogDeathTest : public testing::Test {
 protected:
  // A thread is made in the process that dies.
  StopWatchdogDeathTest() {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
  }
};

TEST_F(StopWatchdogDeathTest, EndsAProcessThatHangs) {
  const auto hang = [] {
    if (!InitLog("info", LogFormat::kText).ok()) _exit(2);
    SetStopStage("testing");
    ExitUnlessStopped(absl::Milliseconds(20));
    absl::SleepFor(absl::InfiniteDuration());
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(EXIT_FAILURE),
              "not stopped in time.*while.*testing");
}

TEST_F(StopWatchdogDeathTest, LeavesAProcessThatEndsAlone) {
  const auto end = [] {
    ExitUnlessStopped(absl::Seconds(60));
    _exit(0);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
}

TEST_F(StopWatchdogDeathTest, EndsWhileNobodyReadsTheLog) {
  const auto hang = [] {
    int ends[2];
    if (pipe(ends) != 0 || !InitLog("info", LogFormat::kText).ok()) _exit(2);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const std::string full(1 << 12, 'x');
    while (write(ends[1], full.data(), full.size()) > 0) {
    }
    fcntl(ends[1], F_SETFL, 0);
    dup2(ends[1], STDERR_FILENO);
    ExitUnlessStopped(absl::Milliseconds(20));
    // Nor does who logs wait.
    for (int i = 0; i < 20'000; ++i) {
      Log(spdlog::level::critical, "waits for ever");
    }
    absl::SleepFor(absl::InfiniteDuration());
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(EXIT_FAILURE), "");
}

}  // namespace
}  // namespace trivium
