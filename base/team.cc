#include "base/team.h"

#include <utility>

// The caller writes what is to be run, then counts up `begin` of each member
// that takes part; a member counts up `end` when it is done, and the caller
// returns when all have. So whatever either writes before, the other sees.
//
// A wait spins at first, since the next run, or the end of this one, is mostly
// microseconds away. Then it sleeps: it says so and looks once more at the
// number, while who sets that looks afterwards whether someone sleeps, so one
// of them sees the other. Both write by an exchange, which costs what a store
// in one order of all does, since qemu 7 lets loads pass such stores where it
// plays an Arm.

namespace trivium {
namespace {

// Some 50 microseconds: longer than what a worker does between two products,
// shorter than what anybody would miss a core for.
constexpr int kSpins = 2000;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void Team::Signal::Set(uint32_t value) {
  value_.exchange(value);
  if (!asleep_.load()) return;
  MutexLock lock(&mutex_);
  woken_.Signal();
}

void Team::Signal::WaitFor(uint32_t value) {
  for (int i = 0; i < kSpins; ++i) {
    if (value_.load(std::memory_order_acquire) == value) return;
    Pause();
  }
  MutexLock lock(&mutex_);
  asleep_.exchange(true);
  while (value_.load() != value) woken_.Wait(&mutex_);
  asleep_.store(false);
}

Team::Team(int threads) {
  for (int thread = 1; thread < threads; ++thread) {
    auto member = std::make_unique<Member>();
    auto started =
        StartThread([this, thread, m = member.get()] { Serve(thread, m); });
    if (!started) return;
    member->thread = *std::move(started);
    members_.push_back(std::move(member));
  }
}

Team::~Team() {
  work_ = nullptr;
  for (const std::unique_ptr<Member>& member : members_) {
    member->begin.Set(++member->runs);
  }
  for (const std::unique_ptr<Member>& member : members_) {
    member->thread.join();
  }
}

void Team::RunTogether(int items, int ranges, Work work) {
  work_ = &work;
  items_ = items;
  ranges_ = ranges;
  for (int thread = 1; thread < ranges; ++thread) {
    Member& member = *members_[thread - 1];
    member.begin.Set(++member.runs);
  }
  RunRange(0);
  for (int thread = 1; thread < ranges; ++thread) {
    Member& member = *members_[thread - 1];
    member.end.WaitFor(member.runs);
  }
}

void Team::RunRange(int thread) const {
  const auto border = [this](int range) {
    return static_cast<int>(static_cast<int64_t>(items_) * range / ranges_);
  };
  (*work_)(border(thread), border(thread + 1), thread);
}

void Team::Serve(int thread, Member* member) {
  for (uint32_t run = 1;; ++run) {
    member->begin.WaitFor(run);
    if (work_ == nullptr) return;
    RunRange(thread);
    member->end.Set(run);
  }
}

}  // namespace trivium
