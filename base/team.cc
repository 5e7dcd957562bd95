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
//
// A member takes the memory that it is to fetch ahead during a run, since the
// caller may name other memory as soon as the run has ended.

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

// Fetches so many bytes between two looks at a signal.
constexpr size_t kFetchAtOnce = 8 * 64;

void FetchSome(std::span<const std::byte>* memory) {
  const size_t size = std::min(kFetchAtOnce, memory->size());
  for (size_t at = 0; at < size; at += 64) {
    __builtin_prefetch(memory->data() + at, /*rw=*/0,
                       /*locality: the second cache*/ 2);
  }
  *memory = memory->subspan(size);
}

}  // namespace

void Team::Signal::Set(uint32_t value) {
  value_.exchange(value);
  if (!asleep_.load()) return;
  MutexLock lock(&mutex_);
  woken_.Signal();
}

void Team::Signal::WaitFor(uint32_t value, Memory* ahead) {
  for (int i = 0; i < kSpins; ++i) {
    if (value_.load(std::memory_order_acquire) == value) return;
    if (ahead->empty()) {
      Pause();
    } else {
      FetchSome(ahead);
    }
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
    member.end.WaitFor(member.runs, &ahead_);
  }
}

void Team::RunRange(int thread) const {
  (*work_)(Border(thread, items_, ranges_), Border(thread + 1, items_, ranges_),
           thread);
}

void Team::Serve(int thread, Member* member) {
  Memory ahead;
  for (uint32_t run = 1;; ++run) {
    member->begin.WaitFor(run, &ahead);
    if (work_ == nullptr) return;
    RunRange(thread);
    if (!member->ahead.empty()) ahead = std::exchange(member->ahead, {});
    member->end.Set(run);
  }
}

}  // namespace trivium
