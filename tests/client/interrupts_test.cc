#include "client/commands/interrupts.h"

#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <memory>
#include <stop_token>
namespace trivium {
namespace {

// Returns the signal that ends a call during which `signal` comes.
int EndedBy(int signal, Interrupts* interrupts) {
  const std::stop_token stop = interrupts->Begin();
  std::promise<void> stopped;
  const std::stop_callback callback(stop, [&] { stopped.set_value(); });
  raise(signal);
  stopped.get_future().wait();
  return interrupts->End();
}

TEST(InterruptsTest, TellsWhichSignalEndedACall) {
  const auto interrupts = Interrupts::Create([] {}, {SIGINT, SIGTERM});
  ASSERT_TRUE(interrupts.ok()) << interrupts.status();
  EXPECT_EQ(EndedBy(SIGTERM, interrupts->get()), SIGTERM);
  EXPECT_EQ(EndedBy(SIGINT, interrupts->get()), SIGINT);
  (*interrupts)->Begin();
  EXPECT_EQ((*interrupts)->End(), 0);
}

TEST(InterruptsTest, HandlersAreThoseOfBeforeAfterwards) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  struct sigaction during = {};
  {
    const auto interrupts = Interrupts::Create([] {}, {SIGTERM, SIGHUP});
    ASSERT_TRUE(interrupts.ok()) << interrupts.status();
    sigaction(SIGHUP, nullptr, &during);
    EXPECT_EQ(during.sa_handler, SIG_IGN);  // as nohup wants it
    sigaction(SIGTERM, nullptr, &during);
    EXPECT_NE(during.sa_handler, SIG_DFL);
  }
  sigaction(SIGTERM, nullptr, &during);
  EXPECT_EQ(during.sa_handler, SIG_DFL);
  std::signal(SIGHUP, before);
}

}  // namespace
}  // namespace trivium
