// Thousands of random schedules on real engines that have too little memory.
// The head of run_schedule.cc says what must hold. To run more of them, or one:
//
//   export GTEST_FILTER='ScheduleSimulation.*'
//   TRIVIUM_SCHEDULES=100000 batching_test
//   TRIVIUM_SCHEDULE=4711 batching_test
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gtest/gtest.h"
#include "tests/server/batching/schedule.h"

namespace trivium {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr uint32_t kSchedules = 50;
#elif defined(__SANITIZE_ADDRESS__)
constexpr uint32_t kSchedules = 150;
#else
constexpr uint32_t kSchedules = 2000;
#endif

uint32_t Setting(const char* name, uint32_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr
             ? otherwise
             : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

char under_way[128];

// Names the schedule that was running when a failed check in the library ends
// the process.
void TellSchedule(int signal) {
  [[maybe_unused]] const auto written =
      write(STDERR_FILENO, under_way, std::strlen(under_way));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void RunSeed(uint32_t seed) {
  std::snprintf(under_way, sizeof(under_way),
                "aborted; repeat it with TRIVIUM_SCHEDULE=%u\n", seed);
  const Schedule schedule = RandomSchedule(seed);
  const std::string wrong = RunSchedule(schedule);
  if (wrong.empty()) return;
  const Schedule least = Shrink(schedule);
  ADD_FAILURE() << wrong << "\nrepeat it with TRIVIUM_SCHEDULE=" << seed
                << "\nthe least schedule that is wrong (" << RunSchedule(least)
                << "): " << Describe(least);
}

TEST(ScheduleSimulation, EveryAnswerHasTheBitsThatItHasAlone) {
  const auto before = std::signal(SIGABRT, TellSchedule);
  if (const uint32_t seed = Setting("TRIVIUM_SCHEDULE", 0); seed != 0) {
    std::fputs(Describe(RandomSchedule(seed)).c_str(), stderr);
    RunSeed(seed);
  } else {
    const uint32_t schedules = Setting("TRIVIUM_SCHEDULES", kSchedules);
    for (uint32_t i = 1; i <= schedules && !testing::Test::HasFailure(); ++i) {
      RunSeed(i);
    }
  }
  std::signal(SIGABRT, before);
}

// No bigram may come twice in 22 tokens, and a constraint lets nine follow "b".
TEST(ScheduleSimulation, ARequestWhoseRulesLeaveNoTokenFailsAsItDoesAlone) {
  RunSeed(7840);
}

}  // namespace
}  // namespace trivium
