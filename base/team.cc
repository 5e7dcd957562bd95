#include "base/team.h"

#include <new>
#include <utility>

// A run: the caller writes the work, then increments `begin` of each
// participating member. A member increments `end` when it is finished, and the
// caller returns when all have. So each side sees whatever the other wrote
// before.
//
// A wait spins at first, because the next run, or the end of this one, is
// usually microseconds away. Then it sleeps: the waiter sets `asleep_` and
// checks the number once more, while the setter changes the number and then
// checks `asleep_`, so one of them always sees the other. Both writes are
// exchanges, not sequentially consistent stores. They cost the same, but qemu
// 7, when it emulates Arm, lets loads pass such stores.

namespace trivium {
namespace {

// About 50 microseconds: longer than a worker's pause between two products, but
// too short for anyone to miss the core.
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
  try {
    // A started thread always gets its place, because ~Team must end it.
    members_.reserve(threads - 1);
    for (int thread = 1; thread < threads; ++thread) {
      auto member = std::make_unique<Member>();
      auto started =
          StartThread([this, thread, m = member.get()] { Serve(thread, m); });
      if (!started) return;
      member->thread = *std::move(started);
      members_.push_back(std::move(member));
    }
  } catch (const std::bad_alloc&) {
    // The team has fewer threads.
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
